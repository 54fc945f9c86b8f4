"""Data models for the values of recorded steps, with the fields that results use."""

from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from conflictscore.benchmarks.harness.conflict_types import ConflictType
from conflictscore.benchmarks.harness.records import Guard, StepRecord, Verdict
from conflictscore.errors import InputError
from conflictscore.records import (
    Answer,
    Attempt,
    Change,
    ConflictReport,
    Document,
    Usage,
    first_fault,
)


class StepValue(BaseModel):
    """The value of a recorded step, with the fields that results use."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class DocumentsValue(StepValue):
    """The value of the step ``documents``: the documents of a question."""

    documents: tuple[Document, ...]


class LoopValue(StepValue):
    """The value of the step ``loop``, starting with the first answer; see ``StepRecord.value``."""

    attempts: tuple[Attempt, ...] = Field(min_length=1)
    changes: tuple[Change, ...] = ()
    regeneration_error: str | None = None
    first_usage: dict[str, Usage] | None = None
    """The usage of the first answer, or None if the record does not state it.

    ``check_usage`` is None in the same case.
    """
    check_usage: dict[str, Usage] | None = None
    guard: Guard | None = None


class AnsweredValue(StepValue):
    """The value of a step that belongs to one method."""

    answer: Answer
    changes: tuple[Change, ...] = ()  # earlier versions recorded only changes, as "flips"
    conflict_type: ConflictType | None = None


class MeaningValue(StepValue):
    """The value of the step ``meaning``: whether two reworded answers make the same claims."""

    same: bool


class GradedValue(StepValue):
    """The value of the step ``grade``, with ``report`` if answers are graded by ConflictScore."""

    verdicts: dict[str, Verdict]
    report: ConflictReport | None = None


V = TypeVar("V", bound=StepValue)


def read_value(record: StepRecord, form: type[V]) -> V:
    """Read the value from the record of a step that did not fail.

    Raises:
        InputError: The value lacks the fields of its step.
    """
    try:
        return form.model_validate(record.value)
    except ValidationError as error:
        field, why = first_fault(error)
        raise InputError(
            f"question {record.question!r}, step {record.step}: {field or 'value'}: {why};"
            " the records are from another version or were edited; start a new run"
        ) from None
