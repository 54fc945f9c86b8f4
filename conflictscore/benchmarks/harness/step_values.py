"""The values of recorded steps, as far as results use them."""

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
    """The value of a step's record, as far as results use it."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class DocumentsValue(StepValue):
    """The value of the step ``documents``."""

    documents: tuple[Document, ...]


class LoopValue(StepValue):
    """The value of the step ``loop``, from the first answer on; see ``StepRecord.value``."""

    attempts: tuple[Attempt, ...] = Field(min_length=1)
    changes: tuple[Change, ...] = ()
    regeneration_error: str | None = None
    first_usage: dict[str, Usage] | None = None
    """The usage of the first answer.

    None if the record does not say; the same is true of ``check_usage``.
    """
    check_usage: dict[str, Usage] | None = None
    guard: Guard | None = None


class AnsweredValue(StepValue):
    """The value of a method with its own step."""

    answer: Answer
    changes: tuple[Change, ...] = ()  # earlier versions recorded only changes, as "flips"
    conflict_type: ConflictType | None = None


class MeaningValue(StepValue):
    """The value of the step ``meaning``: whether two reworded answers make the same claims."""

    same: bool


class GradedValue(StepValue):
    """The value of the step ``grade``, with ``report`` if a ConflictScore is the grade."""

    verdicts: dict[str, Verdict]
    report: ConflictReport | None = None


V = TypeVar("V", bound=StepValue)


def read_value(record: StepRecord, form: type[V]) -> V:
    """The value of a step's record without an error.

    Raises:
        InputError: The value lacks the fields of its step.
    """
    try:
        return form.model_validate(record.value)
    except ValidationError as error:
        field, why = first_fault(error)
        raise InputError(
            f"question {record.question!r}, step {record.step}: {field or 'value'}: {why};"
            " the records are from another version, or were edited: start a new run"
        ) from None
