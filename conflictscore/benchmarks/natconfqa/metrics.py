"""Precision, recall and F1 of answers and of conflicts (paper, section 4.3, formulas 1 to 4).

What the paper leaves open is decided here:

- A fraction of nothing is undefined, and in no mean: the precision of an answer that gives no
  short answer, or sets none against another; the recall where there is nothing to find. The
  paper's Table 8 cannot have come about otherwise: Gemini 2.5 Pro, asked to be aware of conflicts,
  has a mean F1 of 100 beside a mean recall of 80.
- F1 is undefined where precision or recall is, and 0 where both are 0. So the mean F1 of conflicts
  is over the answers that name any: read it beside the recall.
- A question with a decision that could not be had has no value in that measure, and is counted.
"""

from typing import Annotated, Literal, NamedTuple, get_args

from pydantic import Field, model_validator

from conflictscore.records import Record

Measure = Literal[
    "answer_precision",
    "answer_recall",
    "answer_f1",
    "conflict_precision",
    "conflict_recall",
    "conflict_f1",
]
MEASURES: tuple[Measure, ...] = get_args(Measure)

_Natural = Annotated[int, Field(ge=0)]


class Count(Record):
    """So many decisions of a question, and how they fell."""

    hits: _Natural
    """Decisions that said yes."""
    n: _Natural
    """All decisions, made or not."""
    unjudged: _Natural = 0
    """Decisions that could not be had."""

    @model_validator(mode="after")
    def _parts_of_the_whole(self) -> "Count":
        if self.hits + self.unjudged > self.n:
            raise ValueError("there are more hits and unjudged decisions than decisions")
        return self


class Counts(Record):
    """Counts for formulas 1 to 4; None where it is not known what there is to decide."""

    answer_precision: Count | None
    answer_recall: Count | None
    conflict_precision: Count | None
    conflict_recall: Count | None


class MeasureValue(NamedTuple):
    """A measure of one question."""

    value: float | None
    """In [0, 1]; None where it is undefined or could not be judged."""
    unjudged: bool = False
    """Whether it has no value since a decision could not be had."""


def values(counts: Counts) -> dict[Measure, MeasureValue]:
    """The six measures of one question."""
    answer = _value(counts.answer_precision), _value(counts.answer_recall)
    conflict = _value(counts.conflict_precision), _value(counts.conflict_recall)
    return {
        "answer_precision": answer[0],
        "answer_recall": answer[1],
        "answer_f1": _f1(*answer),
        "conflict_precision": conflict[0],
        "conflict_recall": conflict[1],
        "conflict_f1": _f1(*conflict),
    }


def harmonic_mean(precision: float | None, recall: float | None) -> float | None:
    """F1, in [0, 1]: 0 where both are 0, None where one has no value."""
    if precision is None or recall is None:
        return None
    # Not 2pr / (p + r), which can underflow to 0, or exceed both by a rounding error.
    return 2 / (1 / precision + 1 / recall) if precision and recall else 0.0


def _value(count: Count | None) -> MeasureValue:
    if count is None or count.unjudged:
        return MeasureValue(None, unjudged=True)
    return MeasureValue(count.hits / count.n if count.n else None)


def _f1(precision: MeasureValue, recall: MeasureValue) -> MeasureValue:
    """Undefined where either is, whatever became of the other."""
    for part in (precision, recall):
        if part.value is None and not part.unjudged:
            return part
    return MeasureValue(
        harmonic_mean(precision.value, recall.value),
        unjudged=precision.unjudged or recall.unjudged,
    )
