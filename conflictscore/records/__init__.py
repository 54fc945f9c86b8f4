"""Records: documents, claims, labels, reports, answers, attempts, changes and runs.

All records are immutable and typed, convert to plain JSON and back without loss
(``model_dump(mode="json")`` / ``model_validate``), and perform no I/O.
"""

from conflictscore.choices import CONFLICT as CONFLICT
from conflictscore.choices import Disputed as Disputed
from conflictscore.choices import Duplicates as Duplicates
from conflictscore.choices import Regeneration as Regeneration
from conflictscore.records.correction import Candidate as Candidate
from conflictscore.records.correction import Change as Change
from conflictscore.records.correction import DroppedReply as DroppedReply
from conflictscore.records.correction import Ground as Ground
from conflictscore.records.correction import LookOutcome as LookOutcome
from conflictscore.records.correction import RelatedAnswer as RelatedAnswer
from conflictscore.records.correction import Relation as Relation
from conflictscore.records.correction import RevisionAction as RevisionAction
from conflictscore.records.correction import Ruling as Ruling
from conflictscore.records.correction import SecondLook as SecondLook
from conflictscore.records.correction import Weighing as Weighing
from conflictscore.records.correction import differs as differs
from conflictscore.records.evidence import Claim as Claim
from conflictscore.records.evidence import ClaimEvidence as ClaimEvidence
from conflictscore.records.evidence import ConflictReport as ConflictReport
from conflictscore.records.evidence import Document as Document
from conflictscore.records.evidence import EvidenceLabel as EvidenceLabel
from conflictscore.records.evidence import Label as Label
from conflictscore.records.evidence import WeightedScores as WeightedScores
from conflictscore.records.examined import Checked as Checked
from conflictscore.records.examined import ClaimedSpan as ClaimedSpan
from conflictscore.records.examined import Examined as Examined
from conflictscore.records.examined import Gap as Gap
from conflictscore.records.examined import GapKind as GapKind
from conflictscore.records.examined import ReadDocument as ReadDocument
from conflictscore.records.record_base import Record as Record
from conflictscore.records.record_base import encodable as encodable
from conflictscore.records.record_base import first_fault as first_fault
from conflictscore.records.run import RUN_DETAILS as RUN_DETAILS
from conflictscore.records.run import Answer as Answer
from conflictscore.records.run import Attempt as Attempt
from conflictscore.records.run import FurtherSearch as FurtherSearch
from conflictscore.records.run import Method as Method
from conflictscore.records.run import Run as Run
from conflictscore.records.run import RunStatus as RunStatus
from conflictscore.records.run import Usage as Usage
