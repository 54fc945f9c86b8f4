"""The figures of a benchmark run for a person at a terminal of 80 to 100 columns.

Names of models, categories and errors are untrusted text: no markup, no control characters.
"""

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from conflictscore.benchmarks.harness.figures import Figures, Interval, Proportion, Transitions
from conflictscore.benchmarks.harness.methods.registry import method_of
from conflictscore.benchmarks.harness.records import QuestionResult
from conflictscore.benchmarks.harness.report.categories import print_categories
from conflictscore.benchmarks.harness.report.cost import print_cost, print_failures
from conflictscore.benchmarks.harness.report.findings import findings
from conflictscore.benchmarks.harness.report.measures import change_words, falls, is_graded
from conflictscore.benchmarks.harness.report.pairs import print_pairs
from conflictscore.benchmarks.harness.report.types import print_types
from conflictscore.benchmarks.published import (
    BenchmarkTable,
    PaperFigures,
    PaperTransitions,
    own_tables,
)
from conflictscore.reporting.figure_text import counted, one_line, percent, published, span
from conflictscore.reporting.plain_table import add_row, aside, heading, plain_table

__all__ = ["print_figures"]

_OUTCOMES: tuple[tuple[str, Callable[[PaperTransitions], tuple[int, int]]], ...] = (
    ("retained", lambda paper: (paper.retained, paper.conflict)),
    ("revised", lambda paper: (paper.revised, paper.conflict)),
    ("corrections", lambda paper: (paper.corrections, paper.revised)),
    ("harms", lambda paper: (paper.harms, paper.revised)),
    ("neutral", lambda paper: (paper.revised - paper.corrections - paper.harms, paper.revised)),
    ("harms_of_conflict", lambda paper: (paper.harms, paper.conflict)),
)
"""Rows of the transitions, and the paper's count and total of each."""


def print_figures(
    figures: Figures,
    console: Console,
    *,
    title: str,
    paper: PaperFigures | None,
    results: Sequence[QuestionResult] = (),
    verbose: bool = False,
) -> None:
    """Print all figures of a run, and what they can and cannot show.

    Args:
        figures: The figures.
        console: Where to.
        title: What was run.
        paper: A paper's figures for the same form, to stand beside; None where it has none.
        results: The questions, for the reasons of failures; without them only their count shows.
        verbose: Also the categories where they are many, the cost of each step, a paper's tables,
            and what became of answers with conflict under the methods that do not look at it.
    """
    console.print(Text(f"\n{one_line(title)}", style="bold underline"))
    ended = f"{figures.ended:,} of {counted(figures.questions, 'question')} ended"
    console.print(Text(f"{ended}, {figures.failed:,} failed for at least one method"))
    for measure in figures.measures:
        _print_measure(figures, measure, paper, console)
    _print_claims(figures, console)
    for own in own_tables(figures):
        _print_table(own, own.title, console, free_text=False)
    print_pairs(figures, paper, console)
    _print_transitions(figures, paper, console, verbose=verbose)
    print_types(figures, paper, console)
    print_categories(figures, console, verbose=verbose)
    if verbose:
        for given in paper.tables if paper else ():
            _print_table(given, f"In the paper: {given.title}", console, free_text=True)
    _print_scores(figures, console)
    print_failures(results, console)
    changes = change_words(figures, figures.measures[0])
    print_cost(figures.cost, console, verbose=verbose, changes=changes)
    if sentences := findings(figures, paper):
        heading(console, "What this can and cannot show")
        table = Table.grid(padding=(0, 1))
        for sentence in sentences:
            add_row(table, "-", sentence)
        console.print(table)


def _print_measure(
    figures: Figures, measure: str, paper: PaperFigures | None, console: Console
) -> None:
    shown = [method for method in figures.methods if measure in method.measures]
    failed = any(method.failed for method in shown)
    unjudged = any(method.unjudged.get(measure, 0) for method in shown)
    beside = paper is not None and any(
        paper.value(method.method, measure) is not None for method in shown
    )
    extra = [
        *(["failed"] if failed else []),
        *(["unjudged"] if unjudged else []),
        *(["paper %"] if beside else []),
    ]
    graded = is_graded(figures, measure)
    columns = ["mean %", "95 % interval"] if graded else ["%", "95 % interval", "right"]
    table = plain_table("method", *columns, "n", *extra)
    for method in shown:
        value = method.measures[measure]
        cells = [method.method, *_estimate(value)]
        if isinstance(value, Proportion):
            cells.append(f"{value.count:,}")
        cells.append(f"{value.n:,}")
        if failed:
            cells.append(f"{method.failed:,}")
        if unjudged:
            cells.append(f"{method.unjudged.get(measure, 0):,}")
        if paper is not None and beside:
            reported = paper.value(method.method, measure)
            cells.append("" if reported is None else published(reported))
        add_row(table, *cells)
    heading(console, one_line(measure).capitalize())
    console.print(table)
    if graded:
        best = "; 0 is best" if falls(figures, measure) else ""
        aside(console, f"mean of the values from 0 to 100 %, with a bootstrap interval{best}")
    if paper is not None and beside:
        source = f"{paper.source}, {paper.model}, {counted(paper.questions, 'question')}"
        aside(console, " ".join([f"paper: {source}", *([f"({paper.note})"] if paper.note else [])]))


def _print_claims(figures: Figures, console: Console) -> None:
    if not figures.claims:
        return
    table = plain_table("method", "claims", "labelled %", "n")
    for one in figures.claims:
        mean = "none" if one.claims.value is None else f"{one.claims.value:.1f}"
        add_row(table, one.method, mean, percent(one.coverage.value), f"{one.claims.n:,}")
    heading(console, "Claims of an answer")
    console.print(table)
    aside(console, "means over answers that were taken apart; labelled: of pairs with a document")


def _print_transitions(
    figures: Figures, paper: PaperFigures | None, console: Console, *, verbose: bool
) -> None:
    shown = [
        moved for moved in figures.transitions if verbose or method_of(moved.method).looks_again
    ]
    if shown:
        heading(console, "Answers with conflict")
    for moved in shown:
        told = None
        if paper is not None and moved.method == "regenerated-rag":
            told = paper.transitions
        table = plain_table("", "count", "of", "%", "95 % interval", *(["paper"] if told else []))
        for name, reported in _OUTCOMES:
            value: Proportion = getattr(moved, name)
            if name == "neutral" and value.count == 0:
                continue
            cells = [_outcome(name, moved, figures), f"{value.count:,}", f"{value.n:,}"]
            cells += _estimate(value)
            if told is not None:
                count, of = reported(told)
                cells.append(f"{count} of {of}, {percent(count / of)} %")
            add_row(table, *cells)
        lost = [
            f"{number:,} {what}"
            for number, what in ((moved.failed, "failed"), (moved.unjudged, "revised but unjudged"))
            if number
        ]
        conflict = counted(moved.conflict, "first answer") + " with conflict"
        console.print(Text(f"\n{moved.method}: {', '.join([conflict, *lost])}"))
        console.print(table)


def _outcome(name: str, moved: Transitions, figures: Figures) -> str:
    names = {}
    if is_graded(figures, moved.measure):
        better, worse = change_words(figures, moved.measure)
        names = {"corrections": better, "harms": worse, "harms_of_conflict": f"{worse} of all"}
    return names.get(name, name.replace("_", " "))


def _print_table(given: BenchmarkTable, title: str, console: Console, *, free_text: bool) -> None:
    table = plain_table(*given.columns, free_text=free_text)
    for row in given.rows:
        add_row(table, *row)
    heading(console, title)
    console.print(table)
    aside(console, given.note)


def _print_scores(figures: Figures, console: Console) -> None:
    heading(console, "ConflictScore (0 is best)")
    table = plain_table("method", "", "all answers", "n", "before", "after", "n")
    for scores in figures.scores:
        for name, overall, before, after in (
            ("CS-C", scores.cs_c, scores.cs_c_before, scores.cs_c_after),
            ("CS-R", scores.cs_r, scores.cs_r_before, scores.cs_r_after),
        ):
            add_row(
                table,
                scores.method if name == "CS-C" else "",
                name,
                _mean(overall),
                f"{overall.n:,}",
                _mean(before),
                _mean(after),
                f"{after.n:,}",
            )
    if figures.scores:
        console.print(table)
        aside(console, "before and after: the answers that were regenerated, over the same ones")
    console.print(Text(f"coverage of the first answers: {_coverage(figures.coverage)}"))


def _coverage(covered: Interval) -> str:
    if covered.value is None:
        return "none has a score"
    bounds = span(percent(covered.low), percent(covered.high))
    known = "" if covered.low is None else f"{bounds}, "
    answers = counted(covered.n, "answer")
    return f"{percent(covered.value)} % of their pairs were labelled ({known}{answers})"


def _estimate(value: Proportion | Interval) -> list[str]:
    return [percent(value.value), span(percent(value.low), percent(value.high))]


def _mean(value: Interval) -> str:
    if value.value is None:
        return "none"
    if value.low is None or value.high is None:
        return f"{value.value:.2f}"
    return f"{value.value:.2f} ({value.low:.2f}-{value.high:.2f})"
