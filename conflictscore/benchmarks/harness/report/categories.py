"""The measures of a run by category, for a person at a terminal."""

from collections.abc import Iterator
from textwrap import fill

from rich.console import Console

from conflictscore.benchmarks.harness.figures import (
    CategoryFigures,
    Figures,
    Interval,
    Proportion,
)
from conflictscore.benchmarks.harness.report.measures import is_graded
from conflictscore.reporting.figure_text import one_line, percent
from conflictscore.reporting.plain_table import add_row, heading, plain_table

__all__ = ["print_categories"]

_FEW = range(2, 7)
"""So many categories stand side by side, and are shown without being asked for."""
_NAME_WIDTH = 11


def print_categories(figures: Figures, console: Console, *, verbose: bool) -> None:
    """Print a table a measure.

    A few categories, such as types of conflict, are columns beside the methods' names; many are
    rows, and shown in verbose only.

    Args:
        figures: The figures of a run.
        console: Where to.
        verbose: Whether all is shown.
    """
    few = len(figures.categories) in _FEW
    if not figures.categories or not (few or verbose):
        return
    for measure in figures.measures:
        graded = is_graded(figures, measure)
        what = "mean % (n)" if graded else "% (n)" if few else "right of judged"
        heading(console, f"By category: {one_line(measure)}, {what}")
        (_print_few if few else _print_many)(figures, measure, console)


def _print_few(figures: Figures, measure: str, console: Console) -> None:
    table = plain_table("method", *map(_column, figures.categories))
    for method in figures.methods:
        values = (
            category.measures.get(method.method, {}).get(measure) for category in figures.categories
        )
        add_row(table, method.method, *map(_with_n, values))
    console.print(table)


def _column(category: CategoryFigures) -> str:
    """The name in lines, so narrow that the five types of conflict fit 80 characters."""
    words = (part for word in _name(category).split() for part in _cut(word))
    return fill(" ".join(words), _NAME_WIDTH, break_on_hyphens=False)


def _cut(word: str) -> Iterator[str]:
    if len(word) <= _NAME_WIDTH:
        yield word
        return
    for part in word.split("-"):
        rest = part
        while len(rest) > _NAME_WIDTH:
            yield f"{rest[: _NAME_WIDTH - 2]}-"
            rest = rest[_NAME_WIDTH - 2 :]
        yield rest


def _print_many(figures: Figures, measure: str, console: Console) -> None:
    methods = [method.method for method in figures.methods]
    names = (method.replace("-", "-\n") for method in methods)
    table = plain_table("category", "n", *names, free_text=True)
    for category in figures.categories:
        values = (category.measures.get(method, {}).get(measure) for method in methods)
        add_row(table, _name(category), f"{category.questions:,}", *map(_brief, values))
    console.print(table)


def _name(category: CategoryFigures) -> str:
    return one_line(category.category) or "(none)"


def _brief(value: Proportion | Interval | None) -> str:
    return f"{value.count}/{value.n}" if isinstance(value, Proportion) else _with_n(value)


def _with_n(value: Proportion | Interval | None) -> str:
    return "" if value is None else f"{percent(value.value)} ({value.n:,})"
