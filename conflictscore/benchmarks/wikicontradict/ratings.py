"""The three ratings of a run, counted back from the two measures that are made of them."""

from conflictscore.benchmarks.harness.figures import Figures, Proportion
from conflictscore.benchmarks.wikicontradict.judge import MEASURES
from conflictscore.reporting.plain_table import Card

__all__ = ["rating_tables"]

_TEMPLATES = ("no-documents", "first-document", "second-document", "rag", "control-rag")
"""The methods that ask by the paper's prompt templates 1 to 5."""


def rating_tables(figures: Figures) -> tuple[Card, ...]:
    """How answers were rated: the paper's templates by number, and then the other methods.

    Args:
        figures: The figures of a run; there is no table where it is of another benchmark.
    """
    if figures.measures != MEASURES:
        return ()
    rows: list[tuple[int, tuple[str, ...]]] = []
    for method in figures.methods:
        best, some = (method.measures.get(measure) for measure in MEASURES)
        if isinstance(best, Proportion) and isinstance(some, Proportion):
            counts = (best.count, some.count - best.count, some.n - some.count)
            shares = [f"{100 * count / some.n:.1f}" if some.n else "none" for count in counts]
            cells = [f"{share} ({count:,})" for share, count in zip(shares, counts, strict=True)]
            known = method.method in _TEMPLATES
            number = _TEMPLATES.index(method.method) + 1 if known else len(_TEMPLATES) + 1
            shown = str(number) if known else ""
            rows.append((number, (method.method, shown, *cells, f"{some.n:,}")))
    return (
        Card(
            title="Ratings",
            columns=("method", "template", "correct", "partially correct", "incorrect", "n"),
            rows=tuple(cells for _, cells in sorted(rows, key=lambda row: row[0])),
            note="% of judged answers, and how many; template: the paper's prompt template that the"
            " method asks by",
        ),
    )
