"""score: compute CS-C and CS-R from the labels, and add the attempt (paper, section 3)."""

from typing import Any

from conflictscore.loop.scoring import report_of
from conflictscore.loop.state import (
    RagState,
    RunRuntime,
    attempts_of,
    draft_of,
    evidence_of,
    plain_records,
    unheard,
)
from conflictscore.records import (
    Attempt,
    Gap,
)


async def score(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Compute the scores, and add the answer with its scores to the attempts.

    If further documents were labelled, the last attempt is scored again.
    """
    attempts = [*attempts_of(state)]
    report = report_of(evidence_of(state), state, runtime.context)
    if state.get("decision") == "look_further":  # the answer is the same, with more documents
        attempt = attempts.pop().model_copy(update={"report": report})
    else:
        failure = state.get("decomposition_error")
        gaps = tuple(map(Gap.model_validate, state.get("gaps") or ()))
        attempt = Attempt(
            round=len(attempts),
            answer=draft_of(state),
            report=report.model_copy(update={"error": failure}) if failure else report,
            # readers of runs that earlier versions stored know only this field
            unclaimed="; ".join(gap.note for gap in gaps) or None,
            gaps=gaps,
        )
    if runtime.stream_writer is not unheard:
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
    return {"attempts": plain_records(state, "attempts", [*attempts, attempt])}
