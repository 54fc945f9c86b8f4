"""An answer in sentences, each with what it cites."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conflictscore.benchmarks.conflicts.judges import split_sentences


@pytest.mark.parametrize(
    ("answer", "sentences"),
    [
        ("It was lit in 1874 [2]. The tower is white [3].", 2),
        ("It was lit in 1874. [2][3] The tower is white. [1]", 2),
        ("It was lit in 1874. [2] says so.", 2),
        ("All say so. [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14] It was lit.", 2),
        ("Was it lit? It was! Since 1874\u2026 They say [1].", 4),
        ('He said "It is lit." [1] Nobody answered.', 2),
        ("**It was lit.** The tower is white.", 2),
        ("Dr. J. Smith of the U.S. Navy lit 3.5 lamps, e.g. those of St. Mary [1].", 1),
        ("No. The lamp was not lit before 1874 [2].", 1),
        ("It rose to 3.5 m by approx. 1900 [1]. It fell.", 2),
        ("灯塔建于1874年。[2]它是白色的。[3]", 2),
        ("one without an end", 1),
        ("", 0),
        (" \n- \n* * *\n...", 0),
    ],
)
def test_an_answer_is_cut_where_its_sentences_end(answer: str, sentences: int) -> None:
    assert len(split_sentences(answer)) == sentences


def test_citations_after_the_full_stop_stay_with_their_sentence() -> None:
    assert split_sentences("It was lit. [2] [3]\nThe tower is white.[1] It stands.\n\n[4]") == (
        "It was lit. [2] [3]",
        "The tower is white.[1]",
        "It stands. [4]",
    )


def test_lines_of_a_list_are_sentences_and_their_lead_goes_with_the_first() -> None:
    answer = "## Sides\nThere are two:\n1. It was lit in 1871 [1].\n- It was lit in 1874 [2]"
    assert split_sentences(answer) == (
        "Sides",
        "There are two: It was lit in 1871 [1].",
        "It was lit in 1874 [2]",
    )


@given(
    st.lists(st.sampled_from(["Lit. ", "[2]", " ", "\n", "white", "- ", ": ", "Dr. ", "。", "?"]))
)
def test_no_word_is_lost_and_no_sentence_is_empty(parts: list[str]) -> None:
    answer = "".join(parts)
    sentences = split_sentences(answer)
    assert all(sentence == sentence.strip() != "" for sentence in sentences)
    for word in ("Lit", "white", "Dr"):
        assert sum(s.count(word) for s in sentences) == answer.count(word)
