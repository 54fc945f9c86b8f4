"""decide: correct the answer again, or end the run; here is what bounds the loop."""

from collections.abc import Sequence, Sized
from itertools import takewhile
from typing import Any

from conflictscore.nodes.state import (
    Decision,
    RagState,
    RunContext,
    RunRuntime,
    attempts_of,
    changes_of,
    searches_of,
    time_left,
)
from conflictscore.records import (
    Attempt,
    Change,
    ClaimEvidence,
    ConflictReport,
    Label,
    Method,
    differs,
)

_CALLS_IN_PLACE = 7
"""Measured with a scripted endpoint (``measurements.effort_costs``), one claim disputed."""


async def decide(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Correct the answer while a claim is disputed; in later rounds, only by new evidence.

    Where the run looks further, the retriever is asked first, once in each round.
    """
    attempts, changes = attempts_of(state), changes_of(state)
    left = time_left(state, runtime.context)
    again, reason = _look_again(attempts, changes, runtime.context)
    decision: Decision = "record"
    update: dict[str, Any] = {}
    if again and left is not None and left <= correction_time(state, runtime.context):
        how = "leaves no time for it" if left else "is used up"
        reason = f"the time budget of {runtime.context.settings.budget_seconds:g} s {how}"
        update["notes"] = [*state.get("notes", ()), f"the answer was not corrected: {reason}"]
        if unexplained(attempts):
            decision = "justify"
    elif doubtful := to_look_for(state, runtime.context):
        numbers = ", ".join(str(evidence.claim.number) for evidence in doubtful)
        decision, reason = "look_further", f"in doubt: {numbers}"
    elif again:
        decision = "correct"
    elif unexplained(attempts):
        decision = "justify"
    runtime.stream_writer({"event": "decision", "decision": decision, "reason": reason})
    return {"decision": decision, "reason": reason, **update}


def may_look_again(attempts: Sized, context: RunContext) -> bool:
    """Whether an answer that comes after these attempts may be corrected."""
    return context.method is Method.REGENERATED_RAG and len(attempts) < context.settings.max_rounds


def to_look_for(state: RagState, context: RunContext) -> tuple[ClaimEvidence, ...]:
    """Claims of the last answer to search further for, the disputed ones first.

    A round searches once, and a run once for a claim. With the setting off, only ties are searched
    for, and only where that is free: in a folder or corpus with more documents than were found.
    """
    ties_alone = context.settings.look_further == "off"
    if ties_alone and not _has_more_at_hand(state, context):
        return ()
    last, done = attempts_of(state)[-1], searches_of(state)
    report = last.report
    final = not may_look_again(range(last.round), context)
    if final or report is None or any(search.round == last.round for search in done):
        return ()
    doubtful = [report.evidence(number) for number in report.disputed]
    # a second document against such a claim would refute it
    more = {"contradicted"} if "refuted" in context.settings.disputed else set()
    if context.settings.look_further == "unsupported":
        more |= {"unsupported"}
    others = [e for e in report.claims if e.claim.number not in report.disputed]
    doubtful += [e for e in others if report.why_disputed(e) in more]
    known = {search.claim for search in done}
    if ties_alone:
        doubtful = [evidence for evidence in doubtful if _is_tied(evidence, report)]
    return tuple(evidence for evidence in doubtful if evidence.claim.text not in known)


def _has_more_at_hand(state: RagState, context: RunContext) -> bool:
    at_hand = getattr(context.retriever, "at_hand", None) or 0
    in_place = context.settings.regeneration == "revise" and not state.get("options")
    return in_place and at_hand > len(state.get("documents", ()))


def _is_tied(evidence: ClaimEvidence, report: ConflictReport) -> bool:
    """Whether as many independent documents are on either side of a claim, at least one."""
    both = (Label.SUPPORTS, Label.CONTRADICTS)
    sides = [evidence.independent(side, report.duplicates) for side in both]
    return sides[0] == sides[1] > 0


def spare_time(state: RagState, context: RunContext, attempts: Sized) -> float | None:
    """Seconds left, less the likely time of a correction; None where there is no budget."""
    left = time_left(state, context)
    if left is None or not may_look_again(attempts, context):
        return left
    return max(0.0, left - correction_time(state, context))


def correction_time(state: RagState, context: RunContext) -> float:
    """Seconds that a correction is likely to take, by what the steps of this run took.

    In place, seven calls follow one another, from asking the documents to the new labels. A whole
    new answer is written, taken apart and labelled.
    """
    timings = state.get("timings", {})
    call = timings.get("decompose", 0.0)
    if context.settings.regeneration == "revise" and not state.get("options"):
        return _CALLS_IN_PLACE * call
    return max(timings.get("generate", 0.0), call) + 2 * call


def _look_again(
    attempts: Sequence[Attempt], changes: Sequence[Change], context: RunContext
) -> tuple[bool, str]:
    last = attempts[-1]
    if context.method is not Method.REGENERATED_RAG:
        return False, f"{context.method} answers once"
    report = last.report
    if report is None or report.reconsider is None:
        only_conflicts = set(context.settings.disputed) == {"conflict"}
        none = "no claim has evidence on both sides" if only_conflicts else "no claim is disputed"
        return False, none
    if last.round >= (most := context.settings.max_rounds):
        return False, f"{most} of {most} regenerations were made"
    if last.round and not _new_evidence(changes, report, context):
        return False, "there is no new evidence"
    if context.settings.regeneration == "revise":
        numbers = ", ".join(map(str, sorted(report.disputed)))
        return True, f"disputed claims: {numbers}"
    found = report.why_disputed(report.evidence(report.reconsider))
    how = "has evidence on both sides" if found == "conflict" else f"is {found}"
    return True, f"claim {report.reconsider} {how}"


def _new_evidence(changes: Sequence[Change], report: ConflictReport, context: RunContext) -> bool:
    shown = {number for change in changes for claim in change.claims for number in _sides(claim)}
    again = report.disputed if context.settings.regeneration == "revise" else (report.reconsider,)
    disputed = [
        report.evidence(number).excluding_zero_weight(report.weights) for number in again if number
    ]
    return any(_sides(claim) - shown for claim in disputed)


def _sides(claim: ClaimEvidence) -> set[int]:
    """Documents that were shown as evidence; swapping their sides does not make them new."""
    return {*claim.supports, *claim.contradicts}


def unexplained(attempts: Sequence[Attempt]) -> bool:
    """Whether the answer changed and the model gave no reason."""
    changed = flipped_by(attempts)
    return changed is not None and changed.answer.justification is None


def flipped_by(attempts: Sequence[Attempt]) -> Attempt | None:
    """The attempt that changed the answer for good; None where the last answer is the first."""
    first, last = attempts[0], attempts[-1]
    if not differs(first.answer.text, last.answer.text):
        return None
    kept = takewhile(lambda a: not differs(a.answer.text, last.answer.text), reversed(attempts))
    return list(kept)[-1]
