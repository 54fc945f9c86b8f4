"""WikiContradict's published questions."""

from enum import StrEnum
from pathlib import Path
from typing import Any

from conflictscore.benchmarks.harness.question_sample import question_id, refuse_repeated
from conflictscore.benchmarks.json_lines import one_of, read_json_lines, text_of
from conflictscore.errors import InputError
from conflictscore.records import Record

AGREEING = "agreeing"
"""In the metadata of a question's first document, a text that says the same in other words."""


class ContradictionType(StrEnum):
    """Whether it takes reasoning to see the contradiction (its type IV)."""

    EXPLICIT = "Explicit"
    IMPLICIT = "Implicit (reasoning required)"


_TYPES = {kind.value: kind for kind in ContradictionType}


class ContradictingQuestion(Record):
    """A question with two passages and the answer that each of them gives."""

    id: str
    """Follows from the text of the question."""
    question: str
    contexts: tuple[str, str]
    """The passages as models were shown them: ``context1`` and ``context2``."""
    answers: tuple[str, str]
    """By passage."""
    contradiction_type: ContradictionType
    contexts_self_contained: tuple[str, str]
    """Longer, with names in place of what refers to them."""
    answers_self_contained: tuple[str, str]
    """As full sentences."""


def read_questions(path: str | Path) -> tuple[ContradictingQuestion, ...]:
    """Read the flat file, in file order.

    Args:
        path: JSON lines with ``question``, ``context1``, ``context2``, ``answer1``, ``answer2``,
            each of the four also with ``_self_contained``, and ``contradiction_type``.
    """
    questions: list[ContradictingQuestion] = []
    first: dict[str, str] = {}
    for where, record in read_json_lines(Path(path)):
        text = text_of(record, "question", where)
        key = question_id("wc", text)
        refuse_repeated(key, where, first)
        questions.append(
            ContradictingQuestion(
                id=key,
                question=text,
                contexts=_pair(record, "context{}", where),
                answers=_pair(record, "answer{}", where),
                contradiction_type=one_of(record, "contradiction_type", _TYPES, where),
                contexts_self_contained=_pair(record, "context{}_self_contained", where),
                answers_self_contained=_pair(record, "answer{}_self_contained", where),
            )
        )
    if not questions:
        raise InputError(f"{path}: there is no question in it")
    return tuple(questions)


def _pair(record: Any, field: str, where: str) -> tuple[str, str]:
    return text_of(record, field.format(1), where), text_of(record, field.format(2), where)
