"""The paper's figures of Table 3, by its anonymous ACL submission."""

from conflictscore.benchmarks.paper_figures import PaperFigures
from conflictscore.reporting.plain_table import Card

_METHODS = ("rag", "balanced", "super-balanced")
_TABLE_3 = {
    "GPT-4.1": ((0.5238, 0.1517), (0.5230, 0.1516), (0.5430, 0.1715)),
    "GPT-4.1-Nano": ((0.5654, 0.1656), (0.5315, 0.1530), (0.5673, 0.1715)),
}
"""By model, and by method: CS-C and CS-R."""
_MEASURES = {
    model: {
        method: {"cs-c": cs_c, "cs-r": cs_r}
        for method, (cs_c, cs_r) in zip(_METHODS, rows, strict=True)
    }
    for model, rows in _TABLE_3.items()
}

PUBLISHED = {
    "free-form": PaperFigures(
        source="Table 3 of the ACL submission",
        model="GPT-4.1",
        questions=100,
        measures=_MEASURES["GPT-4.1"],
        smaller={"GPT-4.1-Nano": _MEASURES["GPT-4.1-Nano"]},
        whose="the paper's",
        note="of ConflictingQA, on their main entities",
        tables=(
            Card(
                note="Table 3 of the ACL submission",
                title="CS-C and CS-R by model, %",
                columns=("model", *_METHODS),
                rows=tuple(
                    (model, *(f"{100 * c:.1f}, {100 * r:.1f}" for c, r in rows))
                    for model, rows in _TABLE_3.items()
                ),
            ),
        ),
    ),
}
