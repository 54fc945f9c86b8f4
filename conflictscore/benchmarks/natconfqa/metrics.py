"""Precision, recall and F1 of answers and of conflicts (paper, section 4.3, formulas 1 to 4).

What the paper leaves open is decided here:

- A fraction of nothing is undefined, and in no mean: the precision of an answer that gives no
  short answer, or sets none against another; the recall where there is nothing to find. The
  paper's Table 8 cannot have come about otherwise: Gemini 2.5 Pro, asked to be aware of conflicts,
  has a mean F1 of 100 beside a mean recall of 80.
- F1 is undefined where precision or recall is, and 0 where both are 0. So the mean F1 of conflicts
  is over the answers that name any: read it beside the recall, or take the pooled one, which a
  model cannot raise by saying nothing.
- A question with a decision that could not be had has no value in that measure, and is counted.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NamedTuple, get_args

from pydantic import Field, model_validator

from conflictscore.benchmarks.harness.figures import Interval, Proportion
from conflictscore.benchmarks.harness.statistics import mean_interval, proportion
from conflictscore.benchmarks.natconfqa.data import Subset
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

GROUPS: Mapping[str, frozenset[Subset]] = {
    "conflict": frozenset({Subset.YES_NO, Subset.WH_ALL, Subset.WH_MIX}),
    **{subset.value: frozenset({subset}) for subset in Subset},
}
"""Groups that figures are given for: ``conflict`` (Table 1) and each subset (Tables 2, 6)."""

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


class MeasureFigures(Record):
    """A measure over the questions of a group."""

    macro: Interval
    """The mean over questions, as in the paper, with its 95 % bootstrap interval."""
    micro: float | None
    """From all decisions pooled, in [0, 1]; of F1, from pooled precision and recall."""
    decisions: Proportion | None
    """The pooled decisions, with a Wilson interval that takes them as independent; None of F1."""
    undefined: _Natural
    """Questions on which the measure has no value by its nature."""
    unjudged: _Natural
    """Questions on which a decision could not be had."""


class GroupFigures(Record):
    """All measures over the questions of a group."""

    questions: _Natural
    measures: dict[Measure, MeasureFigures]


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


def group_figures(rows: Sequence[tuple[Subset, Counts]]) -> dict[str, GroupFigures]:
    """The figures of every group that has a question, in the order of :data:`GROUPS`.

    Args:
        rows: The subset and the counts of each question, in any order.
    """
    groups = {
        name: [counts for subset, counts in rows if subset in subsets]
        for name, subsets in GROUPS.items()
    }
    return {name: _figures(counts) for name, counts in groups.items() if counts}


def _figures(rows: Sequence[Counts]) -> GroupFigures:
    by_question = [values(counts) for counts in rows]
    pooled: dict[Measure, Proportion] = {
        "answer_precision": _pooled([counts.answer_precision for counts in rows]),
        "answer_recall": _pooled([counts.answer_recall for counts in rows]),
        "conflict_precision": _pooled([counts.conflict_precision for counts in rows]),
        "conflict_recall": _pooled([counts.conflict_recall for counts in rows]),
    }
    micro: dict[Measure, float | None] = {name: given.value for name, given in pooled.items()}
    micro["answer_f1"] = harmonic_mean(micro["answer_precision"], micro["answer_recall"])
    micro["conflict_f1"] = harmonic_mean(micro["conflict_precision"], micro["conflict_recall"])
    figures: dict[Measure, MeasureFigures] = {}
    for measure in MEASURES:
        mine = [question[measure] for question in by_question]
        known = [given.value for given in mine if given.value is not None]
        unjudged = sum(given.unjudged for given in mine)
        figures[measure] = MeasureFigures(
            macro=mean_interval(known),
            micro=micro[measure],
            decisions=pooled.get(measure),
            undefined=len(mine) - len(known) - unjudged,
            unjudged=unjudged,
        )
    return GroupFigures(questions=len(rows), measures=figures)


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


def _pooled(counts: Sequence[Count | None]) -> Proportion:
    whole = [count for count in counts if count is not None and not count.unjudged]
    return proportion(sum(count.hits for count in whole), sum(count.n for count in whole))
