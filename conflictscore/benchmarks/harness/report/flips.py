"""Kinds of a changed answer: correction, harm or neither."""

from enum import StrEnum

from conflictscore.benchmarks.harness.methods.method_opening import method_of
from conflictscore.benchmarks.harness.methods.registry import BASELINE, LOOP, METHODS
from conflictscore.benchmarks.harness.records import QuestionResult


def second_looks() -> tuple[str, ...]:
    """The methods that regenerate, the one that tells most first.

    They are looked up each time, so that a method registered in code is among them at once.
    """
    return tuple(name for name in METHODS if method_of(name).looks_again)


class FlipKind(StrEnum):
    """A flip, by what the answer was before and is after."""

    CORRECTION = "correction"
    """Wrong to right; by a graded measure, a higher value, or a lower one where less is better."""
    HARM = "harm"
    """Right to wrong; by a graded measure, the other way round."""
    NEUTRAL = "neutral"
    """The same value both times."""
    UNJUDGED = "unjudged"
    """There is no verdict before or after."""


def second_look(question_result: QuestionResult) -> str | None:
    """The method that shows the outcome of regeneration; None where none of them was run.

    This is ``regenerated-rag``. Where it was not run it is ``guarded-rag``, and the flips that this
    refused are not known; where that was not run either, the next of :func:`second_looks`.
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
        None where the answers do not differ, or one of them is missing.
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
    """The model's reason for the answer of a second look; None where it gave none."""
    if method_of(method).step == LOOP:
        return question_result.justification
    answer = question_result.methods[method].answer
    return None if answer is None else answer.justification
