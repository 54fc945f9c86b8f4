"""label: every claim against every document (paper, section 3, step 2; Table 7)."""

from collections.abc import Sequence
from typing import Any

from conflictscore.errors import BudgetError
from conflictscore.labelers.table import label_table
from conflictscore.labelers.verdicts import unlabelled
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.decide import may_look_again
from conflictscore.nodes.state import (
    RagState,
    RunContext,
    RunRuntime,
    attempts_of,
    claims_of,
    documents_of,
    spent,
    time_left,
)
from conflictscore.records import Claim, ClaimEvidence, Document, EvidenceLabel, Label, Usage

__all__ = ["label", "renumbered"]


async def label(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Label the claims that no earlier answer of this question had; the others keep their labels.

    Where the run has a time budget, labelling ends in time for a second answer.

    The whole table is one node, so that pairs can be folded, batched and cached together.
    """
    context, claims, meter = runtime.context, claims_of(state), UsageMeter()
    known = _labelled_before(state)
    new = [claim for claim in claims if claim.text not in known]

    def announce(verdict: EvidenceLabel) -> None:
        runtime.stream_writer({"event": "label", **verdict.to_json()})

    try:
        labelled = await label_table(
            context.labeler,
            new,
            documents_of(state),
            meter=meter,
            cache=context.cache,
            on_label=announce,
            max_claims=context.max_claims,
            seconds=_seconds(state, context),
        )
    except BudgetError as stop:
        if not state.get("revisions"):
            raise
        # nothing is lost: what could not be labelled leaves the answer as it was
        labelled = tuple(_unlabelled(claim, documents_of(state), str(stop)) for claim in new)
    known |= {evidence.claim.text: evidence for evidence in labelled}
    evidence = [renumbered(known[claim.text], claim) for claim in claims]
    reused = sum(len(e.labels) for e in evidence) - sum(len(e.labels) for e in labelled)
    return {
        "evidence": [item.to_json() for item in evidence],
        "usage": spent(state, meter.usage + Usage(cached_calls=reused)),
    }


def _seconds(state: RagState, context: RunContext) -> float | None:
    """The time for labelling: what is left, less what a second answer is likely to take."""
    left = time_left(state, context)
    if left is None or not may_look_again(attempts_of(state), context):
        return left
    # to tell the type of the conflict, the model reads the same documents once more; and what a
    # guard compares has to be labelled first
    typed = context.regeneration == "typed" and "conflict_type" not in state
    calls = 1 + typed + context.guard
    return max(0.0, left - calls * state.get("timings", {}).get("generate", 0.0))


def _labelled_before(state: RagState) -> dict[str, ClaimEvidence]:
    return {
        evidence.claim.text: evidence
        for attempt in attempts_of(state)
        if attempt.report
        for evidence in attempt.report.claims
        if Label.UNLABELLED not in {pair.label for pair in evidence.labels}
    }


def _unlabelled(claim: Claim, documents: Sequence[Document], reason: str) -> ClaimEvidence:
    return ClaimEvidence(
        claim=claim, labels=tuple(unlabelled((claim, document), reason) for document in documents)
    )


def renumbered(evidence: ClaimEvidence, claim: Claim) -> ClaimEvidence:
    """The labels of a claim as those of another one that says the same."""
    labels = tuple(p.model_copy(update={"claim": claim.number}) for p in evidence.labels)
    return ClaimEvidence(claim=claim, labels=labels)
