"""The content of a report's tables, with runs side by side."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from conflictscore.benchmarks.harness.figures import MethodFigures
from conflictscore.benchmarks.harness.methods.registry import BASELINE, METHODS
from conflictscore.benchmarks.harness.records import MethodResult
from conflictscore.benchmarks.harness.report.page.report_run import (
    AnswerVerdict,
    ChangeVerdict,
    ReportRun,
    Review,
)
from conflictscore.benchmarks.harness.statistics import cohen_kappa, krippendorff_alpha
from conflictscore.benchmarks.paper_figures import PaperFigures
from conflictscore.reporting.plain_table import Card


@dataclass(frozen=True)
class MeasureTable:
    """Methods by run, for one measure of one benchmark."""

    benchmark: str
    measure: str
    runs: tuple[ReportRun, ...]
    """The runs that can be compared by it."""
    paper: PaperFigures | None
    """None where no paper has a figure by the measure."""

    @property
    def methods(self) -> list[str]:
        """The methods of any of the runs, in their usual order."""
        known = {figures.method for run in self.runs for figures in run.figures.methods}
        return [method for method in METHODS if method in known]

    def figures(self, run: ReportRun, method: str) -> MethodFigures | None:
        """A cell; None where the run has no such method or measure."""
        return next(
            (
                figures
                for figures in run.figures.methods
                if figures.method == method and self.measure in figures.measures
            ),
            None,
        )

    @property
    def in_all(self) -> int:
        """How many questions all of the runs have."""
        return len(set.intersection(*self._questions()))

    @property
    def in_any(self) -> int:
        """How many questions at least one of the runs has."""
        return len(set.union(*self._questions()))

    def _questions(self) -> list[set[str]]:
        return [{result.question.id for result in run.results} for run in self.runs]

    @property
    def graded(self) -> bool:
        """Whether values are means of numbers rather than shares of right answers."""
        return any(run.figures.is_graded(self.measure) for run in self.runs)

    @property
    def falls(self) -> bool:
        """Whether less is better."""
        return any(run.figures.falls(self.measure) for run in self.runs)

    def reported(self, method: str) -> float | None:
        """The paper's figure, in [0, 1]."""
        return self.paper.value(method, self.measure) if self.paper else None


@dataclass(frozen=True)
class SettingRow:
    """One entry of the runs' manifests."""

    name: str
    values: tuple[str, ...]
    """By run; empty where a run has no such entry."""

    @property
    def differs(self) -> bool:
        """Whether the runs do not agree."""
        return len(set(self.values)) > 1


@dataclass(frozen=True)
class Failure:
    """An answer or a verdict that could not be had."""

    question: str
    method: str
    what: str
    """``answer``, or the measure that was to be judged."""
    error: str


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


def measure_tables(runs: Sequence[ReportRun]) -> list[MeasureTable]:
    """A table for each benchmark, form and measure, in the order of the runs."""
    groups: dict[tuple[str, str, str], list[ReportRun]] = {}
    for run in runs:
        for measure in run.figures.measures:
            groups.setdefault((run.benchmark, run.form, measure), []).append(run)
    return [
        MeasureTable(benchmark, measure, tuple(members), _told_of(measure, members[0].paper))
        for (benchmark, _, measure), members in groups.items()
    ]


def _told_of(measure: str, paper: PaperFigures | None) -> PaperFigures | None:
    """The paper, where it has a figure by this measure."""
    if paper is None or not any(measure in told for told in paper.measures.values()):
        return None
    return paper


def published_tables(runs: Sequence[ReportRun]) -> list[Card]:
    """The tables of the papers on what was run, each once."""
    return list(dict.fromkeys(table for run in runs if run.paper for table in run.paper.tables))


def failures(run: ReportRun) -> list[Failure]:
    """Every answer and verdict that could not be had, with the reason."""
    return [
        Failure(result.question.id, method, what, error)
        for result in run.results
        for method, ended in result.methods.items()
        for what, error in (
            ("answer", ended.error),
            *_unscored(run, method, ended),
            *((measure, verdict.error) for measure, verdict in ended.verdicts.items()),
        )
        if error is not None
    ]


def _unscored(run: ReportRun, method: str, ended: MethodResult) -> Iterator[tuple[str, str]]:
    """Why an answer of a live run has no scores; benchmarks count such answers as they are."""
    report = ended.report
    if not run.figures.measures and method == BASELINE and report and report.error:
        yield "scores", report.error


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
    """Verdicts counted, and how far reviewers agree.

    Args:
        run: The run's name.
        what: ``flip`` or ``unchanged answer``.
        said: For each of these its reviews by reviewer; empty where there are none.
        paired: Whether the agreement of each two reviewers is wanted.
    """
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


def settings(runs: Sequence[ReportRun]) -> list[SettingRow]:
    """The manifests, entry by entry."""
    flat = [dict(_flat("", run.manifest)) for run in runs]
    names = dict.fromkeys(name for entries in flat for name in entries)
    return [SettingRow(name, tuple(entries.get(name, "") for entries in flat)) for name in names]


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
