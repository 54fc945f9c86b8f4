"""decide: choose the next step after scoring; this node limits the number of rounds."""

from collections.abc import Sequence
from typing import Any

from conflictscore.loop.rounds import to_look_for, unexplained
from conflictscore.loop.state import (
    Decision,
    RagState,
    RunContext,
    RunRuntime,
    attempts_of,
    changes_of,
)
from conflictscore.loop.time_budget import correction_time, time_left
from conflictscore.records import (
    Attempt,
    Change,
    ClaimEvidence,
    ConflictReport,
    Method,
)


async def decide(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Choose the next step: a correction if a claim is disputed.

    A second or later correction also requires new evidence. Further searches, if any, come before
    the correction, once per round. If an earlier correction gave no reason, ``justify`` asks for a
    reason even if no time is left. This takes a single short call, and nobody can review a change
    without a reason.
    """
    attempts, changes = attempts_of(state), changes_of(state)
    seconds_left = time_left(state, runtime.context)
    again, reason = _look_again(attempts, changes, runtime.context)
    decision: Decision = "record"
    update: dict[str, Any] = {}
    if (
        again
        and seconds_left is not None
        and seconds_left <= correction_time(state, runtime.context)
    ):
        how = "leaves no time for a correction" if seconds_left else "is used up"
        reason = f"the time budget of {runtime.context.settings.budget_seconds:g} s {how}"
        update["notes"] = [*state.get("notes", ()), f"the answer was not corrected: {reason}"]
        if unexplained(attempts):
            decision = "justify"
    elif doubtful := to_look_for(state, runtime.context):
        numbers = ", ".join(str(evidence.claim.number) for evidence in doubtful)
        decision, reason = "look_further", f"doubtful claims: {numbers}"
    elif again:
        decision = "correct"
    elif unexplained(attempts):
        decision = "justify"
    runtime.stream_writer({"event": "decision", "decision": decision, "reason": reason})
    return {"decision": decision, "reason": reason, **update}


def _look_again(
    attempts: Sequence[Attempt], changes: Sequence[Change], context: RunContext
) -> tuple[bool, str]:
    """Return whether another correction is allowed, and why.

    The result depends on the method, the number of rounds and the evidence.
    """
    last = attempts[-1]
    if context.method is not Method.REGENERATED_RAG:
        return False, f"{context.method} answers once"
    report = last.report
    if report is None or report.reconsider is None:
        only_conflicts = set(context.settings.disputed) == {"conflict"}
        none = "no claim has evidence on both sides" if only_conflicts else "no claim is disputed"
        return False, none
    if last.round >= (most := context.settings.max_rounds):
        return False, f"{most} of {most} rounds of correction were used"
    if last.round and not _new_evidence(changes, report, context):
        return False, "there is no new evidence"
    if context.settings.regeneration == "revise":
        numbers = ", ".join(map(str, sorted(report.disputed)))
        return True, f"disputed claims: {numbers}"
    kind = report.why_disputed(report.evidence(report.reconsider))
    how = "has evidence on both sides" if kind == "conflict" else f"is {kind}"
    return True, f"claim {report.reconsider} {how}"


def _new_evidence(changes: Sequence[Change], report: ConflictReport, context: RunContext) -> bool:
    """Return whether a disputed claim has evidence that no earlier round has considered.

    Without this test, a claim that was reconsidered and left unchanged would be reconsidered in
    every round.
    """
    seen_numbers = {number for c in changes for claim in c.claims for number in _sides(claim)}
    again = report.disputed if context.settings.regeneration == "revise" else (report.reconsider,)
    disputed_claims = [
        report.evidence(number).excluding_zero_weight(report.weights) for number in again if number
    ]
    return any(_sides(claim) - seen_numbers for claim in disputed_claims)


def _sides(claim: ClaimEvidence) -> set[int]:
    """Return the documents for or against a claim.

    Both sides are merged, so a document that switches sides is not new evidence.
    """
    return {*claim.supports, *claim.contradicts}
