"""Writing a winner, or both sides, into a passage without a model."""

from typing import Any

import pytest

from conflictscore.active_content import added_active_content
from conflictscore.correcting.citing import cites, without_last_citations
from conflictscore.correcting.losses import lost_words, notes_on_losses
from conflictscore.correcting.telling import hedged, language_to_tell_in
from conflictscore.correcting.vote import tallied
from conflictscore.correcting.wording import (
    replaced,
    spliced_span,
    with_other_answer,
    with_other_number,
)
from conflictscore.records import SecondLook
from tests.correcting.helpers import documents_with
from tests.nodes.steps import claim_with, revision

CLAIM, RIVAL = "The light first lit its lamp in 1871.", "The light first lit its lamp in 1874."
TITLES = ("Gazette", "Log", "Report", "Guide")


def look(rival: str = RIVAL, claim: str = CLAIM, sides: tuple[str, str] = ("+--+", "-++-")) -> Any:
    one, other = claim_with(sides[0], claim), claim_with(sides[1], rival)
    candidates = tallied([one, other], [(), (2, 3)])
    return SecondLook(question="When?", candidates=candidates, rival=1)


@pytest.mark.parametrize(
    ("passage", "others", "after"),
    [
        (CLAIM, (), RIVAL),
        ("1871", (), "1874"),
        ("The light (a tower) first shone in **1871** [2].", (), "… first shone in **1874** [2]."),
        ("Lit in 1871, it is 31 m high.", ("The light is 31 m high.",), "Lit in 1874, it is…"),
        ("Lit in 1871 and built in 1871.", ("The light was built in 1871.",), None),
        ("Lit first in 1871, when the tower of 1871 stood.", ("A tower stood.",), None),
    ],
)
def test_the_one_span_in_which_they_differ_is_changed(
    passage: str, others: tuple[str, ...], after: str | None
) -> None:
    made = replaced(passage, look(), others)

    if after is None:
        assert made is None, "only a reader of the passage can write that"
    else:
        assert made == passage.replace("1871", "1874")


def test_a_passage_that_claims_nothing_else_becomes_the_rivals_sentence() -> None:
    rival = "It was on 14 October 1874 that the light was exhibited."

    assert replaced("It was lit in 1871.", look(rival)) == rival
    assert replaced("It was lit in 1871.", look(rival), others=("It is tall.",)) is None
    assert replaced("Yes.", look("It is not true that “it was lit”.")) == "No."


def test_a_claim_that_exchanges_the_same_span_does_not_protect_it() -> None:
    twin = "The light first lit its lamp in 1871, on a fine night."

    assert replaced("Lit in 1871, on a fine night.", look(), others=(twin,)) is None
    assert replaced("Lit in 1871, on a fine night.", look(), others=(twin,), twins=(twin,)) == (
        "Lit in 1874, on a fine night."
    )
    sentence = look("It was on 14 October 1874 that the light was exhibited.")
    assert replaced("It was lit in 1871.", sentence, others=(twin,), twins=(twin,)) is None


def test_a_citation_of_the_old_side_becomes_one_of_the_new() -> None:
    assert replaced("It was lit in 1871 [1][4].", look()) == "It was lit in 1874 [2][3]."
    assert replaced("Lit in 1871 [7].", look()) == "Lit in 1874 [7].", "another's numbers"


def test_statements_that_share_little_are_not_spliced() -> None:
    assert spliced_span("Ann Lund built it.", "Ann Lund built it.", "Otto built it.") == (
        "Otto built it."
    )
    assert spliced_span("Ann built it.", "Ann built it.", "It was Otto who did.") is None


@pytest.mark.parametrize(
    ("answer", "statement"),
    [
        ("By Ada Lowe.", "The old map was drawn by Ada Lowe."),
        ("the Earl of Dun", "The old map was drawn by Earl of Dun."),
        ("Ada Lowe drew it.", None),
        ("a crew of sailors", None),
        ("It was Ada Lowe.", None),
        ("The map.", None),
    ],
)
def test_a_mere_name_becomes_a_sentence_in_the_words_of_the_claim(
    answer: str, statement: str | None
) -> None:
    claim, question = "The old map was drawn by Ida Reeve.", "By whom was the old map drawn?"

    assert with_other_answer(claim, answer, question) == statement
    two = "The old map was drawn by Ida Reeve in 1871."
    assert with_other_answer(two, answer, question) is None, "which of the two it answers is open"


def test_a_hedge_names_documents_by_number_if_both_sides_have_the_same_titles() -> None:
    documents = documents_with("a", "b", "c", "d", title=("search", "search", "Report", "search"))

    assert hedged(CLAIM, look(), documents) == (
        "Sources disagree on the year: The light first lit its lamp in 1871 (document 1,"
        " document 4) or 1874 (document 2, “Report”)."
    )


def test_a_hedge_names_both_sides_with_their_documents_and_leads_with_the_better_witnessed() -> (
    None
):
    documents = documents_with("a", "b", "c", "d", title=TITLES)

    assert hedged(CLAIM, look(), documents) == (
        "Sources disagree on the year: The light first lit its lamp in 1871 (“Gazette”, “Guide”)"
        " or 1874 (“Log”, “Report”)."
    )
    outvoted = look(sides=("+---", "-++-"))
    assert hedged("1871", outvoted, documents) == (
        "Sources disagree on the year: 1874 (“Log”, “Report”) or 1871 (“Gazette”)."
    )
    assert hedged("1871 [1].", look(), documents) == (
        "Sources disagree on the year: 1871 [1][4] or 1874 [2][3]."
    )


def test_a_hedge_leaves_what_else_the_passage_claims_as_it_is() -> None:
    documents = documents_with("a", "b", "c", "d", title=TITLES)
    passage = "Lit in **1871**, it is 31 m high."

    made = hedged(passage, look(), documents, others=("It is 31 m high.",))

    assert made is not None
    assert made.startswith("Lit in **1871**, it is 31 m high. Other sources disagree: ")
    assert made.endswith("in 1874 (“Log”, “Report”).")


def test_a_title_brings_no_markup_into_a_hedge() -> None:
    titles = (
        "![x](https://evil.test/q)",
        "<img src=x>",
        "[Log](http://evil.test)",
        "www.evil.test",
    )
    documents = documents_with("a", "b", "c", "d", title=titles)

    made = hedged(CLAIM, look(), documents)

    assert made is not None
    assert added_active_content(CLAIM, made) is None
    assert "(document 1, document 4)" in made


def test_copies_are_named_once_and_many_documents_are_counted() -> None:
    documents = documents_with(*"abcdef", duplicate_of=(None, None, 2, None, None, None))
    side = look(sides=("+-----", "-+++++"))

    made = hedged(CLAIM, side, documents)

    assert made is not None
    assert "(document 2, document 4, document 5, 1 more)" in made


@pytest.mark.parametrize(
    ("passage", "after"),
    [
        ("It was lit in 1871 (Doc 1).", "It was lit in 1874 (Docs 2, 3)."),
        ("It was lit in 1871 (source 1).", "It was lit in 1874 (sources 2, 3)."),
        ("It was lit in 1871 (Quelle 1).", "It was lit in 1874 (Quellen 2, 3)."),
        ("It was lit in 1871 ([1](https://a.test/1)).", "It was lit in 1874."),
        ("It was lit in 1871 ([Log](https://b.test/1)).", None),
    ],
)
def test_a_citation_in_any_form_follows_what_it_backed(passage: str, after: str | None) -> None:
    documents = documents_with("a", "b", "c", "d", url=("", "", "", ""))

    made = replaced(passage, look(), documents=documents)

    assert made == (after or passage.replace("1871", "1874"))


def test_words_that_agree_with_what_was_wrong_go_with_it() -> None:
    assert replaced("You're right, it was lit in 1871.", look()) == "It was lit in 1874."


def test_a_sentence_with_a_style_of_its_own_takes_a_writer() -> None:
    claim, rival = "Ida Reeve lit the lamp first.", "It was Ada Lowe who first lit it."
    pirate = "Arr, me hearty, 'twas old Ida that lit her, by thunder!"

    assert replaced(pirate, look(rival, claim)) is None


def test_a_value_goes_in_whole_and_in_the_way_the_answer_writes_its_own() -> None:
    bridge = look("The bridge is 1,450 m long.", "The bridge is 1.2 km long.")
    ferry = look("The ferry carried 12,400 people.", "Die Fähre trug 9.000 Personen.")

    assert replaced("Its length: 1.2 km.", bridge) == "Its length: 1,450 m."
    assert spliced_span("9.000 Personen", "9.000 Personen", "12,400 Personen") == "12.400 Personen"
    assert replaced("Die Fähre trug 9.000 Personen.", ferry) is None, "the rival is in English"


@pytest.mark.parametrize(
    ("claim", "rival"),
    [
        ("The path is 5 km long.", "The path is 1.234 km long."),
        ("The path is 12,400 m long.", "The path is 1.234 m long."),
        ("Der Weg ist 5 km lang und steil.", "Der Weg ist 1,234 km lang und steil."),
    ],
)
def test_a_decimal_mark_does_not_become_a_mark_of_thousands(claim: str, rival: str) -> None:
    assert with_other_number(claim, rival) == rival


def test_a_currency_is_exchanged_without_the_rest_of_the_sentence() -> None:
    claim = "The fine for parking on the quay is 200 dollars."

    assert with_other_number(claim, "The fine is 200 euros.", "What is the fine?") == (
        "The fine for parking on the quay is 200 euros."
    )
    assert with_other_number(claim, "The fine is 200 days.", "What is the fine?") is None


def test_a_citation_of_something_else_than_a_document_of_the_run_stays() -> None:
    documents = documents_with("a", "b")
    blog = "The lamp was lit in 1871 ([blog](https://x.org))."

    assert without_last_citations(blog, documents) == blog
    assert (
        without_last_citations("It was lit in 1871 [77].", documents) == "It was lit in 1871 [77]."
    )
    assert without_last_citations("It was lit in 1871 [2].", documents) == "It was lit in 1871."
    assert not cites("It was lit in 1871 [77].", documents)


@pytest.mark.parametrize(
    ("claim", "rival", "made"),
    [
        ("Das Bad ist seit 1871 offen.", "Das Bad ist seit 1874 offen.", "verschiedene Jahre"),
        ("Le bain est ouvert depuis 1871.", "Le bain est ouvert depuis 1874.", "années"),
        ("浴場は1871年に開きました。", "浴場は1874年に開きました。", "情報源"),
    ],
)
def test_a_hedge_is_written_in_the_language_of_the_answer(
    claim: str, rival: str, made: str
) -> None:
    documents = documents_with("a", "b", "c", "d", title=TITLES)
    told = hedged(claim, look(rival, claim), documents, (), language_to_tell_in(claim))

    assert told is not None
    assert made in told
    assert ("1871" in told, "1874" in told, "Sources" in told) == (True, True, False)


def test_what_no_words_are_known_for_is_not_told() -> None:
    claim, rival = "λίμνη άνοιξε το 1871.", "λίμνη άνοιξε το 1874."

    assert hedged(claim, look(rival, claim), [], (), language_to_tell_in(claim)) is None


@pytest.mark.parametrize(
    ("before", "after", "claim", "rival", "words"),
    [
        (
            "New fathers get 10 days of paid leave.",
            "Fathers and second parents get 20 working days of leave.",
            "New fathers get 10 days of paid leave.",
            "Fathers and second parents get 20 working days of leave.",
            ("New", "paid"),
        ),
        (
            "Die Kaution beträgt drei verzinste Monatsmieten.",
            "Die Kaution beträgt zwei Monatsmieten.",
            "Die Kaution beträgt drei Monatsmieten.",
            "Die Kaution beträgt zwei Monatsmieten.",
            ("verzinste",),
        ),
        (
            "The map was drawn by Ida Reeve.",
            "Ada Lowe drew it.",
            "The map was drawn by Ida Reeve.",
            "Ada Lowe drew it.",
            (),
        ),
        (CLAIM, RIVAL, CLAIM, RIVAL, ()),
        ("1871", RIVAL, CLAIM, RIVAL, ()),
    ],
)
def test_undisputed_words_that_a_correction_removes_are_noted(
    before: str, after: str, claim: str, rival: str, words: tuple[str, ...]
) -> None:
    looks = (look(rival, claim).model_copy(update={"decision": "replace"}),)
    change = revision(before, after, looks=looks)

    assert lost_words(change) == words
    assert [all(word in note for word in words) for note in notes_on_losses([change])] == (
        [True] if words else []
    )
