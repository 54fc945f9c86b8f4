"""The nouns: documents, claims, labels, reports, answers, attempts, flips and runs.

Everything here is immutable, typed and turns into plain JSON and back without loss
(``model_dump(mode="json")`` / ``model_validate``); nothing here does I/O.
"""

from conflictscore.records.evidence import (
    Claim,
    ClaimEvidence,
    ConflictReport,
    ConflictType,
    Document,
    EvidenceLabel,
    Label,
    Record,
)
from conflictscore.records.run import (
    RUN_DETAILS,
    Answer,
    Attempt,
    Flip,
    Method,
    Regeneration,
    Run,
    RunStatus,
    Usage,
    differs,
)

__all__ = [
    "RUN_DETAILS",
    "Answer",
    "Attempt",
    "Claim",
    "ClaimEvidence",
    "ConflictReport",
    "ConflictType",
    "Document",
    "EvidenceLabel",
    "Flip",
    "Label",
    "Method",
    "Record",
    "Regeneration",
    "Run",
    "RunStatus",
    "Usage",
    "differs",
]
