"""Records of a benchmark run: questions, their recorded steps, and results by method.

A question passes through *steps*, each of which is paid for and recorded as a unit. ``loop``
produces the first answer and the second look, so ``rag``, ``regenerated-rag`` and ``guarded-rag``
share it and are paired by construction.
"""

import json
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from conflictscore.benchmarks.harness.conflict_types import ConflictType
from conflictscore.benchmarks.harness.methods.registry import BASELINE, METHODS, steps
from conflictscore.records import (
    Answer,
    Change,
    ClaimEvidence,
    ConflictReport,
    Document,
    Record,
    Usage,
    differs,
)


class Question(Record):
    """One question of a benchmark, with what its answers are judged by."""

    id: str
    """Unique in its benchmark, and the same for the same question in every run."""
    question: str
    options: tuple[str, ...] = ()
    """The options of a multiple choice in the order they are shown; empty in free form."""
    gold: Annotated[int, Field(ge=0)] | None = None
    """Index of the right option; None in free form, where it is not known, and where several are
    right, which ``correct`` then holds."""
    correct: tuple[str, ...] = ()
    """Reference answers that are right."""
    incorrect: tuple[str, ...] = ()
    """Reference answers that are wrong."""
    category: str = ""
    documents: tuple[dict[str, Any], ...] = ()
    """Documents of its own (``text``, and as known ``title``, ``url``); with them nothing is
    retrieved."""
    conflict_type: ConflictType | None = None
    """How people say that its documents relate; only the method ``oracle`` sees it."""

    @model_validator(mode="after")
    def _gold_is_an_option(self) -> "Question":
        if self.options and (len(self.options) < 2 or (self.gold or 0) >= len(self.options)):
            raise ValueError("a multiple choice has two or more options, and gold is one of them")
        return self


def _known(step: str) -> str:
    if step not in steps():
        raise PydanticCustomError("step", f"Input should be one of {', '.join(steps())}")
    return step


StepKey = tuple[str, str, str]
"""Question, step and key, as in a step's record."""


class StepFailure(StrEnum):
    """Why a step has no value; its ``error`` says more, for a reader."""

    FAILED = "failed"
    """It ended with an error, and stays failed until ``--retry-failed`` takes it again."""
    STOPPED = "stopped"
    """The session ended during it. The record only tells what it had cost by then; the next session
    takes the step again."""


_STOPPED_IN_FORMAT_1 = "the run was stopped during this step"
"""Runs of format 1 have no kind, and always this error where a step was stopped."""


class StepRecord(Record):
    """One line of a run's records: what came of a step, or why it failed."""

    question: str
    """The id of the question."""
    step: Annotated[str, AfterValidator(_known)]
    key: str = ""
    """Tells steps of the same kind apart: for a grade, the answer that was graded; for a meaning,
    :func:`meaning_key` of its two answers."""
    value: dict[str, Any] | None = None
    """The result; None exactly where ``error`` is set. By step:

    - documents: ``documents`` (Document), ``notes``
    - loop: ``attempts`` (Attempt), ``changes`` (Change), ``guard`` (Guard, None where the answer
      did not change), ``reason``, ``notes``, ``regeneration_error``, ``first_usage``,
      ``check_usage``
    - a method: ``answer`` (Answer), ``notes``; of revised-rag ``changes``; of madam-rag ``rounds``,
      1 to 3; of pipeline, taxonomy-aware and oracle ``conflict_type``, None where none could be had
    - meaning: ``same``, and where it is false the ``claim`` that the other answer does not support,
      with its ``label``
    - grade: ``verdicts``, by measure a Verdict; and ``report``, a ConflictReport, where answers are
      judged by their ConflictScore
    """
    error: str | None = None
    failure: StepFailure | None = None
    """Set exactly where ``error`` is."""
    usage: dict[str, Usage] = Field(default_factory=dict)
    """Calls and tokens, by the model's name."""
    seconds: Annotated[float, Field(ge=0)] = 0.0
    time: str = ""
    """When it ended, in UTC and ISO 8601."""

    @model_validator(mode="before")
    @classmethod
    def _with_failure_kind(cls, fields: Any) -> Any:
        """Fill in the kind that records of format 1 lack."""
        if not isinstance(fields, dict) or fields.get("error") is None or fields.get("failure"):
            return fields
        was_stopped = fields["error"] == _STOPPED_IN_FORMAT_1
        return {**fields, "failure": StepFailure.STOPPED if was_stopped else StepFailure.FAILED}

    @model_validator(mode="after")
    def _value_or_error(self) -> "StepRecord":
        if (self.value is None) != (self.error is not None):
            raise ValueError("a step has a value, or an error that says why not")
        if (self.error is None) != (self.failure is None):
            raise ValueError("a failure has a kind and an error, and a value has neither")
        return self

    @property
    def stopped(self) -> bool:
        """Whether it only tells what a step had cost when the session ended."""
        return self.failure is StepFailure.STOPPED


class Verdict(Record):
    """The verdict of a judge, or of the gold option, on an answer by one measure."""

    value: bool | float | None
    """Whether it is right, or, by a graded measure, how far, in [0, 1]; None where the judge could
    not be read or failed: unjudged, and in no mean."""
    explanation: str | None = None
    error: str | None = None
    """Why there is no value; set exactly where ``value`` is None."""

    @model_validator(mode="after")
    def _error_goes_with_none(self) -> "Verdict":
        if (self.value is None) != (self.error is not None):
            raise ValueError("an error goes with no value, and with nothing else")
        return self


class MethodResult(Record):
    """A method's answer to a question, and its verdicts."""

    answer: Answer | None
    """None where the method failed."""
    error: str | None = None
    verdicts: dict[str, Verdict] = Field(default_factory=dict)
    """By measure: ``accuracy`` in multiple choice, ``truthful`` and ``informative`` in free form.
    Empty where there is no answer, or it was not judged yet."""
    report: ConflictReport | None = None
    """The answer's ConflictScore; None where it was not scored."""
    judged_by_copy: bool = False
    """Whether the verdicts were found in a cache, so that they are no judgement of their own."""

    def value(self, measure: str) -> bool | float | None:
        """Whether, or how far, the answer is right by this measure; None where it is not known."""
        verdict = self.verdicts.get(measure)
        return None if verdict is None else verdict.value


class Guard(Record):
    """The verdict of the loop's guard on a flip, by which ``guarded-rag`` answers."""

    accepted: bool
    note: str | None = None
    """Why the flip was refused; None where it was accepted."""


class QuestionResult(Record):
    """All that a run knows of one question."""

    question: Question
    documents: tuple[Document, ...] = ()
    methods: dict[str, MethodResult] = Field(default_factory=dict)
    """The methods that were run and ended, in the order of ``methods.registry.METHODS``; a
    method that is still to come is absent."""
    conflict: bool | None = None
    """Whether a claim of the first answer has evidence on both sides; None where it has no
    score."""
    reconsidered: ClaimEvidence | None = None
    """The claim that the loop put back to the model, with its labels; None where none was."""
    changes: dict[str, tuple[Change, ...]] = Field(default_factory=dict)
    """By step, every passage that it looked at again; of the steps that write by the loop."""
    justification: str | None = None
    """The model's reason for the regenerated answer."""
    guard: Guard | None = None
    """None where the answer did not change."""
    predicted: dict[str, ConflictType | None] = Field(default_factory=dict)
    """The type of the conflict that a method told, None where it could tell none; of the methods
    that were asked for one and ended."""
    same_claims: dict[str, bool] = Field(default_factory=dict)
    """By :func:`meaning_key` of two answers of other words, whether they make the same claims;
    without those that were not compared, or could not be."""
    usage: dict[str, dict[str, Usage]] = Field(default_factory=dict)
    """Calls and tokens of each step, by the model's name."""
    first_usage: dict[str, Usage] | None = None
    """Usage of the first answer alone, which ``rag`` pays for, as if no reply came from a cache;
    None if that is not known."""
    check_usage: dict[str, Usage] | None = None
    """The same of the score and the explanation of the last answer, which the paper does
    without."""
    seconds: dict[str, float] = Field(default_factory=dict)

    def claims_about(self, method: str) -> tuple[ClaimEvidence, ...]:
        """The claims that a method's change of the answer is about, with their labels.

        Those of the changes that were applied, or of all where none was. A method that keeps no
        changes put back the claim of the loop.
        """
        changes = self.changes.get(METHODS[method].step or method, ())
        relevant_changes = [change for change in changes if change.applied] or changes
        claims = {claim.claim.text: claim for change in relevant_changes for claim in change.claims}
        if not claims and self.reconsidered is not None:
            return (self.reconsidered,)
        return tuple(claims.values())

    def flipped(self, method: str, against: str = BASELINE) -> bool | None:
        """Whether a method's answer differs from another's; None where one is missing.

        Answers of other words that make the same claims do not differ. Where that is not known,
        words decide.
        """
        is_reworded = self.reworded(method, against)
        return is_reworded and not self.alike(method, against)

    def alike(self, method: str, against: str = BASELINE) -> bool | None:
        """Whether two answers of other words make the same claims; None where it is not known."""
        first_answer, second_answer = self.methods[against].answer, self.methods[method].answer
        if first_answer is None or second_answer is None:
            return None
        return self.same_claims.get(meaning_key(first_answer.text, second_answer.text))

    def reworded(self, method: str, against: str = BASELINE) -> bool | None:
        """Whether a method's answer has another option, or in free form other words."""
        first_result, second_result = self.methods.get(against), self.methods.get(method)
        if (
            first_result is None
            or second_result is None
            or first_result.answer is None
            or second_result.answer is None
        ):
            return None
        return reworded(first_result.answer, second_result.answer)


def reworded(first: Answer, second: Answer) -> bool:
    """Whether two answers have different options, or in free form different words."""
    return (
        first.option != second.option
        if first.option is not None
        else differs(first.text, second.text)
    )


def meaning_key(first: str, second: str) -> str:
    """The key by which it is kept whether two answers make the same claims, in either order."""
    return json.dumps(sorted((first, second)), ensure_ascii=False)
