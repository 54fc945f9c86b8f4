"""Classifies changed answers as corrections, harms or neither.

A *flip* is an answer that differs from the first answer. A *second look* is a method that
reconsiders the first answer.
"""

from enum import StrEnum

from conflictscore.benchmarks.harness.methods.method_opening import method_of
from conflictscore.benchmarks.harness.methods.registry import BASELINE, LOOP, METHODS
from conflictscore.benchmarks.harness.records import QuestionResult
from conflictscore.benchmarks.harness.statistics import changes


def second_looks() -> tuple[str, ...]:
    """Return the methods that reconsider the first answer, in the order of tables.

    The methods are looked up at every call, so a method that is registered later is included at
    once.
    """
    return tuple(name for name in METHODS if method_of(name).looks_again)


class FlipKind(StrEnum):
    """The kind of a changed answer ("flip"), by the verdicts before and after."""

    CORRECTION = "correction"
    """The answer changed from wrong to right or, if the measure is graded, to a better value."""
    HARM = "harm"
    """The answer changed from right to wrong or, if the measure is graded, to a worse value."""
    NEUTRAL = "neutral"
    """The first and the final answer have the same value."""
    UNJUDGED = "unjudged"
    """The first or the final answer has no verdict."""


def second_look(question_result: QuestionResult) -> str | None:
    """Return the first method of :func:`second_looks` that was run, or None if none was run.

    The order of tables begins with ``regenerated-rag``, which shows every change. ``guarded-rag``
    does not show the changes that its guard rejected.
    """
    return next((method for method in second_looks() if method in question_result.methods), None)


def flip_kind(
    question_result: QuestionResult,
    method: str,
    measure: str,
    *,
    falls: bool = False,
    against: str = BASELINE,
) -> FlipKind | None:
    """Classify the difference between the answers of two methods.

    Returns:
        The kind of change, or None if the answers do not differ or if one is missing.
    """
    if not question_result.flipped(method, against):
        return None
    before = question_result.methods[against].value(measure)
    after = question_result.methods[method].value(measure)
    if before is None or after is None:
        return FlipKind.UNJUDGED
    # the difference is rounded as in the counts of the tables
    (difference,) = changes([(before, after)])
    if not difference:
        return FlipKind.NEUTRAL
    return FlipKind.CORRECTION if (difference < 0) is falls else FlipKind.HARM


def justification(question_result: QuestionResult, method: str) -> str | None:
    """Return the model's reason for its reconsidered answer; None if it gave no reason."""
    if method_of(method).step == LOOP:
        return question_result.justification
    answer = question_result.methods[method].answer
    return None if answer is None else answer.justification
