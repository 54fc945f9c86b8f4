"""Reads WikiContradict's published questions."""

from pathlib import Path
from typing import Literal

from conflictscore.benchmarks.harness.question_sample import question_id
from conflictscore.benchmarks.json_lines import PublishedRow, Text, read_items
from conflictscore.records import Record

AGREEING = "agreeing"
"""The metadata field with a rewording of a question's first document."""


class ContradictingQuestion(Record):
    """A question with two passages, and the answer that each gives."""

    id: str
    """The id, derived from the text of the question."""
    question: str
    contexts: tuple[str, str]
    """The passages as models were shown them: ``context1`` and ``context2``."""
    answers: tuple[str, str]
    """The answers by passage."""
    contradiction_type: str
    """``Explicit``, or ``Implicit (reasoning required)`` (its type IV)."""
    contexts_self_contained: tuple[str, str]
    """Longer versions of the passages, with names instead of references to them."""


def read_questions(path: str | Path) -> tuple[ContradictingQuestion, ...]:
    """Read the questions of the flat file, in file order."""
    return read_items(path, _Published, _question).items


class _Published(PublishedRow):
    """A row of WikiContradict: two passages that contradict each other, and the answer of each.

    The passages are given as found and, so that they can be read alone, as ``self_contained``.
    """

    question: Text
    context1: Text
    context2: Text
    answer1: Text
    answer2: Text
    contradiction_type: Literal["Explicit", "Implicit (reasoning required)"]
    context1_self_contained: Text
    context2_self_contained: Text


def _question(row: _Published, where: str) -> ContradictingQuestion:
    return ContradictingQuestion(
        id=question_id("wc", row.question),
        question=row.question,
        contexts=(row.context1, row.context2),
        answers=(row.answer1, row.answer2),
        contradiction_type=row.contradiction_type,
        contexts_self_contained=(row.context1_self_contained, row.context2_self_contained),
    )
