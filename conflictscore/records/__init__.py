"""The nouns: documents, claims, labels, reports, answers, attempts, changes and runs.

Everything here is immutable, typed and turns into plain JSON and back without loss
(``model_dump(mode="json")`` / ``model_validate``); nothing here does I/O.
"""

from conflictscore.choices import CONFLICT, Disputed, Duplicates, Regeneration
from conflictscore.records.correction import Change, RevisionAction, differs
from conflictscore.records.evidence import (
    Claim,
    ClaimEvidence,
    ConflictReport,
    Document,
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
    FurtherSearch,
    Method,
    Run,
    RunStatus,
    Usage,
)
from conflictscore.records.second_look import (
    Candidate,
    DroppedReply,
    Ground,
    Ruling,
    SecondLook,
    Weighing,
)

__all__ = [
    "CONFLICT",
    "RUN_DETAILS",
    "Answer",
    "Attempt",
    "Candidate",
    "Change",
    "Checked",
    "Claim",
    "ClaimEvidence",
    "ConflictReport",
    "Disputed",
    "Document",
    "DroppedReply",
    "Duplicates",
    "EvidenceLabel",
    "FurtherSearch",
    "Ground",
    "Label",
    "Method",
    "Record",
    "Regeneration",
    "RevisionAction",
    "Ruling",
    "Run",
    "RunStatus",
    "SecondLook",
    "Usage",
    "Weighing",
    "WeightedScores",
    "differs",
    "encodable",
    "first_fault",
]
