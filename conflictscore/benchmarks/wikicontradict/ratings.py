"""The three ratings of a run, counted back from two measures, and those that the paper reports."""

from itertools import accumulate

from conflictscore.benchmarks.harness.figures import Figures, Proportion
from conflictscore.benchmarks.paper_figures import PaperFigures
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

_MODELS = ("Mistral 7B", "Mixtral 8x7B", "Llama 2 70B", "Llama 3 70B", "GPT-4")
# by method and model, % of answers that people rated correct, partially correct and incorrect
_RATED = {
    "swapped-order": (
        (22.9, 72.9, 4.2),
        (14.6, 70.8, 14.6),
        (17.0, 80.9, 2.1),
        (54.2, 45.8, 0.0),
        (12.5, 81.3, 6.3),
    ),
    "asked-conflict": (
        (35.4, 14.6, 50.0),
        (4.2, 6.3, 72.9),
        (76.6, 17.0, 6.4),
        (77.1, 6.3, 14.6),
        (89.6, 2.1, 8.3),
    ),
    "agreeing-pair": (
        (87.5, 6.3, 6.3),
        (85.4, 4.2, 10.4),
        (87.2, 2.1, 10.6),
        (89.6, 2.1, 8.3),
        (87.5, 2.1, 10.4),
    ),
    "asked-agreeing": (
        (66.7, 4.2, 29.2),
        (83.3, 2.1, 2.1),
        (12.8, 23.4, 63.8),
        (47.9, 4.2, 45.8),
        (43.8, 14.6, 41.7),
    ),
}

PUBLISHED = {
    "free-form": PaperFigures(
        source="WikiContradict, supplement, B",
        model="GPT-4",
        questions=48,
        measures={
            method: {
                measure: round(share / 100, 3)
                for measure, share in zip(MEASURES, accumulate(rated[-1][:2]), strict=True)
            }
            for method, rated in _RATED.items()
        },
        note="rated by people; so many questions as the shares imply, and what agreed was other"
        " text there",
        tables=(
            Card(
                note="WikiContradict, supplement, B; rated by people. Not all columns there add up"
                " to 100",
                title="Correct / partially correct / incorrect by prompt template, %",
                columns=("model", *(_TEMPLATES[method] for method in _RATED)),
                rows=tuple(
                    (
                        model,
                        *(
                            " / ".join(f"{share:.1f}" for share in rated[place])
                            for rated in _RATED.values()
                        ),
                    )
                    for place, model in enumerate(_MODELS)
                ),
            ),
        ),
    )
}


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
