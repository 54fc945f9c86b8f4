"""The geometry of the charts: marks on tracks from 0 to 100 %, drawn by ``charts.html.j2``."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from conflictscore.benchmarks.harness.figures import Interval, Proportion, Transitions
from conflictscore.benchmarks.harness.methods.registry import BASELINE
from conflictscore.benchmarks.harness.report.page.report_run import ReportRun
from conflictscore.benchmarks.harness.report.page.tables import MeasureTable
from conflictscore.reporting.figure_text import percent, span

_MOST_ROWS = 12
"""How many categories are shown before they are folded away."""


@dataclass(frozen=True)
class Mark:
    """Something drawn on a track."""

    shape: Literal["bar", "range", "dot", "ring", "diamond"]
    start: float
    """In percent of the track."""
    end: float
    """The same; equal to ``start`` where the mark is a point."""
    tone: str
    """The name of its colour."""


@dataclass(frozen=True)
class Track:
    """A track with what it is called and what it says, in words."""

    label: str
    value: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Chart:
    """Tracks one above the other."""

    title: str
    summary: str
    """How to read it."""
    rows: tuple[Track, ...]
    unit: Literal["%", ""] = "%"
    """The unit of the ticks at 0, a half and 1."""
    long: bool = False
    """Whether it is folded away at first."""
    legend: tuple[str, ...] = ()
    """The tones that need a word."""


def measure_chart(table: MeasureTable) -> Chart:
    """Each method's share or mean with its interval, and the paper's where it has one."""
    rows = []
    for method in table.methods:
        for run in table.runs:
            figures = table.figures(run, method)
            if figures is None:
                continue
            value = figures.measures[table.measure]
            label = f"{method} · {run.name}" if len(table.runs) > 1 else method
            marks = [*estimate_marks(value)]
            words = f"{percent_words(value.value)}, n {value.n:,}"
            if (reported := table.reported(method)) is not None:
                marks.append(Mark("diamond", 100 * reported, 100 * reported, "paper"))
                words += f" (paper {percent_words(reported)})"
            rows.append(Track(label, words, tuple(marks)))
    paper = " The diamond is the paper's figure." if table.paper else ""
    drawn = (
        "the mean over judged answers, the line its bootstrap 95 % interval"
        if table.graded
        else "the share of judged answers, the line its Wilson 95 % interval"
    )
    return Chart(
        f"{table.measure.capitalize()} by method",
        f"The dot is {drawn}{'; 0 is best' if table.falls else ''}.{paper}",
        tuple(rows),
    )


def split_chart(runs: Sequence[ReportRun]) -> Chart:
    """Outcomes of the answers with conflict, as one stacked bar a method."""
    rows = []
    graded = any(run.figures.is_graded(run.first_measure) for run in runs)
    for run in runs:
        for moved in run.figures.transitions:
            label = f"{moved.method} · {run.name}" if len(runs) > 1 else moved.method
            rows.append(_stacked(label, list(_parts(moved))))
    for source, told in {r.paper.source: r.paper.transitions for r in runs if r.paper}.items():
        if told is not None:
            parts = [
                ("retained", told.retained),
                ("corrected", told.corrections),
                ("harmed", told.harms),
            ]
            rows.append(_stacked(f"the paper's regenerated-rag ({source})", parts))
    return Chart(
        "Outcomes of answers with conflict",
        "Each bar is all first answers with evidence on both sides that the method answered: kept, "
        "then changed from wrong to right, from right to wrong, or neither."
        + (" By a graded measure, corrected is better and harmed is worse." if graded else ""),
        tuple(rows),
        legend=("retained", "corrected", "harmed", "neutral", "unjudged"),
    )


def score_chart(run: ReportRun) -> Chart:
    """CS-C and CS-R before and after, over the answers that were regenerated."""
    rows = []
    for scores in run.figures.scores:
        if scores.cs_c_before.n:
            for name, before, after in (
                ("CS-C", scores.cs_c_before, scores.cs_c_after),
                ("CS-R", scores.cs_r_before, scores.cs_r_after),
            ):
                for when, value in (("before", before), ("after", after)):
                    words = f"{_two(value.value)}{_bounds(value)}, n {value.n:,}"
                    label = f"{scores.method}: {name} {when}"
                    rows.append(Track(label, words, tuple(estimate_marks(value))))
    return Chart(
        "ConflictScore before and after",
        "Means over the answers that were asked for again, with bootstrap 95 % intervals; "
        "0 is no conflict.",
        tuple(rows),
        unit="",
    )


def category_chart(run: ReportRun, method: str) -> Chart:
    """The baseline and one method by category."""
    rows = []
    measure = run.first_measure
    what = "means" if run.figures.is_graded(measure) else "right answers of judged ones"
    for category in run.figures.categories:
        before = category.measures.get(BASELINE, {}).get(measure)
        after = category.measures.get(method, {}).get(measure)
        known = [
            (shape, value)
            for shape, value in (("ring", before), ("dot", after))
            if value is not None and value.value is not None
        ]
        if not known:
            continue
        at = [100 * (value.value or 0.0) for _, value in known]
        alike = len({value.n for _, value in known}) == 1
        better = (at[-1] < at[0]) is run.falls
        tone = "plain" if at[0] == at[-1] or not alike else "good" if better else "bad"
        marks = [Mark("range", min(at), max(at), tone)] if len(at) > 1 else []
        marks += [
            Mark("ring" if shape == "ring" else "dot", x, x, tone)
            for (shape, _), x in zip(known, at, strict=True)
        ]
        words = " → ".join(_of_category(value) for _, value in known)
        rows.append(Track(category.category or "(no category)", words, tuple(marks)))
    return Chart(
        f"{measure.capitalize()} by category",
        f"The ring is {BASELINE}, the dot {method}; the numbers are {what}, "
        "before and after. Better and worse are coloured where both are of as many.",
        tuple(rows),
        long=len(rows) > _MOST_ROWS,
    )


def _of_category(value: Proportion | Interval) -> str:
    if isinstance(value, Proportion):
        return f"{value.count}/{value.n}"
    return f"{percent_words(value.value)}, n {value.n:,}"


def _parts(moved: Transitions) -> Iterator[tuple[str, int]]:
    yield "retained", moved.retained.count
    yield "corrected", moved.corrections.count
    yield "harmed", moved.harms.count
    yield "neutral", moved.neutral.count
    yield "unjudged", moved.unjudged


def _stacked(label: str, parts: Sequence[tuple[str, int]]) -> Track:
    total = sum(count for _, count in parts)
    marks, done = [], 0
    for tone, count in parts:
        if count:
            marks.append(Mark("bar", 100 * done / total, 100 * (done + count) / total, tone))
        done += count
    words = ", ".join(f"{count:,} {tone}" for tone, count in parts if count)
    return Track(label, words or "no answer with conflict", tuple(marks))


def estimate_marks(value: Proportion | Interval) -> Iterator[Mark]:
    """A dot, and its interval where there is one."""
    if value.low is not None and value.high is not None:
        yield Mark("range", 100 * value.low, 100 * value.high, "plain")
    if value.value is not None:
        yield Mark("dot", 100 * value.value, 100 * value.value, "plain")


def percent_words(value: float | None) -> str:
    """A share in percent; ``none`` where there is none."""
    return percent(value) if value is None else f"{percent(value)} %"


def _two(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"


def _bounds(value: Interval) -> str:
    return "" if value.low is None else f" ({span(_two(value.low), _two(value.high))})"
