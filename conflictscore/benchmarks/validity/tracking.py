"""How measures of answers, made of the labels of their claims, go with people's judgement."""

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
"""Measures of an answer, and whether a better one should have more (1) or less (-1). ``claims
covered``: the share that some document speaks to. ``words`` is a rival that reads no document."""

_RESAMPLES = 500
_FEWEST = 4
"""Answers below which a rank correlation says nothing."""


class Tracked(Record):
    """A measure beside people's judgement of the same answers."""

    measure: str
    expected: int
    """1 where a better answer should have more of it, -1 where less."""
    mean: float | None
    rho: Interval
    """Spearman's correlation with people's judgement, in [-1, 1]; bounds resample questions."""


class PartFigures(Record):
    """The measures over the answers to one prompt of a set, or over all of it."""

    set: str
    part: str
    answers: Annotated[int, Field(ge=0)]
    questions: Annotated[int, Field(ge=0)]
    unscored: Annotated[int, Field(ge=0)]
    """Answers without a single labelled claim; in no figure."""
    people_mean: float | None
    measures: tuple[Tracked, ...]


class ValidityFigures(Record):
    """All figures of a run."""

    labeler: str
    parts: tuple[PartFigures, ...]


class _Scored(NamedTuple):
    answer: JudgedAnswer
    measures: dict[str, float]


def labels_by_group(judged: Sequence[Judged]) -> dict[str, tuple[EvidenceLabel, ...]]:
    """The labels of each claim, by the id of its group."""
    return {one.group.id: one.labels for one in judged}


def track(
    name: str,
    answers: Sequence[JudgedAnswer],
    labels: Mapping[str, Sequence[EvidenceLabel]],
) -> Iterator[PartFigures]:
    """The figures of each part of a set, and of all its answers where there are several parts."""
    scored = [_Scored(one, measures_of(one, labels)) for one in answers]
    parts = sorted({one.part for one in answers})
    for part in parts:
        yield _part(name, part, [one for one in scored if one.answer.part == part])
    if len(parts) > 1:
        yield _part(name, "all", scored)


def measures_of(
    answer: JudgedAnswer, labels: Mapping[str, Sequence[EvidenceLabel]]
) -> dict[str, float]:
    """The measures of one answer; empty where none of its claims has a label."""
    claims = [
        ClaimEvidence(
            claim=Claim(number=number, text=group.claim),
            labels=tuple(label.model_copy(update={"claim": number}) for label in labels[group.id]),
        )
        for number, group in enumerate(answer.groups, start=1)
    ]
    labelled = [
        one for one in claims if any(pair.label is not Label.UNLABELLED for pair in one.labels)
    ]
    report = conflict_report(claims) if claims else None
    if report is None or report.cs_c is None or report.cs_r is None or not labelled:
        return {}
    return {
        "CS-C": report.cs_c,
        "CS-R": report.cs_r,
        "claims supported": sum(bool(one.supports) for one in labelled) / len(labelled),
        "claims contradicted": sum(bool(one.contradicts) for one in labelled) / len(labelled),
        "claims covered": 1 - len(report.uncovered) / len(labelled),
        "words": float(len(answer.text.split())),
    }


def _part(name: str, part: str, scored: Sequence[_Scored]) -> PartFigures:
    usable = [one for one in scored if one.measures]
    people = np.array([one.answer.people for one in usable])
    rows_by_question: dict[str, list[int]] = {}
    for row, one in enumerate(usable):
        rows_by_question.setdefault(one.answer.question, []).append(row)
    blocks = [np.array(rows) for rows in rows_by_question.values()]
    tracked = []
    for measure, expected in MEASURES.items():
        values = np.array([one.measures[measure] for one in usable])
        mean = float(values.mean()) if len(values) else None
        rho = _correlation(people, values, blocks)
        tracked.append(Tracked(measure=measure, expected=expected, mean=mean, rho=rho))
    return PartFigures(
        set=name,
        part=part,
        answers=len(scored),
        questions=len(blocks),
        unscored=len(scored) - len(usable),
        people_mean=float(people.mean()) if len(people) else None,
        measures=tuple(tracked),
    )


def _correlation(people: Numbers, values: Numbers, blocks: Sequence[Numbers]) -> Interval:
    """Spearman's rho; no bounds where over 5 % of the resamples of questions have none."""
    n = len(people)
    rho = _spearman(people, values)
    if rho is None:
        return Interval(value=None, n=n)
    random = np.random.default_rng(0)
    resampled = []
    for _ in range(_RESAMPLES):
        rows = np.concatenate([blocks[i] for i in random.integers(len(blocks), size=len(blocks))])
        resampled.append(_spearman(people[rows], values[rows]))
    defined = [one for one in resampled if one is not None]
    if len(defined) < 0.95 * _RESAMPLES:
        return Interval(value=rho, n=n)
    low, high = map(float, np.percentile(defined, [2.5, 97.5]))
    return Interval(value=rho, low=low, high=high, n=n)


def _spearman(people: Numbers, values: Numbers) -> float | None:
    from scipy.stats import rankdata

    if len(people) < _FEWEST or np.ptp(people) == 0 or np.ptp(values) == 0:
        return None
    return float(np.corrcoef(rankdata(people), rankdata(values))[0, 1])
