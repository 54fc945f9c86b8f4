"""The nouns: documents, claims, labels, reports, answers, attempts, flips and runs.

Everything here is immutable, typed and turns into plain JSON and back without loss
(``model_dump(mode="json")`` / ``model_validate``); nothing here does I/O.
"""

from conflictscore.records.evidence import (
    CONFLICT,
    Claim,
    ClaimEvidence,
    ConflictReport,
    Disputed,
    Document,
    Duplicates,
    EvidenceLabel,
    Label,
    Record,
    WeightedScores,
    encodable,
    first_fault,
)
from conflictscore.records.run import (
    RUN_DETAILS,
    Answer,
    Attempt,
    Checked,
    Flip,
    FurtherSearch,
    Method,
    Regeneration,
    Revision,
    Run,
    RunStatus,
    Usage,
    Way,
    differs,
)

__all__ = [
    "CONFLICT",
    "RUN_DETAILS",
    "Answer",
    "Attempt",
    "Checked",
    "Claim",
    "ClaimEvidence",
    "ConflictReport",
    "Disputed",
    "Document",
    "Duplicates",
    "EvidenceLabel",
    "Flip",
    "FurtherSearch",
    "Label",
    "Method",
    "Record",
    "Regeneration",
    "Revision",
    "Run",
    "RunStatus",
    "Usage",
    "Way",
    "WeightedScores",
    "differs",
    "encodable",
    "first_fault",
]
