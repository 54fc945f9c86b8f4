"""Classifies changed answers: correction, harm or neither."""

from enum import StrEnum

from conflictscore.benchmarks.harness.methods.method_opening import method_of
from conflictscore.benchmarks.harness.methods.registry import BASELINE, LOOP, METHODS
from conflictscore.benchmarks.harness.records import QuestionResult


def second_looks() -> tuple[str, ...]:
    """The methods that regenerate, the most informative first.

    They are looked up each time, so that a method registered by code is included at once.
    """
    return tuple(name for name in METHODS if method_of(name).looks_again)


class FlipKind(StrEnum):
    """The kind of a flip, by the verdicts before and after."""

    CORRECTION = "correction"
    """Wrong to right; on a graded measure, a better value (a lower one if lower is better)."""
    HARM = "harm"
    """Right to wrong; on a graded measure, a worse value."""
    NEUTRAL = "neutral"
    """The same value both times."""
    UNJUDGED = "unjudged"
    """A verdict is missing before or after."""


def second_look(question_result: QuestionResult) -> str | None:
    """The method that shows the outcome of regeneration; None if no such method was run.

    This is ``regenerated-rag``. If it was not run, it is ``guarded-rag``, whose refused flips are
    unknown; if that was not run either, it is the next of :func:`second_looks`.
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
    """Whether the difference between two methods' answers is for the better.

    Returns:
        None if the answers do not differ, or if one is missing.
    """
    if not question_result.flipped(method, against):
        return None
    before = question_result.methods[against].value(measure)
    after = question_result.methods[method].value(measure)
    if before is None or after is None:
        return FlipKind.UNJUDGED
    if before == after:
        return FlipKind.NEUTRAL
    return FlipKind.CORRECTION if (after < before) is falls else FlipKind.HARM


def justification(question_result: QuestionResult, method: str) -> str | None:
    """The model's reason for its answer at a second look; None if it gave none."""
    if method_of(method).step == LOOP:
        return question_result.justification
    answer = question_result.methods[method].answer
    return None if answer is None else answer.justification
