"""Reading replies that name a conflict type or cite documents: the asked form, or refused."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conflictscore.benchmarks.harness.conflict_types import ConflictType, inline_citations
from conflictscore.benchmarks.harness.methods.conflict_aware import read_type, read_typed_answer


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ("REASON: Dates differ.\nTYPE: outdated", "outdated"),
        ("\n type: Outdated.\n\n reason: Dates differ. \n", "outdated"),
        ("**TYPE:** no conflict\n**REASON:** Same.", "no-conflict"),
        ("**Type**: conflicting_opinions", "conflicting-opinions"),
        ("TYPE: `complementary`\nBecause.", "complementary"),
    ],
)
def test_small_departures_from_the_form_are_read(reply: str, kind: str) -> None:
    assert read_type(reply) == ConflictType(kind)


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("", 'the line "TYPE:" was missing'),
        ("outdated", 'the line "TYPE:" was missing'),
        ("TYPE: outdated\nTYPE: complementary", "named more than one choice"),
        ("TYPE:", "named none of no-conflict, complementary, conflicting-opinions,"),
        ("TYPE: outdated, misinformation", "named none of"),
        ("TYPE: not outdated", "named none of"),
    ],
)
def test_anything_else_is_refused_with_the_reason(reply: str, problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        read_type(reply)
    with pytest.raises(ValueError, match=re.escape(problem)):
        read_typed_answer(f"{reply}\nANSWER: In 1874.")


def test_type_reason_and_an_answer_of_many_lines_are_read() -> None:
    answer = "It was 1874 [2].\n\nTYPE: B [1]."
    reply = f"REASON: One is\nnewer.\nTYPE: outdated\n**ANSWER:** {answer}"
    assert read_typed_answer(reply) == (ConflictType.OUTDATED, answer)


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("ANSWER: In 1874.\nTYPE: outdated", 'the line "TYPE:" was missing'),
        ("TYPE: outdated\nIn 1874.", 'the line "ANSWER:" was missing'),
        ("TYPE: outdated\nANSWER: \n", "it was empty"),
    ],
)
def test_an_answer_in_another_form_is_refused(reply: str, problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        read_typed_answer(reply)


@pytest.mark.parametrize(
    ("answer", "cited"),
    [
        ("It was 1874 [2].", (2,)),
        ("It was 1874 [2][1]. It is white [3].", (1, 2, 3)),
        ("It was 1874 [ 3, 1 ].", (1, 3)),
        ("It was 1874 [1 and 3].", (1, 3)),
        ("It was 1874 [1, 2, and 4; 5].", (1, 2, 4, 5)),
        ("It was 1874 [Doc 2], [Documents 3, 4].", (2, 3, 4)),
        ("It was 1874 [2-4].", (2, 3, 4)),
        ("It was 1874 [4–2].", ()),
        ("It was 1874 [1-999999999].", (1, 2, 3, 4, 5)),
        ("It was 1874 [0][6][1874].", ()),
        ("It was 1874 (2), Doc 2, [two], [2 or so], [see 2], [].", ()),
        ("A [[2]] and [1", (2,)),
    ],
)
def test_the_numbers_in_brackets_are_cited(answer: str, cited: tuple[int, ...]) -> None:
    assert inline_citations(answer, range(1, 6)) == cited


@given(st.text(max_size=40), st.lists(st.integers(1, 30)), st.sets(st.integers(1, 20)))
def test_what_is_cited_exists_and_every_bracketed_number_of_a_document_is_found(
    text: str, numbers: list[int], documents: set[int]
) -> None:
    answer = text.replace("[", "(") + "".join(f" x [{number}]." for number in numbers)
    assert inline_citations(answer, documents) == tuple(sorted(documents.intersection(numbers)))
