"""score: from labels to CS-C and CS-R (paper, section 3, step 3)."""

from collections.abc import Sequence
from typing import Any

from conflictscore.metric import conflict_report
from conflictscore.nodes.state import (
    RagState,
    RunContext,
    RunRuntime,
    documents_of,
    draft_of,
    evidence_of,
)
from conflictscore.records import Attempt, ClaimEvidence, ConflictReport
from conflictscore.retrieval.domains import voices


async def score(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Aggregate the labels, and add the answer with its score to the attempts.

    With the labels of documents that were found further, the last attempt gets another score.
    """
    attempts = state.get("attempts", [])
    report = report_of(evidence_of(state), state, runtime.context)
    if state.get("decision") == "look_further":
        *attempts, last = attempts
        attempt = Attempt.model_validate(last).model_copy(update={"report": report})
    else:
        failed = state.get("decomposition_error")
        attempt = Attempt(
            round=len(attempts),
            answer=draft_of(state),
            report=report.model_copy(update={"error": failed or report.error}),
            unclaimed=state.get("unclaimed"),
        )
    runtime.stream_writer(
        {
            "event": "scores",
            "round": attempt.round,
            "cs_c": report.cs_c,
            "cs_r": report.cs_r,
            "coverage": report.coverage,
            "conflicting": list(report.conflicting),
            **({"weighted": report.weighted.to_json()} if report.weighted else {}),
        }
    )
    return {"attempts": [*attempts, attempt.to_json()]}


def report_of(
    evidence: Sequence[ClaimEvidence], state: RagState, context: RunContext
) -> ConflictReport:
    """The scores of labelled claims, with near-duplicates and disputes as the run counts them."""
    documents, trust = documents_of(state), context.settings.trust
    duplicates = (
        voices(documents)
        if context.settings.duplicates == "domain"
        else {d.number: d.duplicate_of for d in documents if d.duplicate_of}
    )
    return conflict_report(
        evidence,
        duplicates=duplicates,
        duplicates_vote=context.settings.duplicates == "vote",
        policy=context.settings.disputed,
        weights=None if trust is None else trust.weights(documents),
    )
