"""Scores labelled claims; the run's settings define how disputes and near-duplicates count."""

from collections.abc import Sequence

from conflictscore.loop.state import RagState, RunContext, documents_of
from conflictscore.metric import conflict_report
from conflictscore.records import (
    Claim,
    ClaimEvidence,
    ConflictReport,
)
from conflictscore.retrieval.domains import voices
from conflictscore.retrieval.voices import copies, one_voice


def renumbered(evidence: ClaimEvidence, claim: Claim) -> ClaimEvidence:
    """Return a claim's evidence for a claim with the same text but a different number."""
    if evidence.claim is claim:
        return evidence
    labels = tuple(p.model_copy(update={"claim": claim.number}) for p in evidence.labels)
    return ClaimEvidence(claim=claim, labels=labels)


def report_of(
    evidence: Sequence[ClaimEvidence], state: RagState, context: RunContext
) -> ConflictReport:
    """Return the scores of labelled claims.

    The run's settings say which documents count as one source and which claims are disputed.
    """
    documents, trust = documents_of(state), context.settings.trust
    by_domain = context.settings.duplicates == "domain"
    groups = voices(documents) if by_domain else copies(documents)
    return conflict_report(
        evidence,
        duplicates=one_voice(documents, groups),
        duplicates_vote=context.settings.duplicates == "vote",
        policy=context.settings.disputed,
        weights=None if trust is None else trust.weights(documents),
    )
