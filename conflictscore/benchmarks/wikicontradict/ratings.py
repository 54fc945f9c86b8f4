"""The three ratings of a run, counted back from two measures."""

from conflictscore.benchmarks.harness.figures import Figures, Proportion
from conflictscore.benchmarks.wikicontradict.judge import MEASURES
from conflictscore.reporting.plain_table import Card

_TEMPLATES = {
    "no-documents": "1",
    "first-document": "2",
    "second-document": "3",
    "rag": "4",
    "control-rag": "5",
    "swapped-order": "5.1",
    "asked-conflict": "5.2",
    "agreeing-pair": "5.3",
    "asked-agreeing": "5.4",
}
"""The methods that ask by the paper's prompt templates, with their numbers."""


def rating_tables(figures: Figures) -> tuple[Card, ...]:
    """How answers were rated: the paper's templates by number, and then the other methods.

    Args:
        figures: The figures of a run; there is no table where it is of another benchmark.
    """
    if figures.measures != MEASURES:
        return ()
    rows: list[tuple[str, tuple[str, ...]]] = []
    for method in figures.methods:
        best, some = (method.measures.get(measure) for measure in MEASURES)
        if isinstance(best, Proportion) and isinstance(some, Proportion):
            counts = (best.count, some.count - best.count, some.n - some.count)
            shares = [f"{100 * count / some.n:.1f}" if some.n else "none" for count in counts]
            cells = [f"{share} ({count:,})" for share, count in zip(shares, counts, strict=True)]
            number = _TEMPLATES.get(method.method, "")
            rows.append((number or "9", (method.method, number, *cells, f"{some.n:,}")))
    return (
        Card(
            title="Ratings",
            columns=("method", "template", "correct", "partially correct", "incorrect", "n"),
            rows=tuple(cells for _, cells in sorted(rows, key=lambda row: row[0])),
            note="% of judged answers, and how many; template: the paper's prompt template that the"
            " method asks by",
        ),
    )
