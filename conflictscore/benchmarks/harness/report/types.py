"""How well methods tell the type of a conflict, for a person at a terminal."""

from rich.console import Console
from rich.text import Text

from conflictscore.benchmarks.harness.figures import Figures, TypeAccuracy
from conflictscore.benchmarks.published import PaperFigures
from conflictscore.records import ConflictType
from conflictscore.reporting.figure_text import percent, span
from conflictscore.reporting.plain_table import add_row, aside, heading, plain_table

__all__ = ["print_types", "published_types", "told_types"]


def print_types(figures: Figures, paper: PaperFigures | None, console: Console) -> None:
    """Print accuracies with what stands in a paper, and a confusion matrix a method.

    Args:
        figures: The figures of a run; nothing is printed where it has none of types.
        paper: A paper's figures; None where there are none.
        console: Where to.
    """
    if not figures.types:
        return
    heading(console, "Types of conflict")
    table = plain_table("method", "%", "95 % interval", "right", "n", "no type told")
    for told in figures.types:
        value = told.accuracy
        add_row(
            table,
            told.method,
            percent(value.value),
            span(percent(value.low), percent(value.high)),
            f"{value.count:,}",
            f"{value.n:,}",
            f"{told.untold:,}",
        )
    console.print(table)
    if words := published_types(paper):
        aside(console, words)
    for told in figures.types:
        _print_confusion(told, console)


def published_types(paper: PaperFigures | None) -> str:
    """A paper's accuracies in one line; empty where it has none."""
    if paper is None or not paper.types:
        return ""
    models = ", ".join(f"{model} {percent(value)} %" for model, value in paper.types)
    return f"published: {models} ({paper.types_source})"


def told_types(told: TypeAccuracy) -> list[ConflictType]:
    """The types that a method told at least once, in their usual order."""
    counted = {kind for row in told.confusion.values() for kind, number in row.items() if number}
    return [kind for kind in ConflictType if kind in counted]


def _print_confusion(told: TypeAccuracy, console: Console) -> None:
    columns = told_types(told)
    if not columns:
        return
    names = (kind.replace("-", "-\n").replace("misinform", "misinform-\n") for kind in columns)
    table = plain_table("people's type", *names)
    for kind in ConflictType:
        if (row := told.confusion.get(kind)) is not None:
            add_row(table, kind.value, *(f"{row.get(column, 0):,}" for column in columns))
    console.print(Text(f"\n{told.method}: the type it told, by people's type"))
    console.print(table)
