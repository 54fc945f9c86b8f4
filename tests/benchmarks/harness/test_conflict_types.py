"""Reading replies that name a conflict type or cite documents: the asked form, or refused."""

import re
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conflictscore.benchmarks.harness.conflict_types import (
    Classified,
    ConflictType,
    inline_citations,
    read_type,
    read_typed_answer,
)

_KINDS = st.sampled_from(ConflictType)
_LINE = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1)
_REPLIES = st.lists(
    st.sampled_from(
        ["TYPE:", "type", " ", "\n", "REASON:", "ANSWER:", "outdated", "no-conflict", "[1]", "**"]
    )
    | st.text(max_size=3),
    max_size=10,
).map("".join)


# The type


@given(_KINDS, _LINE)
def test_the_two_lines_are_read_whatever_the_type_and_the_reason(
    kind: ConflictType, reason: str
) -> None:
    two = [f"REASON: {reason}", f"TYPE: {kind}"]
    assert read_type("\n".join(two)) == read_type("\n".join(two[::-1])) == Classified(kind, reason)


@pytest.mark.parametrize(
    ("reply", "kind", "reason"),
    [
        ("TYPE: outdated\nREASON: Dates differ.", "outdated", "Dates differ."),
        ("\n type: Outdated.\n\n reason: Dates differ. \n", "outdated", "Dates differ."),
        ("**TYPE:** no conflict\n**REASON:** Same.", "no-conflict", "Same."),
        ("**Type**: conflicting_opinions", "conflicting-opinions", None),
        ("TYPE: `complementary`", "complementary", None),
        ("TYPE: misinformation\nREASON:", "misinformation", None),
    ],
)
def test_small_departures_from_the_form_are_read(reply: str, kind: str, reason: str | None) -> None:
    assert read_type(reply) == Classified(ConflictType(kind), reason)


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("", "it had 0 lines instead of two"),
        ("TYPE: outdated\nREASON: a\nb", "it had 3 lines instead of two"),
        ("outdated", 'it had no lines that began with "TYPE:" instead of one'),
        ("TYPE: outdated\nTYPE: outdated", 'it had 2 lines that began with "TYPE:"'),
        ("TYPE:", "its type was none of no-conflict, complementary, conflicting-opinions,"),
        ("TYPE: outdated, misinformation", "its type was none of"),
        ("TYPE: not outdated", "its type was none of"),
        ("TYPE: one of no-conflict, complementary", "its type was none of"),
        ("TYPE: conflict", "its type was none of"),
        ("TYPE: outdated\nBecause.", 'its other line did not begin with "REASON:"'),
    ],
)
def test_anything_else_is_refused_with_the_reason(reply: str, problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        read_type(reply)


@given(_REPLIES)
def test_a_reply_is_never_given_a_type_that_no_line_of_it_names(reply: str) -> None:
    with suppress(ValueError):
        kind, _ = read_type(reply)
        lines = reply.casefold().replace("_", "-").replace(" ", "-").splitlines()
        assert any("type" in line and kind.value.split("-")[-1] in line for line in lines)


# The answer with its type


def test_type_reason_and_an_answer_of_many_lines_are_read() -> None:
    reply = "REASON: One is\nnewer.\nTYPE: outdated\nANSWER: It was 1874 [2].\n\nTYPE: B [1]."
    (kind, reason), answer = read_typed_answer(reply)
    assert (kind, reason) == (ConflictType.OUTDATED, "One is newer.")
    assert answer == "It was 1874 [2].\n\nTYPE: B [1]."
    swapped = "TYPE: outdated\nREASON: One is\nnewer.\nANSWER: It was 1874 [2]."
    assert read_typed_answer(swapped) == ((ConflictType.OUTDATED, "One is newer."), answer[:16])


@pytest.mark.parametrize("between", ["", "REASON:\n"])
def test_an_answer_is_read_without_a_reason(between: str) -> None:
    (_, reason), answer = read_typed_answer(f"TYPE: outdated\n{between}**ANSWER:**\nIn 1874.")
    assert (reason, answer) == (None, "In 1874.")


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("", 'it had no lines that began with "TYPE:"'),
        ("ANSWER: In 1874.\nTYPE: outdated", 'it had no lines that began with "TYPE:"'),
        ("TYPE: unclear\nANSWER: In 1874.", "its type was none of"),
        ("TYPE: outdated\nIn 1874.", 'the line "ANSWER:" was missing'),
        ("TYPE: outdated\nANSWER: \n", "it was empty"),
    ],
)
def test_an_answer_in_another_form_is_refused(reply: str, problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        read_typed_answer(reply)


@given(_REPLIES)
@example("TYPE: outdated\nANSWER:\n\x1c")
def test_an_answer_that_is_read_has_text(reply: str) -> None:
    with suppress(ValueError):
        assert read_typed_answer(reply).answer.strip()


# Citations


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
