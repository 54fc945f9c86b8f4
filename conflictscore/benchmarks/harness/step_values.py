"""The values of a run's records, by step, as far as results are made of them."""

from pydantic import BaseModel, ConfigDict, Field

from conflictscore.benchmarks.harness.conflict_types import ConflictType
from conflictscore.benchmarks.harness.records import Verdict
from conflictscore.records import Answer, Attempt, Change, ConflictReport, Document, Usage


class StepValue(BaseModel):
    """The value of any step, as far as it is read here."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    notes: tuple[str, ...] = ()


class DocumentsValue(StepValue):
    """Of ``documents``."""

    documents: tuple[Document, ...]


class LoopValue(StepValue):
    """Of ``loop``."""

    attempts: tuple[Attempt, ...] = Field(min_length=1)
    changes: tuple[Change, ...] = ()
    regeneration_error: str | None = None
    first_usage: dict[str, Usage] | None = None
    """Cost of the first answer; None where the record does not say, as for ``check_usage``."""
    check_usage: dict[str, Usage] | None = None


class AnsweredValue(StepValue):
    """Of a step with one answer."""

    answer: Answer
    changes: tuple[Change, ...] = ()  # earlier versions recorded only what changed, as "flips"
    donor: str | None = None
    conflict_type: ConflictType | None = None


class MeaningValue(StepValue):
    """Of ``meaning``."""

    same: bool


class GradedValue(StepValue):
    """Of ``grade``."""

    verdicts: dict[str, Verdict]
    report: ConflictReport | None = None
