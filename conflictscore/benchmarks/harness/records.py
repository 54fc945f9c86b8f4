"""The records of a benchmark run: questions, their recorded steps, and results by method.

A question passes through *steps*, each of which is paid for and recorded as a unit. The step
``loop`` produces the first answer and, if a claim is disputed, the second answer. The methods
``rag``, ``regenerated-rag`` and ``guarded-rag`` share this step, so their answers are paired by
construction.
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
    """A question of a benchmark, with the reference answers for judging."""

    id: str
    """The question's id, unique in the benchmark and the same in every run."""
    question: str
    options: tuple[str, ...] = ()
    """The options of a multiple-choice question, in the order in which they are shown.

    Free-form questions have no options.
    """
    gold: Annotated[int, Field(ge=0)] | None = None
    """The index of the correct option.

    The index is None if the question is free-form, if the correct option is unknown, or if several
    options are right. In the last case, ``correct`` lists the correct options.
    """
    correct: tuple[str, ...] = ()
    """The correct reference answers."""
    incorrect: tuple[str, ...] = ()
    """The wrong reference answers."""
    category: str = ""
    documents: tuple[dict[str, Any], ...] = ()
    """The documents supplied with the question.

    Each document has ``text`` and, if known, ``title`` and ``url``. If a question comes with
    documents, no others are retrieved.
    """
    conflict_type: ConflictType | None = None
    """The annotated conflict type of the documents; only the ``oracle`` method sees it."""

    @model_validator(mode="after")
    def _gold_is_an_option(self) -> "Question":
        if self.options and (len(self.options) < 2 or (self.gold or 0) >= len(self.options)):
            raise ValueError(
                "a multiple-choice question needs at least two options, and gold must be the index"
                " of an option"
            )
        return self


def _known(step: str) -> str:
    # The steps are looked up at every call, since methods can be registered later. The message of
    # a ValueError would get the prefix "Value error, ".
    if step not in steps():
        raise PydanticCustomError("step", f"Input should be one of {', '.join(steps())}")
    return step


StepKey = tuple[str, str, str]
"""The question's id, the step and the key, as in a ``StepRecord``."""


class StepFailure(StrEnum):
    """How a step failed; ``StepRecord.error`` explains why."""

    FAILED = "failed"
    """The step ended with an error.

    The step counts as failed until ``--retry-failed`` repeats it.
    """
    STOPPED = "stopped"
    """The session ended during the step.

    The record states only the cost so far; the next session repeats the step.
    """


_STOPPED_IN_FORMAT_1 = "the run was stopped during this step"
"""The error of a stopped step in format 1 of run folders (``manifest.py``).

Format 1 does not record the kind of failure.
"""


class StepRecord(Record):
    """A line of a run's records: what a step produced, or why it failed."""

    question: str
    """The id of the question."""
    step: Annotated[str, AfterValidator(_known)]
    key: str = ""
    """The key distinguishes between steps of the same kind.

    For a grade, the key is the answer that was graded; for a meaning, the key is the
    :func:`meaning_key` of the two answers.
    """
    value: dict[str, Any] | None = None
    """The output of the step; None if and only if ``error`` is set.

    The fields depend on the step:

    - documents: ``documents`` (Document), ``notes``
    - loop: ``attempts`` (Attempt), ``changes`` (Change), ``guard`` (Guard; None if the answer did
      not change), ``reason``, ``notes``, ``regeneration_error``, ``first_usage``, ``check_usage``
    - a method: ``answer`` (Answer), ``notes``; for revised-rag ``changes``; for madam-rag
      ``rounds``, 1 to 3; for pipeline, taxonomy-aware and oracle ``conflict_type``, which is None
      if no type was named
    - meaning: ``same`` and, if the claims differ, the first ``claim`` that the other answer does
      not support, with its ``label``
    - grade: ``verdicts`` (a Verdict by measure), and ``report`` (a ConflictReport) if answers are
      judged by their ConflictScore
    """
    error: str | None = None
    failure: StepFailure | None = None
    """The kind of failure; set if and only if ``error`` is set."""
    usage: dict[str, Usage] = Field(default_factory=dict)
    """The calls and tokens of the step, by name of the model."""
    seconds: Annotated[float, Field(ge=0)] = 0.0
    time: str = ""
    """When the step ended, in UTC, in ISO 8601 format."""

    @model_validator(mode="before")
    @classmethod
    def _with_failure_kind(cls, fields: Any) -> Any:
        """Fill in the failure kind that records of format 1 lack."""
        if not isinstance(fields, dict) or fields.get("error") is None or fields.get("failure"):
            return fields
        was_stopped = fields["error"] == _STOPPED_IN_FORMAT_1
        return {**fields, "failure": StepFailure.STOPPED if was_stopped else StepFailure.FAILED}

    @model_validator(mode="after")
    def _value_or_error(self) -> "StepRecord":
        if (self.value is None) != (self.error is not None):
            raise ValueError(
                "a step needs either a value, or an error that says why it has no value"
            )
        if (self.error is None) != (self.failure is None):
            raise ValueError(
                "a failed step needs a failure kind and an error; a step with a value has neither"
            )
        return self

    @property
    def stopped(self) -> bool:
        """Whether the record only states what a step had cost when the session ended."""
        return self.failure is StepFailure.STOPPED


class Verdict(Record):
    """The verdict on an answer by one measure, from a judge or from the known correct option."""

    value: bool | float | None
    """Whether the answer is right or, for a graded measure, its grade in [0, 1].

    None if the judge failed or its reply was unreadable. An answer without a verdict is unjudged,
    and is not part of any mean.
    """
    explanation: str | None = None
    error: str | None = None
    """Why ``value`` is missing; set if and only if ``value`` is None."""

    @model_validator(mode="after")
    def _error_goes_with_none(self) -> "Verdict":
        if (self.value is None) != (self.error is not None):
            raise ValueError("a verdict needs either a value or an error")
        return self


class MethodResult(Record):
    """A method's answer to a question, and the verdicts on it."""

    answer: Answer | None
    """The answer, or None if the method failed."""
    error: str | None = None
    verdicts: dict[str, Verdict] = Field(default_factory=dict)
    """The verdicts on the answer, by measure.

    The measures are, for example, ``accuracy`` for multiple-choice questions, and ``truthful`` and
    ``informative`` for free-form questions.

    There are no verdicts if there is no answer, or if it has not been judged yet.
    """
    report: ConflictReport | None = None
    """The answer's ConflictScore; None if it was not scored."""
    judged_by_copy: bool = False
    """Whether the verdicts came from a cache, and so are not an independent judgement."""

    def value(self, measure: str) -> bool | float | None:
        """Return whether the answer is right by this measure, or its grade; None if unknown."""
        verdict = self.verdicts.get(measure)
        return None if verdict is None else verdict.value


class Guard(Record):
    """The guard's verdict on a changed answer; it decides the answer of ``guarded-rag``."""

    accepted: bool
    note: str | None = None
    """Why the guard rejected the change; None if it accepted the change."""


class QuestionResult(Record):
    """Everything that a run has recorded about one question."""

    question: Question
    documents: tuple[Document, ...] = ()
    methods: dict[str, MethodResult] = Field(default_factory=dict)
    """The results of finished methods, in the order of ``methods.registry.METHODS``.

    Methods that have not run yet are absent.
    """
    conflict: bool | None = None
    """Whether a claim of the first answer has evidence on both sides; None if there is no score."""
    reconsidered: ClaimEvidence | None = None
    """The claim that the loop asked the model to reconsider, with its labels, if there is one."""
    changes: dict[str, tuple[Change, ...]] = Field(default_factory=dict)
    """All passages that a step reconsidered, by the name of the step."""
    justification: str | None = None
    """The model's reason for the regenerated answer."""
    guard: Guard | None = None
    """The verdict of the loop's guard; None if the answer did not change."""
    predicted: dict[str, ConflictType | None] = Field(default_factory=dict)
    """The conflict type that each finished method named, or None if it named no type.

    Only methods that name a conflict type are included.
    """
    same_claims: dict[str, bool] = Field(default_factory=dict)
    """Whether two differently worded answers make the same claims.

    The keys are those of :func:`meaning_key`. Pairs that were not compared, or could not be
    compared, are absent.
    """
    usage: dict[str, dict[str, Usage]] = Field(default_factory=dict)
    """The calls and tokens of each step, by name of the model."""
    first_usage: dict[str, Usage] | None = None
    """The usage of the first answer alone, which is the cost of ``rag``.

    The usage is counted as if no reply had come from a cache; None if unknown.
    """
    check_usage: dict[str, Usage] | None = None
    """The usage of scoring and explaining the last answer. The paper omits both tasks."""
    seconds: dict[str, float] = Field(default_factory=dict)

    def claims_about(self, method: str) -> tuple[ClaimEvidence, ...]:
        """Return the claims that led a method to change the answer, with their labels.

        The result contains the claims of the applied changes, or of all changes if no change was
        applied. If a method has no recorded changes, the result has only the claim that the loop
        reconsidered.
        """
        changes = self.changes.get(METHODS[method].step or method, ())
        relevant_changes = [change for change in changes if change.applied] or changes
        claims = {claim.claim.text: claim for change in relevant_changes for claim in change.claims}
        if not claims and self.reconsidered is not None:
            return (self.reconsidered,)
        return tuple(claims.values())

    def flipped(self, method: str, against: str = BASELINE) -> bool | None:
        """Return whether two methods' answers differ; None if an answer is missing.

        Answers that are worded differently count as equal if they make the same claims. If their
        claims were not compared, the wording decides.
        """
        is_reworded = self.reworded(method, against)
        return is_reworded and not self.alike(method, against)

    def alike(self, method: str, against: str = BASELINE) -> bool | None:
        """Return whether two differently worded answers make the same claims; None if unknown."""
        results = self.methods.get(against), self.methods.get(method)
        first_answer, second_answer = (each.answer if each else None for each in results)
        if first_answer is None or second_answer is None:
            return None
        return self.same_claims.get(meaning_key(first_answer.text, second_answer.text))

    def reworded(self, method: str, against: str = BASELINE) -> bool | None:
        """Return whether two methods chose different options or, in free form, different words."""
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
    """Return whether two answers choose different options or, in free form, differ in wording."""
    return (
        first.option != second.option
        if first.option is not None
        else differs(first.text, second.text)
    )


def meaning_key(first: str, second: str) -> str:
    """Return the key under which the comparison of two answers is stored.

    The order of the two answers does not matter.
    """
    return json.dumps(sorted((first, second)), ensure_ascii=False)


def scored_methods(results: Sequence[QuestionResult], methods: Iterable[str]) -> list[str]:
    """Return the methods whose answers all have a ConflictScore.

    If only some of a method's answers are scored, their mean does not describe the method. For
    example, if no method needs a guard, the loop's second answers are not scored.
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
