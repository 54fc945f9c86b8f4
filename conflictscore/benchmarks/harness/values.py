"""The values of recorded steps, as far as results are made of them."""

from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from conflictscore.benchmarks.harness.records import StepRecord, Verdict
from conflictscore.errors import InputError
from conflictscore.records import (
    Answer,
    Attempt,
    ConflictReport,
    ConflictType,
    Document,
    Usage,
)


class Value(BaseModel):
    """The value of a step, as far as it is read here."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class NotedValue(Value):
    """Of any step that notes something."""

    notes: tuple[str, ...] = ()


class DocumentsValue(Value):
    """Of ``documents``."""

    documents: tuple[Document, ...]


class LoopValue(Value):
    """Of ``loop``."""

    attempts: tuple[Attempt, ...] = Field(min_length=1)
    regeneration_error: str | None = None


class FirstUsageValue(Value):
    """Of ``loop``, what its first answer cost; None where it does not say."""

    first_usage: dict[str, Usage] | None = None


class AnsweredValue(Value):
    """Of a step with one answer."""

    answer: Answer


class PlaceboValue(AnsweredValue):
    """Of ``placebo``."""

    donor: str | None


class TypedValue(AnsweredValue):
    """Of a method that tells the type of the conflict."""

    conflict_type: ConflictType | None


class GradedValue(Value):
    """Of ``grade``."""

    verdicts: dict[str, Verdict]
    report: ConflictReport | None = None


V = TypeVar("V", bound=Value)


def read_value(record: StepRecord, form: type[V]) -> V:
    """The value of a step that has one.

    Raises:
        InputError: It has not the form of its step.
    """
    try:
        return form.model_validate(record.value)
    except ValidationError as error:
        fault = error.errors()[0]
        field = ".".join(map(str, fault["loc"]))
        raise InputError(
            f"question {record.question!r}, step {record.step}: {field or 'value'}: {fault['msg']};"
            " the records are of another version, or were edited: start a new run"
        ) from None
