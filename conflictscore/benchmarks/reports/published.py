"""What the paper reports in Table 3."""

from conflictscore.benchmarks.paper_figures import PaperFigures

__all__ = ["PUBLISHED"]

PUBLISHED = {
    "free-form": PaperFigures(
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
    ),
}
