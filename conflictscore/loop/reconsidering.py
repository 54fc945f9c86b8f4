"""Finds disputed claims of a final answer that no second look has examined completely."""

from collections.abc import Iterator
from itertools import chain

from conflictscore.loop.rounds import may_look_again
from conflictscore.loop.state import RagState, RunContext, changes_of
from conflictscore.records import (
    Attempt,
    Change,
    ClaimEvidence,
    ConflictReport,
    Gap,
    GapKind,
    LookOutcome,
)
from conflictscore.records.examined import quoted


def not_reconsidered(state: RagState, last: Attempt, context: RunContext) -> Iterator[Gap]:
    """Yield a gap for each dispute in the final answer that was not fully examined again."""
    yield from _failed_looks(state, last)
    yield from _skipped_claims(state, last, context)


def _failed_looks(state: RagState, last: Attempt) -> Iterator[Gap]:
    """Yield a gap for each disputed passage of the final answer whose second look failed.

    A later round may have examined the passage successfully, or removed it from the answer; it then
    has no gap.
    """
    reasons_by_passage = dict[str, str]()
    for change in changes_of(state):
        reasons_by_passage.pop(change.before, None)
        if change.failure is not None:
            reasons_by_passage[change.before] = (
                f"is disputed, but could not be examined again: {change.note}"
            )
        elif (error := _weighing_error(change)) is not None:
            passage = change.after if change.accepted else change.before
            reasons_by_passage[passage] = (
                f"is disputed, but its evidence could not be weighed: {error}"
            )
    for passage, reason in reasons_by_passage.items():
        if passage in last.answer.text:
            yield Gap(kind=GapKind.NOT_RECONSIDERED, note=f"{quoted(passage)} {reason}")


def _weighing_error(change: Change) -> str | None:
    """Return the error of a ruling if weighing reached no decision; None if no ruling failed."""
    undecided = (
        look.weighing
        for look in change.looks
        if look.weighing is not None and look.weighing.chosen is None
    )
    rulings = chain.from_iterable(weighing.rulings for weighing in undecided)
    return next((ruling.error for ruling in rulings if ruling.error), None)


def _skipped_claims(state: RagState, last: Attempt, context: RunContext) -> Iterator[Gap]:
    """Yield a gap for each disputed claim of the final answer that got no second look.

    Time may have run out, or the claim's place in the answer was not found. A run that may not
    correct its answer skips no claim, since it only scores the answer.
    """
    # without attempts, only the method and the setting of ``max_rounds`` decide
    if last.report is None or not may_look_again((), context):
        return
    changes = changes_of(state)
    examined = {text for change in changes for text in _examined_texts(change)}
    for each in _to_reconsider(state, last.report, context):
        # decide gives a reason whenever it does not correct an answer
        why = _why_skipped(each, changes) or state.get("reason")
        if why and each.claim.text not in examined:
            note = f"{quoted(each.claim.text)} is disputed, but was not examined again: {why}"
            yield Gap(kind=GapKind.NOT_RECONSIDERED, note=note)


def _to_reconsider(
    state: RagState, report: ConflictReport, context: RunContext
) -> list[ClaimEvidence]:
    """Return the disputed claims that the loop should have examined.

    If the answer is rewritten as a whole, only a single claim is examined. If there is any change,
    that claim has been examined.
    """
    if context.settings.regeneration == "revise" and not state.get("options"):
        return [report.evidence(number) for number in report.disputed]
    number = report.reconsider
    return [] if number is None or state.get("changes") else [report.evidence(number)]


def _examined_texts(change: Change) -> Iterator[str]:
    """Yield the claims that a change examined, and those that it added to the answer."""
    disputed = [evidence.claim.text for evidence in change.claims]
    if change.looks:
        asked = (look for look in change.looks if look.outcome is not LookOutcome.NO_QUESTION)
        yield from (look.candidates[0].statement for look in asked)
    else:
        # a failure has a gap of its own; a value such as true is left unchanged on purpose
        yield from disputed
    yield from (text for text in change.new_claims if text not in disputed)


def _why_skipped(evidence: ClaimEvidence, changes: tuple[Change, ...]) -> str | None:
    """Return why a claim was skipped although its answer was examined again; None if unknown."""
    text = evidence.claim.text
    for change in changes:
        for look in change.looks:
            if look.candidates[0].statement == text:
                return look.why
        if any(each.claim.text == text for each in change.claims):
            return f"only {len(change.looks)} claims of its passage got a second look"
    return (
        "its place in the answer was not found" if changes and not evidence.claim.passage else None
    )
