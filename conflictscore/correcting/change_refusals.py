"""Refusals of changes: whether the evidence of a change carries it."""

from collections.abc import Sequence
from typing import Any

from conflictscore.active_content import added_active_content
from conflictscore.answering.statements import (
    opposite,
    restates,
    same_answer,
    telling_terms,
)
from conflictscore.correcting.wording import hedge_evidence
from conflictscore.metric import balance, better_evidence, coverage
from conflictscore.records import (
    Change,
    ClaimEvidence,
    ConflictReport,
    RevisionAction,
    SecondLook,
)

_OUTNUMBERED = "more documents contradict than support"


def judge_change(change: Change, before: ConflictReport, now: ConflictReport) -> Change:
    """The change with the guard's verdict: whether it is accepted, and if not why."""
    once, weights = ({} if now.duplicates_vote else now.duplicates), now.weights
    known = {evidence.claim.text: evidence for evidence in now.claims}
    old = [e for e in before.claims if change.whole or change.holds(e.claim)]
    new = list(now.claims) if change.whole else [known[text] for text in change.new_claims]
    one = tuple(sorted(balance(claim, once, weights) for claim in old))
    other = tuple(sorted(balance(claim, once, weights) for claim in new))
    figures: dict[str, Any] = {"balance_before": one, "balance_after": other}
    if change.looks:
        why = change.note or now.error or refusal(change, old, new, now)
        return change.model_copy(update=figures | {"accepted": why is None, "note": why})
    refused = change.note or now.error
    if refused is None and new and (coverage(new) or 0.0) < (coverage(old) or 0.0):
        refused = "fewer of its pairs have a label than before"
    if refused is None and not better_evidence(one, other):
        refused = f"its evidence is not better ({_shown(one)} before, {_shown(other)} after)"
    if refused is None and change.action is RevisionAction.REPLACE:
        if not new:
            refused = "it claims nothing in place of what it replaces"
        trusted = [claim.excluding_zero_weight(weights) for claim in new]
        if new and not any(claim.supports for claim in trusted):
            refused = "no document supports what it says instead"
        said = {claim.claim.text for claim in old}
        unsaid = [claim for claim in new if claim.claim.text not in said]
        if any(balance(claim, once, weights) < 0 for claim in unsaid):
            what = "more trust stands against than behind" if weights else _OUTNUMBERED
            refused = f"{what} a claim that it makes instead"
    return change.model_copy(update=figures | {"accepted": refused is None, "note": refused})


def _shown(balances: Sequence[float]) -> str:
    return ", ".join(f"{one:+.2f}" for one in balances) or "no claim"


def refusal(
    change: Change, old: Sequence[ClaimEvidence], new: Sequence[ClaimEvidence], now: ConflictReport
) -> str | None:
    """Why a change does not stand; None where it does.

    It stands where a second look decided it, it states what won and no longer what lost (or, in a
    hedge, both sides, each supported by a document), and more documents support than contradict
    every further claim that it makes.
    """
    once, weights = ({} if now.duplicates_vote else now.duplicates), now.weights
    if kind := added_active_content(change.before, change.after):
        return f"it brings in {kind}, which the passage had not"
    decided = [look for look in change.looks if look.decision != "keep" and look.rival is not None]
    if not decided:
        return "neither the vote nor the weighing decided it"
    if not change.after:
        return next(filter(None, (_unsaid(look, now.claims) for look in decided)), None)
    if not new:
        return "it claims nothing in place of what it replaces"
    for look in decided:
        if why := _misstated(look, change.before, change.after, new):
            return why
    if (coverage(new) or 0.0) < (coverage(old) or 0.0):
        return "fewer of its pairs have a label than before"
    said = {claim.claim.text for claim in old}
    for claim in (one.excluding_zero_weight(weights) for one in new):
        text = claim.claim.text
        if text in said or any(_is_stated_by(text, look) for look in decided):
            continue
        if not claim.supports:
            return f"no document supports “{text}”, which it adds"
        part = any(_is_part_of(claim, look) for look in decided)
        if balance(claim, once, weights) < 0 and not part:
            return f"more speaks against “{text}”, which it adds, than for it"
    return None


def _unsaid(look: SecondLook, elsewhere: Sequence[ClaimEvidence]) -> str | None:
    """Why a passage may not go: the rest of the answer does not say what won."""
    winner = look.candidates[look.rival or 0].statement
    says = (c for c in elsewhere if restates(c.claim.text, winner, look.question))
    return None if any(c.supports for c in says) else f"nothing else says “{winner}”"


def _misstated(
    look: SecondLook, before: str, after: str, new: Sequence[ClaimEvidence]
) -> str | None:
    own, rival = look.candidates[0], look.candidates[look.rival or 0]
    if look.decision == "hedge":
        denied = opposite(before, look.question)  # "Yes.": the sides are the two words
        words = (before, denied) if denied else (own.statement, rival.statement)
        for side, told in zip((own, rival), words, strict=True):
            if not side.evidence.supports:
                return f"no document supports “{side.statement}”, which it tells as one side"
            if not telling_terms(told) <= telling_terms(after) | telling_terms(look.question):
                return f"it does not name both sides: “{side.statement}” is missing"
        return None
    texts = [claim.claim.text for claim in new]
    said = telling_terms(after) | telling_terms(look.question)
    if not telling_terms(rival.statement) <= said and not any(
        restates(text, rival.statement, look.question) for text in texts
    ):
        return f"it does not say what the evidence settled: “{rival.statement}”"
    if any(text == own.statement for text in texts):
        return f"it still says “{own.statement}”"
    return None


def _is_stated_by(text: str, look: SecondLook) -> bool:
    """Whether a claim says what a look decided, or tells the dispute that it left."""
    if look.decision == "hedge":
        return text == hedge_evidence(look).claim.text
    return restates(text, look.candidates[look.rival or 0].statement, look.question)


def _is_part_of(claim: ClaimEvidence, look: SecondLook) -> bool:
    """Whether a claim is a part of what won that a document behind the winner supports too."""
    winner = look.candidates[look.rival or 0]
    part = same_answer(claim.claim.text, winner.statement, look.question)
    return part and not set(winner.votes).isdisjoint(claim.supports)
