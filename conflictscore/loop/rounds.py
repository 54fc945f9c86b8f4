"""Rounds of a run: whether another may follow, and which one changed the answer."""

from collections.abc import Sequence, Sized
from itertools import takewhile

from conflictscore.loop.state import (
    RagState,
    RunContext,
    attempts_of,
    searches_of,
)
from conflictscore.records import (
    Attempt,
    ClaimEvidence,
    ConflictReport,
    Label,
    Method,
    differs,
)


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
