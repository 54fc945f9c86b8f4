"""WikiContradict's three ratings, counted back from the two measures that are made of them."""

from collections.abc import Mapping
from typing import NamedTuple

from rich.console import Console

from conflictscore.benchmarks.harness.figures import Figures, Proportion
from conflictscore.benchmarks.wikicontradict.judge import MEASURES
from conflictscore.reporting.figure_text import percent
from conflictscore.reporting.plain_table import add_row, aside, heading, plain_table

__all__ = ["RatingRow", "print_ratings", "rating_rows"]

_TEMPLATES: Mapping[str, int] = {
    "no-documents": 1,
    "first-document": 2,
    "second-document": 3,
    "rag": 4,
    "control-rag": 5,
}
"""Which of the paper's prompt templates a method asks by."""


class RatingRow(NamedTuple):
    """How the answers of one method were rated."""

    method: str
    template: int | None
    """The number of the paper's prompt template, 1 to 5; None where it has none."""
    correct: int
    partially: int
    incorrect: int

    @property
    def n(self) -> int:
        """Answers with a rating."""
        return self.correct + self.partially + self.incorrect

    @property
    def cells(self) -> list[str]:
        """The shares with their counts, in the order of the fields."""
        counts = (self.correct, self.partially, self.incorrect)
        return [f"{percent(count / self.n if self.n else None)} ({count:,})" for count in counts]


def rating_rows(figures: Figures) -> list[RatingRow]:
    """A row a method: those of the paper's templates by number, and then the others.

    Args:
        figures: The figures of a run; there are no rows where it is of another benchmark.
    """
    if figures.measures != MEASURES:
        return []
    rows = []
    for method in figures.methods:
        best, some = (method.measures.get(measure) for measure in MEASURES)
        if isinstance(best, Proportion) and isinstance(some, Proportion):
            rows.append(
                RatingRow(
                    method.method,
                    _TEMPLATES.get(method.method),
                    correct=best.count,
                    partially=some.count - best.count,
                    incorrect=some.n - some.count,
                )
            )
    return sorted(rows, key=lambda row: row.template or len(_TEMPLATES) + 1)


def print_ratings(figures: Figures, console: Console) -> None:
    """Print the ratings by method; nothing where the run is of another benchmark.

    Args:
        figures: The figures of a run.
        console: Where to.
    """
    rows = rating_rows(figures)
    if not rows:
        return
    heading(console, "Ratings, % (answers)")
    names = ("correct", "partially correct", "incorrect")
    table = plain_table("method", "template", *names, "n")
    for row in rows:
        template = "" if row.template is None else f"{row.template}"
        add_row(table, row.method, template, *row.cells, f"{row.n:,}")
    console.print(table)
    aside(console, "template: the paper's prompt template that the method asks by")
