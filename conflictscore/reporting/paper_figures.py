"""What a paper reports for a benchmark, to stand beside a run's own figures.

TruthfulQA is of the ConflictScore paper: section 6, Tables 4 and 5, and the counts of section 6.4.
The answering model and the judge were gpt-4.1-mini, with ten documents of a Google search; the
paper gives no intervals and no p. The reports are of its Table 3. The others are in
``published_figures``.
"""

from conflictscore.reporting.paper_records import PaperFigures, PaperTransitions, PublishedTable
from conflictscore.reporting.published_figures import CONFLICTS, NATCONFQA

__all__ = ["PaperFigures", "PaperTransitions", "PublishedTable", "paper_figures"]

_FREE_FORM = PaperFigures(
    source="Table 4",
    model="gpt-4.1-mini",
    questions=779,
    measures={
        "rag": {"truthful": 0.787, "informative": 0.915},
        "control-rag": {"truthful": 0.816, "informative": 0.932},
        "regenerated-rag": {"truthful": 0.824, "informative": 0.932},
    },
    whose="the paper's",
)

_MULTIPLE_CHOICE = PaperFigures(
    source="Table 5 and section 6.4",
    model="gpt-4.1-mini",
    questions=779,
    measures={
        "rag": {"accuracy": 0.8421},
        "control-rag": {"accuracy": 0.8447},
        "regenerated-rag": {"accuracy": 0.8524},
    },
    transitions=PaperTransitions(
        conflict=248, retained=224, revised=24, corrections=16, harms=8, p_value=0.1516
    ),
    whose="the paper's",
)

_REPORTS = PaperFigures(
    source="Table 3",
    model="GPT-4.1",
    questions=100,
    measures={
        "rag": {"cs-c": 0.524, "cs-r": 0.152},
        "balanced": {"cs-c": 0.523, "cs-r": 0.152},
        "super-balanced": {"cs-c": 0.543, "cs-r": 0.172},
    },
    whose="the paper's",
    note="of ConflictingQA, on their main entities",
)

_BY_FORM = {
    ("truthfulqa", "free-form"): _FREE_FORM,
    ("truthfulqa", "multiple-choice"): _MULTIPLE_CHOICE,
    ("conflicts", "free-form"): CONFLICTS,
    ("natconfqa", "free-form"): NATCONFQA,
    ("reports", "free-form"): _REPORTS,
}


def paper_figures(benchmark: str, form: str) -> PaperFigures | None:
    """What a paper reports for a benchmark.

    Args:
        benchmark: The benchmark's name, as ``truthfulqa``.
        form: ``free-form`` or ``multiple-choice``.

    Returns:
        None where no paper has figures that can fairly stand beside a run's.
    """
    return _BY_FORM.get((benchmark, form))
