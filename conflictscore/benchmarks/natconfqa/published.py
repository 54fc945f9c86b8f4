"""The paper's figures: one of its models beside each method, and all in a table below."""

from conflictscore.benchmarks.paper_figures import PaperFigures
from conflictscore.reporting.plain_table import Card

# by model: F1 of answers and of conflicts by default, and what conflict-aware prompting adds
_TABLE_1 = {
    "gpt-4o": (67.5, 6.0, 67.2, 12.5),
    "Gemini 2.0 Flash": (73.8, 0.7, 66.4, 7.3),
    "DeepSeek-V3": (71.8, 4.5, 75.8, 1.4),
    "Qwen-2.5-72B": (69.3, 3.0, 72.2, 4.8),
    "o3": (77.0, 3.5, 81.2, 6.9),
    "Gemini 2.5 pro": (75.6, 3.3, 77.2, 3.0),
    "DeepSeek-R1": (64.6, 0.7, 66.9, 3.4),
    "Qwen-3-235B": (62.8, -0.8, 69.8, 0.8),
}

PUBLISHED = {
    "free-form": PaperFigures(
        source="NatConfQA, Table 1",
        model="gpt-4o",
        questions=269,
        measures={
            "rag": {
                "answers precision": 0.924,
                "answers recall": 0.593,
                "answers f1": 0.675,
                "conflicts precision": 0.854,
                "conflicts recall": 0.378,
                "conflicts f1": 0.672,
            },
            "control-rag": {
                "answers precision": 0.946,
                "answers recall": 0.66,
                "answers f1": 0.735,
                "conflicts precision": 0.832,
                "conflicts recall": 0.654,
                "conflicts f1": 0.797,
            },
        },
        note="o4-mini was the judge there",
        tables=(
            Card(
                note="NatConfQA, Table 1",
                title="F1 by model on questions with conflict, default to conflict-aware, %",
                columns=("model", "answers", "conflicts"),
                rows=tuple(
                    (model, *(f"{old:.1f} to {old + more:.1f}" for old, more in ((a, b), (c, d))))
                    for model, (a, b, c, d) in _TABLE_1.items()
                ),
            ),
            Card(
                note="NatConfQA, section 5.3: told by a person of the 80 wrong among 160 answers of"
                " four models by default prompting",
                title="Types of error, % of wrong answers",
                columns=("chooses", "generalizes", "resolves", "refrains"),
                rows=(("42", "17", "13", "5"),),
            ),
            Card(
                note="NatConfQA, Table 2, mean of eight models with 90 % intervals",
                title="Recall of conflicts by kind of question, %",
                columns=("prompt", "yes/no", "wh, all conflict", "wh, mixed"),
                rows=(
                    ("default", "54.5 ± 2.2", "53.1 ± 3.6", "46.0 ± 5.7"),
                    ("conflict-aware", "71.3 ± 2.0", "72.9 ± 3.2", "53.3 ± 5.6"),
                ),
            ),
        ),
    )
}

# by model: precision, recall and F1 of answers by default, and what conflict-aware prompting adds
_TABLE_6 = {
    "gpt-4o": ((98.6, 95.6, 95.9), (-1.4, 0.7, -0.1)),
    "DeepSeek-V3": ((96.9, 95.5, 95.6), (-1.1, 0.1, -1.0)),
    "o3": ((98.3, 97.2, 97.5), (-1.5, 0.0, -1.2)),
    "DeepSeek-R1": ((97.6, 89.7, 90.7), (-1.3, -4.2, -5.5)),
}
_ANSWERS = ("answers precision", "answers recall", "answers f1")


def _answers(model: str, *, aware: bool) -> dict[str, float]:
    """A model's row in Table 6, by measure, in [0, 1]."""
    default, more = _TABLE_6[model]
    values = [old + added * aware for old, added in zip(default, more, strict=True)]
    return {name: round(v / 100, 3) for name, v in zip(_ANSWERS, values, strict=True)}


WITHOUT_CONFLICT = {
    "free-form": PaperFigures(
        source="NatConfQA, Table 6",
        model="gpt-4o",
        questions=408,
        measures={
            "rag": _answers("gpt-4o", aware=False),
            "control-rag": _answers("gpt-4o", aware=True),
        },
        note="o4-mini was the judge there",
        tables=(
            Card(
                note="NatConfQA, Table 6",
                title="Answers of questions without conflict, default to conflict-aware, %",
                columns=("model", "precision", "recall", "F1"),
                rows=tuple(
                    (
                        model,
                        *(
                            f"{old:.1f} to {old + more:.1f}"
                            for old, more in zip(*both, strict=True)
                        ),
                    )
                    for model, both in _TABLE_6.items()
                ),
            ),
        ),
    )
}
