"""WikiContradict's published questions."""

from pathlib import Path
from typing import Any

from conflictscore.benchmarks.harness.question_sample import question_id
from conflictscore.benchmarks.json_lines import one_of, read_items, text_of
from conflictscore.records import Record

AGREEING = "agreeing"
"""In the metadata of a question's first document, a text that says the same in other words."""


_TYPES = {kind: kind for kind in ("Explicit", "Implicit (reasoning required)")}
"""Whether it takes reasoning to see the contradiction (its type IV)."""


class ContradictingQuestion(Record):
    """A question with two passages and the answer that each of them gives."""

    id: str
    """Follows from the text of the question."""
    question: str
    contexts: tuple[str, str]
    """The passages as models were shown them: ``context1`` and ``context2``."""
    answers: tuple[str, str]
    """By passage."""
    contradiction_type: str
    """``Explicit``, or ``Implicit (reasoning required)``."""
    contexts_self_contained: tuple[str, str]
    """Longer, with names in place of what refers to them."""


def read_questions(path: str | Path) -> tuple[ContradictingQuestion, ...]:
    """Read the flat file, in file order.

    Args:
        path: JSON lines with ``question``, ``context1``, ``context2``, the two also with
            ``_self_contained``, ``answer1``, ``answer2`` and ``contradiction_type``.
    """
    return read_items(path, _question).items


def _question(record: Any, where: str) -> ContradictingQuestion:
    text = text_of(record, "question", where)
    return ContradictingQuestion(
        id=question_id("wc", text),
        question=text,
        contexts=_pair(record, "context{}", where),
        answers=_pair(record, "answer{}", where),
        contradiction_type=one_of(record, "contradiction_type", _TYPES, where),
        contexts_self_contained=_pair(record, "context{}_self_contained", where),
    )


def _pair(record: Any, field: str, where: str) -> tuple[str, str]:
    return text_of(record, field.format(1), where), text_of(record, field.format(2), where)
