"""Whether the score follows what people say of answers, beside plain rivals of the same labels."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from conflictscore.benchmarks.harness.figures import Interval, Proportion
from conflictscore.benchmarks.harness.statistics import (
    proportion,
)
from conflictscore.benchmarks.validity.judged_answers import FORMS, JudgedAnswer
from conflictscore.metric import conflict_report
from conflictscore.records import Claim, ClaimEvidence, EvidenceLabel, Label, Record

_Numbers = NDArray[Any]
_RESAMPLES = 999
_SAME = 1e-9
"""Values that only rounding errors tell apart are the same."""
_Count = Annotated[int, Field(ge=0)]

MEASURES: Mapping[str, int] = {
    "CS-C": -1,
    "CS-R": -1,
    "claims covered": 1,
    "claims supported": 1,
    "claims contradicted": -1,
    "whole-answer NLI": 1,
    "documents supporting": 1,
    "words": 1,
}
"""Measures made of an answer's labels, and whether a better answer should have more (1) or
less (-1). ``claims covered``: the share of claims that a document speaks to. ``whole-answer NLI``:
the mean over documents of the label of the answer as one claim, 1 for SUPPORTS and -1 for
CONTRADICTS, times the labeler's probability where it gives one. ``documents supporting``: the share
of documents that support one of the claims."""


ORDER = (
    ("attributed", "one-sided"),
    ("two-sided", "one-sided"),
    ("hedged", "one-sided"),
    ("attributed", "hedged"),
    ("two-sided", "hedged"),
    ("attributed", "side by side"),
    ("side by side", "one-sided"),
    ("attributed", "evasive"),
    ("two-sided", "evasive"),
)
"""Pairs of forms, of which a reader who wants to know of a conflict prefers the first."""

Labels = Mapping[str, Sequence[EvidenceLabel]]
"""The labels of each claim, by the id of its group."""


class Tracked(Record):
    """A measure beside people's value of the same answers."""

    measure: str
    expected: int
    """1 where a better answer should have more of it, -1 where less."""
    means: dict[str, Interval]
    """Its mean by people's value, worst first; bounds resample questions."""
    rho: Interval
    """Spearman's correlation with people's value, in [-1, 1]; bounds resample questions."""


class PartFigures(Record):
    """The measures over one part of a set."""

    set: str
    part: str
    answers: _Count
    questions: _Count
    measures: tuple[Tracked, ...]


class FormFigures(Record):
    """A form of made answers."""

    form: str
    means: dict[str, Interval]
    """The mean of each measure; bounds resample questions."""


class OrderFigures(Record):
    """Two forms of the same answer, of which a reader prefers the first."""

    better: str
    worse: str
    measure: str
    right: Proportion
    """Questions on which the measure prefers the first too."""
    same: _Count
    """Questions on which it does not tell them apart."""
    wrong: _Count
    """Questions on which it prefers the second."""


class MadeFigures(Record):
    """Made answers."""

    questions: _Count
    forms: tuple[FormFigures, ...]
    order: tuple[OrderFigures, ...]


def measures(answer: JudgedAnswer, labels: Labels) -> dict[str, float]:
    """All measures of one answer, those of :data:`MEASURES`; NaN where there is none.

    Args:
        answer: The answer.
        labels: The labels of all its groups.
    """
    claims = [
        ClaimEvidence(
            claim=Claim(number=number, text=group.claim),
            labels=tuple(one.model_copy(update={"claim": number}) for one in labels[group.id]),
        )
        for number, group in enumerate(answer.claims, start=1)
    ]
    report = conflict_report(claims)
    if report.cs_c is None or report.cs_r is None:
        return dict.fromkeys(MEASURES, float("nan"))
    known = [c for c in claims if any(p.label is not Label.UNLABELLED for p in c.labels)]
    whole = [one for one in labels[answer.whole.id] if one.label is not Label.UNLABELLED]
    sides = {Label.SUPPORTS: 1, Label.CONTRADICTS: -1}
    said = [sides.get(p.label, 0) * (1.0 if p.score is None else p.score) for p in whole]
    supporting = {number for claim in claims for number in claim.supports}
    figures = (
        report.cs_c,
        report.cs_r,
        1 - len(report.uncovered) / len(known),
        sum(bool(claim.supports) for claim in known) / len(known),
        sum(bool(claim.contradicts) for claim in known) / len(known),
        sum(said) / len(said) if said else float("nan"),
        len(supporting) / len(answer.documents),
        float(len(answer.text.split())),
    )
    return dict(zip(MEASURES, figures, strict=True))


def track(name: str, answers: Sequence[JudgedAnswer], labels: Labels) -> tuple[PartFigures, ...]:
    """The figures of each part of a set, and of all its answers together where there are several.

    Args:
        name: Of the set.
        answers: Answers with people's values.
        labels: Of all their groups.
    """
    scored = [(answer, measures(answer, labels)) for answer in answers]
    parts = sorted({answer.part for answer in answers})
    shown = [*parts, "all"] if len(parts) > 1 else parts
    return tuple(
        _part(name, part, [one for one in scored if part in (one[0].part, "all")]) for part in shown
    )


def made_figures(answers: Sequence[JudgedAnswer], labels: Labels) -> MadeFigures:
    """The measures of made answers by form, and whether they order forms as a reader would.

    Args:
        answers: Made answers, each question in all forms.
        labels: Of all their groups.
    """
    scored = {(a.part, a.question): measures(a, labels) for a in answers}
    questions = list(dict.fromkeys(answer.question for answer in answers))
    forms = []
    for form in FORMS:
        table = [[*scored[form, question].values()] for question in questions]
        means = {
            measure: bootstrapped_mean([row[at] for row in table])
            for at, measure in enumerate(MEASURES)
        }
        forms.append(FormFigures(form=form, means=means))
    order = []
    for better, worse in ORDER:
        for measure in ("CS-C", "CS-R", "documents supporting"):
            gains = [
                MEASURES[measure] * (scored[better, q][measure] - scored[worse, q][measure])
                for q in questions
            ]
            known = [gain for gain in gains if not np.isnan(gain)]
            right, same = sum(gain > 0 for gain in known), sum(gain == 0 for gain in known)
            order.append(
                OrderFigures(
                    better=better,
                    worse=worse,
                    measure=measure,
                    right=proportion(right, len(known)),
                    same=same,
                    wrong=len(known) - right - same,
                )
            )
    return MadeFigures(questions=len(questions), forms=tuple(forms), order=tuple(order))


def bootstrapped(
    blocks: Sequence[_Numbers], statistic: Callable[[_Numbers, _Numbers], _Numbers]
) -> Interval:
    """A statistic with its 95 % percentile bootstrap interval, which draws whole blocks.

    Args:
        blocks: For each question the rows of its answers; rows that hold a NaN are left out.
        statistic: Of all rows and how often each was drawn, of shape (resamples, rows): a number a
            resample, NaN where there is none.

    Returns:
        The interval, ``n`` being the rows; no bounds where more than 5 % of the resamples do not
        have the statistic, since the others would say too much, or where all have the same.
    """
    kept = [block[~np.isnan(block).any(axis=1)] for block in blocks]
    kept = [block for block in kept if len(block)]
    rows = sum(map(len, kept))
    if not rows:
        return Interval(value=None, n=0)
    n = len(kept)
    times = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=_RESAMPLES)
    times = np.vstack([np.ones(n), times]).repeat([len(block) for block in kept], axis=1)
    value, *others = map(float, statistic(np.concatenate(kept), times))
    if np.isnan(value):
        return Interval(value=None, n=rows)
    known = [one for one in others if not np.isnan(one)]
    if len(known) < 0.95 * _RESAMPLES or max(known) - min(known) < _SAME:
        return Interval(value=value, n=rows)
    low, high = map(float, np.percentile(known, [2.5, 97.5]))
    return Interval(value=value, low=low, high=high, n=rows)


def bootstrapped_mean(values: Sequence[float]) -> Interval:
    """The mean of values, one a question, without those that are NaN; see :func:`bootstrapped`."""
    return bootstrapped([np.array([[value]]) for value in values], _mean)


def _part(
    name: str, part: str, scored: Sequence[tuple[JudgedAnswer, Mapping[str, float]]]
) -> PartFigures:
    questions = sorted({answer.question for answer, _ in scored})
    levels = sorted({answer.value for answer, _ in scored if answer.value is not None})
    tracked = []
    for measure, expected in MEASURES.items():
        blocks = [
            np.array([[a.value, found[measure]] for a, found in scored if a.question == question])
            for question in questions
        ]
        means = {
            f"{level:g}": bootstrapped([b[b[:, 0] == level][:, 1:] for b in blocks], _mean)
            for level in levels
        }
        rho = bootstrapped(blocks, _spearman)
        tracked.append(Tracked(measure=measure, expected=expected, means=means, rho=rho))
    return PartFigures(
        set=name,
        part=part,
        answers=len(scored),
        questions=len(questions),
        measures=tuple(tracked),
    )


def _mean(rows: _Numbers, times: _Numbers) -> _Numbers:
    found: _Numbers = times @ rows[:, 0] / times.sum(axis=1)
    return found


def _spearman(rows: _Numbers, times: _Numbers) -> _Numbers:
    """Spearman's rho of two columns; NaN where one of them is constant."""
    n = times.sum(axis=1, keepdims=True)
    centred = []
    for column in rows.T:
        values, place = np.unique(column, return_inverse=True)
        same = times @ (place[:, None] == np.arange(len(values)))
        ranks = (same.cumsum(axis=1) - (same - 1) / 2)[:, place]
        centred.append(ranks - (times * ranks).sum(axis=1, keepdims=True) / n)
    one, other = centred
    spread = np.sqrt((times * one**2).sum(axis=1) * (times * other**2).sum(axis=1))
    found = np.full(len(times), np.nan)
    np.divide((times * one * other).sum(axis=1), spread, out=found, where=spread > _SAME)
    return found
