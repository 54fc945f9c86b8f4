"""The tables of a page that a terminal does not show: reviews and settings."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from conflictscore.benchmarks.harness.methods.registry import BASELINE
from conflictscore.benchmarks.harness.report.page.report_run import (
    AnswerVerdict,
    ChangeVerdict,
    ReportRun,
    Review,
)
from conflictscore.benchmarks.harness.statistics import cohen_kappa, krippendorff_alpha


@dataclass(frozen=True)
class ReviewerAgreement:
    """How far two reviewers agree on the flips that both reviewed."""

    reviewers: tuple[str, str]
    n: int
    same: int
    kappa: float | None
    """Cohen's, in [-1, 1]; None where there is nothing to agree on."""


@dataclass(frozen=True)
class ReviewTable:
    """Reviewers' verdicts on a run's flips, or on its unchanged answers."""

    run: str
    what: str
    """``flip`` or ``unchanged answer``."""
    total: int
    """How many of these there are."""
    reviewed: int
    verdicts: Mapping[str, int]
    """Reviews by their verdict."""
    alpha: float | None
    """Krippendorff's, of all reviewers; None where there is nothing to agree on."""
    pairs: tuple[ReviewerAgreement, ...]


def review_tables(run: ReportRun) -> list[ReviewTable]:
    """Reviewers' verdicts on a run: on its flips, and on its unchanged answers."""
    tables = []
    for what, flipped in (("flip", True), ("unchanged answer", False)):
        said = [
            annotation.reviews if (annotation := run.annotation(result, method)) else {}
            for result in run.results
            for method in result.methods
            if method != BASELINE and result.flipped(method) is flipped
        ]
        if any(said):
            tables.append(review_table(run.name, what, said))
    return tables


def review_table(
    run: str, what: str, said: Sequence[Mapping[str, Review]], *, paired: bool = True
) -> ReviewTable:
    """Verdicts counted, and how far reviewers agree."""
    reviewed = [reviews for reviews in said if reviews]
    reviewers = dict.fromkeys(who for reviews in reviewed for who in reviews if paired)
    return ReviewTable(
        run,
        what,
        total=len(said),
        reviewed=len(reviewed),
        verdicts=Counter(r.verdict.value for reviews in reviewed for r in reviews.values()),
        alpha=krippendorff_alpha([r.verdict for r in reviews.values()] for reviews in reviewed),
        pairs=tuple(_agreement(one, other, reviewed) for one, other in combinations(reviewers, 2)),
    )


def _agreement(one: str, other: str, reviewed: Sequence[Mapping[str, Review]]) -> ReviewerAgreement:
    both = [(r[one].verdict, r[other].verdict) for r in reviewed if one in r and other in r]
    first, second = [pair[0] for pair in both], [pair[1] for pair in both]
    return ReviewerAgreement(
        (one, other),
        len(both),
        sum(a is b for a, b in both),
        cohen_kappa(first, second, scale=(*ChangeVerdict, *AnswerVerdict)),
    )


def settings(runs: Sequence[ReportRun]) -> dict[str, list[str]]:
    """The entries of the manifests by run; empty where a run has no such entry."""
    flat = [dict(_flat("", run.manifest)) for run in runs]
    names = dict.fromkeys(name for entries in flat for name in entries)
    return {name: [entries.get(name, "") for entries in flat] for name in names}


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for key, part in value.items():
            yield from _flat(f"{name}.{key}" if name else str(key), part)
    elif isinstance(value, list | tuple) and not any(isinstance(p, Mapping | list) for p in value):
        yield name, ", ".join(map(str, value)) or "none"
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value, start=1):
            yield from _flat(f"{name}.{number}", part)
    else:
        yield name, "none" if value is None or value == {} else str(value)
