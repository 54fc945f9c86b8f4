"""Words of denial, forms of a word, and labels that models put before claims."""

import unicodedata

import pytest

from conflictscore.answering.claim_matching import without_labels
from conflictscore.answering.claim_terms import stem_of
from conflictscore.word_lists import negations_in


@pytest.mark.parametrize(
    "text",
    [
        "他问桥是否开放。",
        "能否通行要看天气。",
        "这艘船于1912年沉没。",
        "洪水淹没了村庄。",
        "不丹位于喜马拉雅山。",
        "他生于大不列颠。",
        "除非下雨,桥都开放。",
        "入場は無料です。",
        "利用者は少ない。",
        "夜は危ない。",
        "He was born in N'Djamena.",
        "N\u2019Golo won the cup.",
    ],
)
def test_these_words_deny_nothing(text: str) -> None:
    assert not negations_in(text)


@pytest.mark.parametrize(
    "text",
    [
        "他否认了。",
        "桥没开放。",
        "桥没有开放。",
        "他不列名单。",
        "这并非事实。",
        "橋は開いていない。",
        "無罪です。",
        "Il n'est plus ouvert.",
        "Il n\u2019arrive plus.",
        "N'est-il plus ouvert?",
        "It isn't open.",
        unicodedata.normalize("NFD", "열지 않습니다."),
    ],
)
def test_these_words_deny(text: str) -> None:
    assert negations_in(text)


@pytest.mark.parametrize(
    "forms",
    ["family families", "supply supplies supplied", "apply applies applied", "reply replied"],
)
def test_forms_of_a_word_in_y_have_the_same_stem(forms: str) -> None:
    assert len({stem_of(form) for form in forms.split()}) == 1


@pytest.mark.parametrize(
    ("claims", "answer", "bare"),
    [
        (["Fact F1 The bridge", "Fact F2 The hall"], "", ["Fact The bridge", "Fact The hall"]),
        (["F1: the bridge", "F2: the hall"], "", ["the bridge", "the hall"]),
    ],
)
def test_numbered_labels_are_removed_with_their_marks(
    claims: list[str], answer: str, bare: list[str]
) -> None:
    assert without_labels(claims, answer) == bare


@pytest.mark.parametrize(
    ("claims", "answer"),
    [
        (["F1: the bridge"], ""),
        (["F2: the bridge", "F1: the hall"], ""),
        (["table3 lists ports.", "table4 lists roads."], "See table 3 and table 4."),
    ],
)
def test_other_words_with_numbers_stay(claims: list[str], answer: str) -> None:
    assert without_labels(claims, answer) == claims
