"""Correlates measures of answers with annotators' judgements of the same answers.

The measures are computed from the labels of the answers' claims.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field

from conflictscore.benchmarks.conflict_detection.measures import Judged
from conflictscore.benchmarks.harness.figures import Interval
from conflictscore.benchmarks.harness.group_bootstrap import Numbers
from conflictscore.benchmarks.validity.judged_answers import JudgedAnswer
from conflictscore.metric import conflict_report
from conflictscore.records import Claim, ClaimEvidence, EvidenceLabel, Label, Record

MEASURES: Mapping[str, int] = {
    "CS-C": -1,
    "CS-R": -1,
    "claims supported": 1,
    "claims contradicted": -1,
    "claims covered": 1,
    "words": 1,
}
"""The direction of each measure: 1 if better answers should have higher values, otherwise -1.

``claims covered`` is the share of claims that at least one document supports or contradicts.
``words`` is a control measure, which does not depend on the documents.
"""

_RESAMPLES = 500
"""The number of bootstrap samples for an interval.

The number is lower than elsewhere (2,000 and 9,999), since each sample ranks all answers again.
With fewer samples, the bounds are less exact: each bound is estimated from the dozen most extreme
samples.
"""
_LEAST_DEFINED = 0.95
"""The minimum share of bootstrap samples in which rho is defined.

Rho is undefined if all values on one side are equal. With too many samples without rho, the
interval would describe only the other samples. Chosen, not measured.
"""
_FEWEST = 4
"""The minimum number of answers for a rank correlation.

Among three values there are only six orders, so a correlation of 1 or -1 is likely by chance.
"""


class Tracked(Record):
    """The comparison of a measure with the annotators' judgement of the same answers."""

    measure: str
    expected: int
    """The expected direction, which is 1 or -1; see ``MEASURES``."""
    mean: float | None
    rho: Interval
    """Spearman's correlation with the annotators' judgement over the scored answers, in [-1, 1].

    The bounds of its interval are computed by resampling questions.
    """


class PartFigures(Record):
    """The figures for the answers to one prompt of a set, or for the whole set."""

    set: str
    part: str
    answers: Annotated[int, Field(ge=0)]
    """The number of all answers, with and without scores."""
    questions: Annotated[int, Field(ge=0)]
    """The number of questions that these answers belong to."""
    unscored: Annotated[int, Field(ge=0)]
    """The number of answers without scores.

    Either no claim of such an answer has a label, or too many of the judge's replies were unusable.
    Means and correlations omit these answers.
    """
    people_mean: float | None
    measures: tuple[Tracked, ...]


class ValidityFigures(Record):
    """All figures for a run."""

    labeler: str
    parts: tuple[PartFigures, ...]


class _Scored(NamedTuple):
    """An answer that annotators judged, and its measures, which are empty if it has no scores."""

    answer: JudgedAnswer
    measures: dict[str, float]


def labels_by_group(judged_groups: Sequence[Judged]) -> dict[str, tuple[EvidenceLabel, ...]]:
    """Return the labels of the claim in each group, by the id of the group."""
    return {judged_group.group.id: judged_group.labels for judged_group in judged_groups}


def track(
    name: str,
    answers: Sequence[JudgedAnswer],
    labels: Mapping[str, Sequence[EvidenceLabel]],
) -> Iterator[PartFigures]:
    """Compute the figures for each part of a set, and for the whole set if it has several parts."""
    scored_answers = [_Scored(answer, measures_of(answer, labels)) for answer in answers]
    parts = sorted({answer.part for answer in answers})
    for part in parts:
        yield _part(name, part, [answer for answer in scored_answers if answer.answer.part == part])
    if len(parts) > 1:
        yield _part(name, "all", scored_answers)


def measures_of(
    answer: JudgedAnswer, labels: Mapping[str, Sequence[EvidenceLabel]]
) -> dict[str, float]:
    """Compute the measures of an answer; an answer without scores has none.

    An answer has no scores if none of its claims has a label, or if too many of the judge's replies
    were unusable (see :func:`~conflictscore.metric.biased`).
    """
    claims = [
        ClaimEvidence(
            claim=Claim(number=number, text=group.claim),
            labels=tuple(label.model_copy(update={"claim": number}) for label in labels[group.id]),
        )
        for number, group in enumerate(answer.groups, start=1)
    ]
    labelled_claims = [
        claim
        for claim in claims
        if any(pair.label is not Label.UNLABELLED for pair in claim.labels)
    ]
    report = conflict_report(claims) if claims else None
    if report is None or report.cs_c is None or report.cs_r is None or not labelled_claims:
        return {}
    return {
        "CS-C": report.cs_c,
        "CS-R": report.cs_r,
        "claims supported": sum(bool(claim.supports) for claim in labelled_claims)
        / len(labelled_claims),
        "claims contradicted": sum(bool(claim.contradicts) for claim in labelled_claims)
        / len(labelled_claims),
        "claims covered": 1 - len(report.uncovered) / len(labelled_claims),
        "words": float(len(answer.text.split())),
    }


def _part(name: str, part: str, scored_answers: Sequence[_Scored]) -> PartFigures:
    usable = [scored_answer for scored_answer in scored_answers if scored_answer.measures]
    people = np.array([scored_answer.answer.people for scored_answer in usable])
    rows_by_question: dict[str, list[int]] = {}
    for row, scored_answer in enumerate(usable):
        rows_by_question.setdefault(scored_answer.answer.question, []).append(row)
    blocks = [np.array(rows) for rows in rows_by_question.values()]
    tracked_measures = []
    for measure, direction in MEASURES.items():
        levels = np.array([scored_answer.measures[measure] for scored_answer in usable])
        mean = float(levels.mean()) if len(levels) else None
        rho = _correlation(people, levels, blocks)
        tracked_measures.append(Tracked(measure=measure, expected=direction, mean=mean, rho=rho))
    return PartFigures(
        set=name,
        part=part,
        answers=len(scored_answers),
        questions=len({scored_answer.answer.question for scored_answer in scored_answers}),
        unscored=len(scored_answers) - len(usable),
        people_mean=float(people.mean()) if len(people) else None,
        measures=tuple(tracked_measures),
    )


def _correlation(people: Numbers, levels: Numbers, blocks: Sequence[Numbers]) -> Interval:
    """Compute Spearman's rho and its bootstrap interval, which resamples questions.

    The bounds are None if rho is undefined in too many bootstrap samples, or if rho is the same in
    all samples. Such samples say nothing about the error of rho.
    """
    n = len(people)
    rho = _spearman(people, levels)
    if rho is None:
        return Interval(value=None, n=n)
    random = np.random.default_rng(0)  # a fixed seed, so the same labels give the same interval
    rhos = []
    for _ in range(_RESAMPLES):
        rows = np.concatenate([blocks[i] for i in random.integers(len(blocks), size=len(blocks))])
        rhos.append(_spearman(people[rows], levels[rows]))
    defined_rhos = [rho for rho in rhos if rho is not None]
    if len(defined_rhos) < _LEAST_DEFINED * _RESAMPLES:
        return Interval(value=rho, n=n)
    low, high = map(float, np.percentile(defined_rhos, [2.5, 97.5]))
    if low == high:
        return Interval(value=rho, n=n)
    return Interval(value=rho, low=low, high=high, n=n)


def _spearman(people: Numbers, levels: Numbers) -> float | None:
    """Compute Spearman's rho; it is undefined, and None, if all values on one side are equal."""
    from scipy.stats import rankdata

    if len(people) < _FEWEST or np.ptp(people) == 0 or np.ptp(levels) == 0:
        return None
    return float(np.corrcoef(rankdata(people), rankdata(levels))[0, 1])
