"""score: from labels to CS-C and CS-R (paper, section 3, step 3)."""

from typing import Any

from conflictscore.metric import conflict_report
from conflictscore.nodes.state import RagState, RunRuntime, documents_of, draft_of, evidence_of
from conflictscore.records import Attempt, ClaimEvidence

__all__ = ["score"]


async def score(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Aggregate the labels, and add the answer with its score to the attempts."""
    attempts = state.get("attempts", [])
    duplicates = {d.number: d.duplicate_of for d in documents_of(state) if d.duplicate_of}
    report = conflict_report(
        evidence_of(state),
        duplicates=duplicates,
        duplicates_vote=runtime.context.duplicates_vote,
    ).model_copy(update={"error": state.get("decomposition_error")})
    reconsidered = state.get("reconsidered")
    attempt = Attempt(
        round=len(attempts),
        answer=draft_of(state),
        report=report,
        reconsidered=ClaimEvidence.model_validate(reconsidered) if reconsidered else None,
    )
    runtime.stream_writer(
        {
            "event": "scores",
            "round": attempt.round,
            "cs_c": report.cs_c,
            "cs_r": report.cs_r,
            "coverage": report.coverage,
            "conflicting": list(report.conflicting),
        }
    )
    return {"attempts": [*attempts, attempt.to_json()]}
