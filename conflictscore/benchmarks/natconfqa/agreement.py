"""Compares the judge with annotators, by correlating their measures (appendix G, Table 7)."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Annotated

from pydantic import Field

from conflictscore.benchmarks.harness.figures import Interval, Proportion
from conflictscore.benchmarks.harness.records import Verdict
from conflictscore.benchmarks.harness.statistics import mean_interval, proportion
from conflictscore.benchmarks.judge_agreement import cohen_kappa
from conflictscore.benchmarks.judging import Judge
from conflictscore.benchmarks.natconfqa.judges import Judgement, judge_natconfqa
from conflictscore.benchmarks.natconfqa.metrics import verdicts_of
from conflictscore.benchmarks.natconfqa.people import JudgedByPeople
from conflictscore.records import Record
from conflictscore.reporting.figure_text import one_line, percent, points
from conflictscore.reporting.plain_table import Card
from conflictscore.threads import at_once

_PUBLISHED = {
    "answers recall": 0.6645,
    "answers precision": 0.6221,
    "conflicts recall": 0.6744,
    "conflicts precision": 0.6371,
}
"""The paper's correlations (Table 7), by measure."""
_AWARE, _NORMAL = "ContradictAware", "Normal"
"""The names of the two prompts with which the published answers were generated."""
_FEWEST = 4
"""The minimum number of points for a correlation.

Three points are too few. If three points are uncorrelated, |r| still exceeds .9 in 29 % of draws.
"""

_Natural = Annotated[int, Field(ge=0)]


class Correlation(Record):
    """How well the judge's values of a measure agree with the annotators' values.

    Each answer has two values of the measure: one is computed from the judge's decisions, and the
    other from the annotators' decisions.
    """

    n: _Natural
    """The number of answers that have both values; the other figures are based on these answers."""
    left_out: _Natural
    """The number of answers for which a value is undefined or a decision is missing."""
    people_mean: float | None
    judge_mean: float | None
    bias: Interval = Interval(value=None)
    """The judge's value minus the annotators' value, averaged over answers."""
    people_difference: Interval = Interval(value=None)
    """The annotators' value for ``ContradictAware`` minus their value for ``Normal``, averaged."""
    judge_difference: Interval = Interval(value=None)
    """The judge's value for ``ContradictAware`` minus its value for ``Normal``, averaged."""
    pearson: float | None
    """Pearson's correlation r, in [-1, 1].

    None if there are fewer than 4 answers, if all annotators' values are equal, or if all values of
    the judge are equal.
    """
    p_value: float | None


class DecisionAgreement(Record):
    """The agreement of annotators and the judge on single yes-or-no decisions."""

    decisions: _Natural
    undecided: _Natural
    """The number of decisions that the judge failed to make.

    Missing decisions are included in ``decisions``, but in no other figure.
    """
    agreement: Proportion
    kappa: float | None
    people_yes: Proportion
    judge_yes: Proportion


class JudgeAgreement(Record):
    """The comparison of a judge with annotators."""

    answers: _Natural
    failures: dict[str, tuple[str, ...]]
    """The reasons why the judge failed to make decisions, by answer."""
    measures: dict[str, Correlation]
    decisions: dict[str, DecisionAgreement]
    """The agreement on whether the answer gives ``reference answers`` and ``reference conflicts``.

    Only recall is based on these decisions. The decisions behind precision cannot be compared,
    since annotators and the judge split an answer in different ways.
    """


async def check_judge(
    people: Sequence[JudgedByPeople],
    judge: Judge,
    on_answer: Callable[[str | None, str], object],
) -> JudgeAgreement:
    """Have a model judge the answers that annotators judged, and compare the decisions.

    After each answer, ``on_answer`` is called with the errors, or None, and the id of the answer.
    """

    async def judged(row: JudgedByPeople) -> Judgement:
        ours = await judge_natconfqa(row.question, row.answer, judge)
        on_answer("; ".join(ours.errors) or None, row.id)
        return ours

    return agreement(people, await at_once([partial(judged, row) for row in people]))


def agreement(people: Sequence[JudgedByPeople], judgements: Sequence[Judgement]) -> JudgeAgreement:
    """Correlate the measures over all answers, and compare the decisions behind recall.

    The paper correlates "labels". This function correlates measures, since annotators and the judge
    split an answer in different ways: only their decisions behind recall are about the same things.
    """
    pairs = list(zip(people, judgements, strict=True))
    ours = [verdicts_of(row.question, judgement) for row, judgement in pairs]
    theirs = [row.verdicts for row in people]
    return JudgeAgreement(
        answers=len(pairs),
        failures={row.id: judgement.errors for row, judgement in pairs if judgement.errors},
        measures={
            m: _correlation(people, _values(theirs, m), _values(ours, m)) for m in _PUBLISHED
        },
        decisions={
            "reference answers": _decisions(
                [row.references for row in people],
                [judgement.references for judgement in judgements],
            ),
            "reference conflicts": _decisions(
                [row.reference_conflicts for row in people],
                [judgement.reference_conflicts for judgement in judgements],
            ),
        },
    )


def _decisions(
    people: Sequence[Sequence[bool]], judge: Sequence[Sequence[Verdict]]
) -> DecisionAgreement:
    pairs = [
        (theirs, ours.value)
        for by_people, by_judge in zip(people, judge, strict=True)
        if len(by_people) == len(by_judge)  # people's decisions are () if they cannot be counted
        for theirs, ours in zip(by_people, by_judge, strict=True)
    ]
    both = [(theirs, bool(ours)) for theirs, ours in pairs if ours is not None]
    names = [("yes" if theirs else "no", "yes" if ours else "no") for theirs, ours in both]
    return DecisionAgreement(
        decisions=len(pairs),
        undecided=len(pairs) - len(both),
        agreement=proportion(sum(theirs == ours for theirs, ours in both), len(both)),
        kappa=cohen_kappa([t for t, _ in names], [o for _, o in names], ("no", "yes")),
        people_yes=proportion(sum(theirs for theirs, _ in both), len(both)),
        judge_yes=proportion(sum(ours for _, ours in both), len(both)),
    )


def _values(answers: Sequence[Mapping[str, Verdict]], measure: str) -> list[float | None]:
    return [verdicts[measure].value if measure in verdicts else None for verdicts in answers]


def agreement_card(figures: JudgeAgreement, judge: str) -> Card:
    """Build a table of the correlations, next to the paper's."""
    return Card(
        title=f"NatConfQA's judge compared with people: {one_line(judge)}",
        columns=(
            "measure",
            "n",
            "left out",
            "people %",
            "judge %",
            "bias",
            "aware: people",
            "aware: judge",
            "Pearson's r",
            "p",
            "paper r",
        ),
        rows=tuple(
            (
                measure,
                str(row.n),
                str(row.left_out),
                percent(row.people_mean),
                percent(row.judge_mean),
                points(row.bias.value),
                points(row.people_difference.value),
                points(row.judge_difference.value),
                "-" if row.pearson is None else f"{row.pearson:.3f}",
                "-" if row.p_value is None else f"{row.p_value:.2g}",
                f"{_PUBLISHED[measure]:.3f}",
            )
            for measure, row in figures.measures.items()
        ),
        note=f"{figures.answers} answers; paper: Table 7, o4-mini on 120 answers\n"
        "left out: answers for which the measure is undefined, or for which the judge or the"
        " annotators left a decision open\n"
        "bias: the judge's figure minus that of people, in points; aware: the effect of the"
        " conflict-aware prompt, in points",
        after=tuple(f"{answer}: {'; '.join(why)}" for answer, why in figures.failures.items()),
    )


def decisions_card(figures: JudgeAgreement) -> Card:
    """Build a table that compares the single decisions of the judge and of annotators."""
    return Card(
        title="Single decisions: does the reply contain the answer or the conflict?",
        columns=("decision", "n", "undecided", "agree %", "kappa", "people yes %", "judge yes %"),
        rows=tuple(
            (
                name,
                str(row.decisions - row.undecided),
                str(row.undecided),
                percent(row.agreement.value),
                "-" if row.kappa is None else f"{row.kappa:.3f}",
                percent(row.people_yes.value),
                percent(row.judge_yes.value),
            )
            for name, row in figures.decisions.items()
        ),
    )


def _correlation(
    rows: Sequence[JudgedByPeople],
    people: Sequence[float | None],
    judge: Sequence[float | None],
) -> Correlation:
    both = [(x, y) for x, y in zip(people, judge, strict=True) if x is not None and y is not None]
    theirs, ours = ([pair[side] for pair in both] for side in (0, 1))
    pearson, p_value = correlation(theirs, ours) or (None, None)
    return Correlation(
        n=len(both),
        left_out=len(people) - len(both),
        people_mean=fmean(theirs) if theirs else None,
        judge_mean=fmean(ours) if ours else None,
        bias=mean_interval([y - x for x, y in both]),
        people_difference=_aware_difference(rows, people, judge, side=0),
        judge_difference=_aware_difference(rows, people, judge, side=1),
        pearson=pearson,
        p_value=p_value,
    )


def _aware_difference(
    rows: Sequence[JudgedByPeople],
    people: Sequence[float | None],
    judge: Sequence[float | None],
    *,
    side: int,
) -> Interval:
    """Compute the effect of the conflict-aware prompt.

    Values are the annotators' if ``side`` is 0, and the judge's if ``side`` is 1.
    """
    shares_by_answer: dict[tuple[str, str], dict[str, float]] = {}
    for row, by_people, by_judge in zip(rows, people, judge, strict=True):
        if by_people is not None and by_judge is not None:
            of_prompt = shares_by_answer.setdefault((row.question.id, row.model), {})
            of_prompt[row.prompt] = by_people if side == 0 else by_judge
    return mean_interval(
        [
            by_prompt[_AWARE] - by_prompt[_NORMAL]
            for by_prompt in shares_by_answer.values()
            if {_AWARE, _NORMAL} <= by_prompt.keys()
        ]
    )


def correlation(people: Sequence[float], judge: Sequence[float]) -> tuple[float, float] | None:
    """Compute Pearson's r and its two-sided p-value.

    Returns None if there are too few points, or if all values on one side are equal.
    """
    if len(people) < _FEWEST or len(set(people)) == 1 or len(set(judge)) == 1:
        return None
    from scipy.stats import pearsonr

    pearson = pearsonr(people, judge)
    # a rounding error can take r beyond its bounds
    return min(1.0, max(-1.0, float(pearson.statistic))), float(pearson.pvalue)
