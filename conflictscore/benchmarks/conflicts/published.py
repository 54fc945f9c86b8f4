"""The paper's figures: one of its models beside each method, and all in tables below."""

from conflictscore.benchmarks.conflicts.judges import BEHAVIOUR, GROUNDING, RECALL
from conflictscore.benchmarks.paper_figures import PaperFigures
from conflictscore.reporting.plain_table import Card

_STRATEGIES = ("rag", "pipeline", "taxonomy-aware", "oracle")
_STRATEGY_NAMES = tuple("vanilla" if method == "rag" else method for method in _STRATEGIES)

# by model, and by strategy: expected behaviour, answer recall, factual grounding
_TABLE_5 = {
    "Gemma 3 27B": ((59.4, 89.0, 94.4), (71.6, 89.9, 91.9), (76.2, 86.0, 92.9), (87.6, 88.6, 93.3)),
    "Qwen 2.5 72B": (
        (64.2, 87.7, 90.5),
        (67.5, 89.0, 88.2),
        (68.3, 88.2, 89.4),
        (90.6, 87.3, 89.3),
    ),
    "GPT-4o": ((67.2, 87.3, 91.2), (74.9, 87.3, 92.0), (70.0, 88.6, 94.0), (88.6, 87.3, 91.4)),
    "Gemini 2.0 Flash": (
        (62.0, 90.8, 98.5),
        (75.3, 89.5, 96.6),
        (69.4, 89.0, 96.8),
        (87.8, 90.4, 96.8),
    ),
    "Gemini 2.5 Flash": (
        (65.7, 92.1, 96.8),
        (75.1, 90.8, 96.9),
        (69.9, 94.3, 96.2),
        (88.0, 91.7, 96.8),
    ),
    "Gemini 2.5 Flash Thinking": (
        (68.3, 90.8, 96.2),
        (76.6, 89.0, 96.1),
        (73.6, 91.7, 97.0),
        (89.3, 89.9, 96.8),
    ),
}
_TABLE_6 = {
    "no conflict": (78.4, 74.7, 71.0, 90.1),
    "complementary": (83.3, 83.3, 78.1, 94.7),
    "outdated and misinformation": (74.2, 75.8, 78.8, 80.3),
    "conflicting opinions": (36.2, 73.3, 69.8, 87.9),
}

PUBLISHED = {
    "free-form": PaperFigures(
        source='"DRAGged into Conflicts", Table 5',
        model="GPT-4o",
        questions=458,
        measures={
            method: {
                measure: round(value / 100, 3)
                for measure, value in zip((BEHAVIOUR, RECALL, GROUNDING), values, strict=True)
            }
            for method, values in zip(_STRATEGIES, _TABLE_5["GPT-4o"], strict=True)
        },
        note="Gemini 2.5 Flash was the judge there; answer recall is over 228 of them",
        types=(
            ("Gemma 3 27B", 0.539),
            ("Qwen 2.5 72B", 0.531),
            ("GPT-4o", 0.592),
            ("Gemini 2.0 Flash", 0.605),
            ("Gemini 2.5 Flash", 0.653),
        ),
        types_source='"DRAGged into Conflicts", Table 4, 458 questions',
        tables=(
            Card(
                note='"DRAGged into Conflicts", Table 5',
                title="Expected behaviour by model, %",
                columns=("model", *_STRATEGY_NAMES),
                rows=tuple(
                    (model, *(f"{behaviour:.1f}" for behaviour, _, _ in by_strategy))
                    for model, by_strategy in _TABLE_5.items()
                ),
            ),
            Card(
                note='"DRAGged into Conflicts", Table 6, Gemini 2.5 Flash Thinking',
                title="Expected behaviour by type of conflict, %",
                columns=("type", *_STRATEGY_NAMES),
                rows=tuple(
                    (kind, *(f"{v:.1f}" for v in values)) for kind, values in _TABLE_6.items()
                ),
            ),
        ),
    )
}
