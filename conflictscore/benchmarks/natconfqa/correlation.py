"""How well a judge's figures follow people's (paper, appendix G, Table 7)."""

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from pydantic import Field

from conflictscore.benchmarks.harness.figures import Proportion
from conflictscore.benchmarks.harness.statistics import accuracy, cohen_kappa, require_statistics
from conflictscore.benchmarks.natconfqa.judging import Judgement
from conflictscore.benchmarks.natconfqa.metrics import Measure, values
from conflictscore.benchmarks.natconfqa.people import JudgedByPeople
from conflictscore.records import Record

__all__ = [
    "Coefficient",
    "Correlation",
    "DecisionAgreement",
    "JudgeAgreement",
    "agreement",
    "correlation",
]

_CHECKED: tuple[Measure, ...] = (
    "answer_recall",
    "answer_precision",
    "conflict_recall",
    "conflict_precision",
)
_FEWEST = 3
"""Two points lie on a line whatever they are."""

_Natural = Annotated[int, Field(ge=0)]


class Coefficient(Record):
    """A coefficient of correlation, with the p of the test that there is none (two-sided)."""

    value: float
    """In [-1, 1]."""
    p_value: float


class Correlation(Record):
    """A measure by the judge beside the same by people, answer by answer."""

    n: _Natural
    """Answers with a value on both sides; the rest of the figures is of these."""
    undefined: _Natural
    """Answers on which the measure has no value for one of them, such as a precision of conflicts
    where it saw none."""
    unjudged: _Natural
    """Answers on which a decision of the judge could not be had."""
    uncounted: _Natural
    """Answers on which people's decisions cannot be counted."""
    people_mean: float | None
    judge_mean: float | None
    pearson: Coefficient | None
    """None where there are fewer than 3 answers, or one side gives all of them the same value."""
    spearman: Coefficient | None
    kendall: Coefficient | None
    """Tau-b."""


class DecisionAgreement(Record):
    """Decisions that people and judge made on the very same thing."""

    agreement: Proportion
    cohen_kappa: float | None
    """In [-1, 1]; 0 is what chance would give."""


class JudgeAgreement(Record):
    """A judge beside people."""

    answers: _Natural
    with_failures: _Natural
    """Answers of which at least one decision of the judge could not be had."""
    measures: dict[Measure, Correlation]
    references: DecisionAgreement
    """Is this reference answer in the answer? One decision a reference answer."""
    reference_conflicts: DecisionAgreement
    """Does the answer tell of this conflict? One decision a conflict of the question."""


class _Sides(NamedTuple):
    people: list[float]
    judge: list[float]


def agreement(people: Sequence[JudgedByPeople], judged: Sequence[Judgement]) -> JudgeAgreement:
    """Compare a judge with people.

    The paper says no more than that it correlates "labels" of the judge with those of people. Here
    it is the measures of each answer, since the two take an answer apart in their own ways and only
    the recalls consist of decisions on the same things; those are compared one by one as well.

    Args:
        people: People's decisions.
        judged: The judge's on the same answers, in the same order.

    Raises:
        ConfigurationError: The extra [bench] is not installed.
    """
    pairs = list(zip(people, judged, strict=True))
    references = [
        (index in row.references_found, verdict.value)
        for row, ours in pairs
        if row.references_found is not None
        for index, verdict in enumerate(ours.references)
    ]
    conflicts = [
        (pair in row.conflicts_found, verdict.value)
        for row, ours in pairs
        for pair, verdict in zip(row.question.conflicts, ours.reference_conflicts, strict=True)
    ]
    return JudgeAgreement(
        answers=len(pairs),
        with_failures=sum(bool(ours.errors) for ours in judged),
        measures={measure: _correlation(measure, pairs) for measure in _CHECKED},
        references=_decisions(references),
        reference_conflicts=_decisions(conflicts),
    )


def correlation(
    people: Sequence[float], judge: Sequence[float]
) -> tuple[Coefficient | None, Coefficient | None, Coefficient | None]:
    """Pearson's r, Spearman's rho and Kendall's tau-b, or None for each where there is none.

    Args:
        people: One value an answer.
        judge: As many, of the same answers.
    """
    if len(people) < _FEWEST or len(set(people)) == 1 or len(set(judge)) == 1:
        return None, None, None
    require_statistics()
    from scipy.stats import kendalltau, pearsonr, spearmanr

    pearson, spearman, kendall = (
        Coefficient(
            value=min(1.0, max(-1.0, float(result.statistic))), p_value=float(result.pvalue)
        )
        for result in (test(people, judge) for test in (pearsonr, spearmanr, kendalltau))
    )
    return pearson, spearman, kendall


def _correlation(
    measure: Measure, pairs: Sequence[tuple[JudgedByPeople, Judgement]]
) -> Correlation:
    sides, undefined, unjudged, uncounted = _Sides([], []), 0, 0, 0
    for row, ours in pairs:
        theirs, mine = values(row.counts)[measure], values(ours.counts)[measure]
        if theirs.value is not None and mine.value is not None:
            sides.people.append(theirs.value)
            sides.judge.append(mine.value)
        elif theirs.unjudged:
            uncounted += 1
        elif mine.unjudged:
            unjudged += 1
        else:
            undefined += 1
    pearson, spearman, kendall = correlation(*sides)
    return Correlation(
        n=len(sides.people),
        undefined=undefined,
        unjudged=unjudged,
        uncounted=uncounted,
        people_mean=_mean(sides.people),
        judge_mean=_mean(sides.judge),
        pearson=pearson,
        spearman=spearman,
        kendall=kendall,
    )


def _decisions(decisions: Sequence[tuple[bool, bool | float | None]]) -> DecisionAgreement:
    made = [(theirs, bool(ours)) for theirs, ours in decisions if ours is not None]
    labels, verdicts = [theirs for theirs, _ in made], [ours for _, ours in made]
    return DecisionAgreement(
        agreement=accuracy(labels, verdicts), cohen_kappa=cohen_kappa(labels, verdicts)
    )


def _mean(numbers: Sequence[float]) -> float | None:
    return sum(numbers) / len(numbers) if numbers else None
