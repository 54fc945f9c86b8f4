"""Methods held against each other question by question, for a person at a terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from conflictscore.benchmarks.harness.figures import Figures, Paired
from conflictscore.benchmarks.harness.methods.registry import BASELINE
from conflictscore.benchmarks.harness.report.measures import change_words, is_graded
from conflictscore.benchmarks.published import PaperFigures
from conflictscore.reporting.figure_text import one_line, p_value, points, span
from conflictscore.reporting.plain_table import add_row, aside, heading, plain_table

__all__ = ["print_pairs"]

_YES_OR_NO = ("both\nright", "both\nwrong", "corrected", "harmed")


def print_pairs(figures: Figures, paper: PaperFigures | None, console: Console) -> None:
    """Print each method beside the baseline by each measure, and the second looks beside controls.

    Args:
        figures: The figures of a run.
        paper: A paper's figures, for a row below each method; None where it has none.
        console: Where to.
    """
    for measure in figures.measures:
        pairs = [pair for pair in figures.paired if pair.measure == measure]
        _print(f"Against {BASELINE}, question by question", figures, pairs, paper, console)
    for control in dict.fromkeys(pair.against for pair in figures.controls):
        pairs = [pair for pair in figures.controls if pair.against == control]
        _print(f"Against {control}, question by question", figures, pairs, None, console)


def _print(
    title: str,
    figures: Figures,
    pairs: Sequence[Paired],
    paper: PaperFigures | None,
    console: Console,
) -> None:
    """A table of pairs by the same measure."""
    if not pairs:
        return
    measure = pairs[0].measure
    graded = is_graded(figures, measure)
    counts = ("n", *change_words(figures, measure)) if graded else _YES_OR_NO
    table = plain_table("method", *counts, "p", "points", "95 % interval")
    for pair in pairs:
        add_row(
            table,
            pair.method,
            *_counts(pair, graded=graded),
            p_value(pair.p_value),
            points(pair.difference.value),
            span(points(pair.difference.low), points(pair.difference.high)),
        )
        reported = paper.difference(pair.method, measure) if paper else None
        if paper is not None and reported is not None:
            _paper_row(table, pair.method, reported, paper, before=len(counts) - 2)
    heading(console, f"{title}: {one_line(measure)}")
    console.print(table)
    test = "Wilcoxon signed-rank test with zeros by Pratt" if graded else "exact McNemar test"
    aside(console, f"p: {test}, two-sided; interval of the difference: bootstrap")


def _counts(pair: Paired, *, graded: bool) -> list[str]:
    changed = [f"{pair.corrected:,}", f"{pair.harmed:,}"]
    if graded:
        return [f"{pair.n:,}", *changed]
    return [*("" if n is None else f"{n:,}" for n in (pair.both_right, pair.both_wrong)), *changed]


def _paper_row(
    table: Table, method: str, reported: float, paper: PaperFigures, *, before: int
) -> None:
    """The counts are known for ``regenerated-rag`` in multiple choice alone.

    Args:
        table: Where to.
        method: The method of the row above.
        reported: The difference.
        paper: Where it is from.
        before: How many columns stand between the name and the two counts.
    """
    told = paper.transitions if method == "regenerated-rag" else None
    counts = ["", "", ""]
    if told is not None:
        counts = [f"{told.corrections}", f"{told.harms}", p_value(told.p_value)]
    add_row(table, "in the paper", *[""] * before, *counts, points(reported), "", style="dim")
