from collections.abc import Sequence
from typing import Any

from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup, GroupDocument
from conflictscore.benchmarks.conflict_detection.measures import Judged
from conflictscore.records import EvidenceLabel, Label

S, C, N, U = Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT, Label.UNLABELLED


def claim_group(
    name: str = "1",
    gold: Sequence[Label | None] = (S, C),
    *,
    set_name: str = "lamps",
    conflict: bool | None = None,
) -> ClaimGroup:
    return ClaimGroup(
        set=set_name,
        id=name,
        claim=f"The lamp of pier {name} was lit in 1871.",
        documents=tuple(
            GroupDocument(text=f"Document {number} of {name}.", label=label)
            for number, label in enumerate(gold, start=1)
        ),
        has_conflict={S, C} <= set(gold) if conflict is None else conflict,
    )


def verdict(number: int, label: Label) -> EvidenceLabel:
    error = "the judge failed" if label is U else None
    return EvidenceLabel(claim=1, document=number, label=label, error=error)


def judged(group: ClaimGroup, given: Sequence[Label]) -> Judged:
    return Judged(group, tuple(verdict(n, label) for n, label in enumerate(given, start=1)))


def record(**changes: Any) -> dict[str, Any]:
    whole = {
        "id": "a",
        "claim": "The lamp was lit in 1871.",
        "docs": [
            {"text": "It was lit in 1871.", "label": "SUPPORTS", "title": "Gazette"},
            {"text": "It was lit in 1874.", "label": "CONTRADICTS"},
        ],
        "has_conflict": True,
    }
    return {key: value for key, value in (whole | changes).items() if value is not ...}
