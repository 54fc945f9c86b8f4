"""Reads the published questions of WikiContradict."""

from pathlib import Path
from typing import Literal

from conflictscore.benchmarks.harness.question_sample import question_id
from conflictscore.benchmarks.json_lines import PublishedRow, Text, read_items
from conflictscore.records import Record

AGREEING = "agreeing"
"""The metadata field that contains a second wording of a question's first document."""


class ContradictingQuestion(Record):
    """A question with two passages that give different answers."""

    id: str
    """The question's id, which is derived from the question's text."""
    question: str
    contexts: tuple[str, str]
    """The passages in the wording that models see: ``context1`` and ``context2`` in the file."""
    answers: tuple[str, str]
    """The answer that each passage gives, in the order of the passages."""
    contradiction_type: str
    """The type of contradiction, which is ``Explicit`` or ``Implicit (reasoning required)``.

    In the paper, the implicit type is called type IV.
    """
    contexts_self_contained: tuple[str, str]
    """Longer versions of the passages, in which names replace words such as pronouns."""


def read_questions(path: str | Path) -> tuple[ContradictingQuestion, ...]:
    """Read the questions of the flat file, in file order.

    No row is left out.

    Raises:
        InputError: A row is invalid, or it repeats the question of an earlier row, even with other
            passages.
    """
    return read_items(path, _Published, _question).items


class _Published(PublishedRow):
    """A row of WikiContradict, with two contradicting passages and the answer that each one gives.

    The row contains each passage in its original wording and in a ``self_contained`` version. The
    ``self_contained`` version can be understood without its context.
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
