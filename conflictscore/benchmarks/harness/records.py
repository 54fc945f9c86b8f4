"""Records of a benchmark run: questions, their recorded steps, and results by method.

A question passes through *steps*; each is paid for and recorded as a unit. The step ``loop``
produces the first answer and the second look. ``rag``, ``regenerated-rag`` and ``guarded-rag``
share it, so they are paired by construction.
"""

import json
from collections.abc import Iterable, Sequence
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
    """A question of a benchmark, with the references for judging its answers."""

    id: str
    """The id, unique in its benchmark and the same in every run."""
    question: str
    options: tuple[str, ...] = ()
    """The options of a multiple choice, in the order in which they are shown.

    Empty in free form.
    """
    gold: Annotated[int, Field(ge=0)] | None = None
    """The index of the right option.

    None in free form, if it is unknown, and if several options are right; ``correct`` then contains
    these.
    """
    correct: tuple[str, ...] = ()
    """The right reference answers."""
    incorrect: tuple[str, ...] = ()
    """The wrong reference answers."""
    category: str = ""
    documents: tuple[dict[str, Any], ...] = ()
    """The question's own documents (``text``, and ``title`` and ``url`` if known).

    If given, nothing is retrieved.
    """
    conflict_type: ConflictType | None = None
    """The relation of its documents according to people; only the method ``oracle`` sees it."""

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
"""Question, step and key, as in the record of a step."""


class StepFailure(StrEnum):
    """The kind of reason why a step has no value; ``error`` explains it to a reader."""

    FAILED = "failed"
    """The step ended with an error, and stays failed until ``--retry-failed`` repeats it."""
    STOPPED = "stopped"
    """The session ended during the step.

    The record only states the cost so far; the next session repeats the step.
    """


_STOPPED_IN_FORMAT_1 = "the run was stopped during this step"
"""The error of a stopped step in format 1, which has no kinds."""


class StepRecord(Record):
    """A line of a run's records: the result of a step, or why it failed."""

    question: str
    """The id of the question."""
    step: Annotated[str, AfterValidator(_known)]
    key: str = ""
    """Distinguishes steps of the same kind: for a grade, the answer that was graded.

    For a meaning, :func:`meaning_key` of its two answers.
    """
    value: dict[str, Any] | None = None
    """The result; None if and only if ``error`` is set. For each step, it contains:

    - documents: ``documents`` (Document), ``notes``
    - loop: ``attempts`` (Attempt), ``changes`` (Change), ``guard`` (Guard; None if the answer did
      not change), ``reason``, ``notes``, ``regeneration_error``, ``first_usage``, ``check_usage``
    - a method: ``answer`` (Answer), ``notes``; for revised-rag ``changes``; for madam-rag
      ``rounds``, 1 to 3; for pipeline, taxonomy-aware and oracle ``conflict_type``, None if no type
      was given
    - meaning: ``same`` and, if it is false, the ``claim`` that the other answer does not support,
      with its ``label``
    - grade: ``verdicts`` (a Verdict by measure), and ``report`` (a ConflictReport) if answers are
      judged by their ConflictScore
    """
    error: str | None = None
    failure: StepFailure | None = None
    """Set if and only if ``error`` is."""
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
        """Whether it only states the cost of a step when the session ended."""
        return self.failure is StepFailure.STOPPED


class Verdict(Record):
    """The verdict on an answer by one measure, from a judge or from the gold option."""

    value: bool | float | None
    """Whether the answer is right or, on a graded measure, its grade in [0, 1].

    None if the judge failed or its reply was unreadable; such an answer is unjudged, and is in no
    mean.
    """
    explanation: str | None = None
    error: str | None = None
    """Why there is no value; set if and only if ``value`` is None."""

    @model_validator(mode="after")
    def _error_goes_with_none(self) -> "Verdict":
        if (self.value is None) != (self.error is not None):
            raise ValueError("a verdict with an error has no value and nothing else")
        return self


class MethodResult(Record):
    """A method's answer to a question, and its verdicts."""

    answer: Answer | None
    """None if the method failed."""
    error: str | None = None
    verdicts: dict[str, Verdict] = Field(default_factory=dict)
    """The verdicts by measure.

    Measures are ``accuracy`` in multiple choice, ``truthful`` and ``informative`` in free form.

    Empty if there is no answer, or it is not judged yet.
    """
    report: ConflictReport | None = None
    """The answer's ConflictScore; None if it was not scored."""
    judged_by_copy: bool = False
    """Whether the verdicts came from a cache, so that they are not an independent judgement."""

    def value(self, measure: str) -> bool | float | None:
        """Whether, or how far, the answer is right by this measure; None if unknown."""
        verdict = self.verdicts.get(measure)
        return None if verdict is None else verdict.value


class Guard(Record):
    """The verdict of the loop's guard on a flip, which decides the answer of ``guarded-rag``."""

    accepted: bool
    note: str | None = None
    """Why the flip was refused; None if it was accepted."""


class QuestionResult(Record):
    """Everything that a run knows about one question."""

    question: Question
    documents: tuple[Document, ...] = ()
    methods: dict[str, MethodResult] = Field(default_factory=dict)
    """The results of finished methods, in the order of ``methods.registry.METHODS``.

    Methods still to be run are absent.
    """
    conflict: bool | None = None
    """Whether a claim of the first answer has evidence on both sides; None if it has no score."""
    reconsidered: ClaimEvidence | None = None
    """The claim that the loop asked the model to reconsider, with its labels.

    None if there was none.
    """
    changes: dict[str, tuple[Change, ...]] = Field(default_factory=dict)
    """For each step that corrects with the loop, every passage that it looked at again."""
    justification: str | None = None
    """The model's reason for the regenerated answer."""
    guard: Guard | None = None
    """The guard's verdict; None if the answer did not change."""
    predicted: dict[str, ConflictType | None] = Field(default_factory=dict)
    """The conflict type that each finished method named, None if it could not.

    Only methods that are asked for a type are included.
    """
    same_claims: dict[str, bool] = Field(default_factory=dict)
    """Whether two answers in different words make the same claims, by their :func:`meaning_key`.

    Pairs that were not or could not be compared are absent.
    """
    usage: dict[str, dict[str, Usage]] = Field(default_factory=dict)
    """The calls and tokens of each step, by the model's name."""
    first_usage: dict[str, Usage] | None = None
    """The usage of only the first answer, which is the cost of ``rag``.

    It is counted as if no reply had come from a cache; None if unknown.
    """
    check_usage: dict[str, Usage] | None = None
    """The same for the score and the explanation of the last answer, which the paper omits."""
    seconds: dict[str, float] = Field(default_factory=dict)

    def claims_about(self, method: str) -> tuple[ClaimEvidence, ...]:
        """The claims behind a method's change of the answer, with their labels.

        They are the claims of the applied changes, or of all changes if none was applied. For a
        method without recorded changes it is the claim that the loop reconsidered.
        """
        changes = self.changes.get(METHODS[method].step or method, ())
        relevant_changes = [change for change in changes if change.applied] or changes
        claims = {claim.claim.text: claim for change in relevant_changes for claim in change.claims}
        if not claims and self.reconsidered is not None:
            return (self.reconsidered,)
        return tuple(claims.values())

    def flipped(self, method: str, against: str = BASELINE) -> bool | None:
        """Whether a method's answer differs from another's; None if one is missing.

        Answers in different words do not differ if they make the same claims. If that is unknown,
        the words decide.
        """
        is_reworded = self.reworded(method, against)
        return is_reworded and not self.alike(method, against)

    def alike(self, method: str, against: str = BASELINE) -> bool | None:
        """Whether two answers in different words make the same claims; None if unknown."""
        first_answer, second_answer = self.methods[against].answer, self.methods[method].answer
        if first_answer is None or second_answer is None:
            return None
        return self.same_claims.get(meaning_key(first_answer.text, second_answer.text))

    def reworded(self, method: str, against: str = BASELINE) -> bool | None:
        """Whether a method's answer has a different option or, in free form, different words."""
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
    """The key for the comparison of two answers' claims, independent of their order."""
    return json.dumps(sorted((first, second)), ensure_ascii=False)


def scored_methods(results: Sequence[QuestionResult], methods: Iterable[str]) -> list[str]:
    """The methods with a ConflictScore for every answer, so that a mean describes them.

    If only some of a method's answers are scored, their mean does not describe the method. Without
    a guard, for example, only first answers without a conflict are scored.
    """
    answers_by_method = {
        method: [
            result.methods[method]
            for result in results
            if method in result.methods and result.methods[method].answer is not None
        ]
        for method in methods
    }
    return [
        method
        for method, answers in answers_by_method.items()
        if all(answer.report is not None for answer in answers)
    ]
