"""The guard of a change: it stands by the vote or the weighing, and adds nothing on the way.

A change is judged by what it says. What the model, or a document, calls it decides nothing.
"""

from collections.abc import Mapping, Sequence

from conflictscore.active_content import added_active_content
from conflictscore.metric import balance, coverage
from conflictscore.nodes.second_look.statements import (
    opposite,
    restates,
    same_answer,
    telling_terms,
)
from conflictscore.records import Claim, ClaimEvidence, EvidenceLabel, Label, SecondLook

_MOST_PASSED_OVER = 2
"""Telling words of a change that its claims may leave out; a number is one too many."""


def refusal(
    before: str,
    after: str,
    looks: Sequence[SecondLook],
    old: Sequence[ClaimEvidence],
    new: Sequence[ClaimEvidence],
    *,
    elsewhere: Sequence[ClaimEvidence] = (),
    duplicates: Mapping[int, int] = {},
    weights: Mapping[int, float] = {},
) -> str | None:
    """Why a change does not stand; None where it does.

    It stands where a second look decided it, it states what won and no longer what lost (or, in a
    hedge, both sides, each supported by a document), and more documents support than contradict
    every further claim that it makes.
    """
    if kind := added_active_content(before, after):
        return f"it brings in {kind}, which the passage had not"
    decided = [look for look in looks if look.decision != "keep" and look.rival is not None]
    if not decided:
        return "neither the vote nor the weighing decided it"
    if not after:
        return next(filter(None, (_unsaid(look, elsewhere) for look in decided)), None)
    if not new:
        return "it claims nothing in place of what it replaces"
    for look in decided:
        if why := _misstated(look, before, after, new):
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
        if balance(claim, duplicates, weights) < 0 and not part:
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
    """Why a change does not say what a look came to."""
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


def hedge_evidence(look: SecondLook) -> ClaimEvidence:
    """A dispute that is told, as one claim with its labels.

    By the paper's rule for hedged claims (section 3): a document supports it that supports either
    side, and contradicts it where it contradicts both.
    """
    own, rival = (look.candidates[place].evidence for place in (0, look.rival or 0))
    text = f"Sources disagree: {own.claim.text.rstrip('.')}; {rival.claim.text.rstrip('.')}."
    other = {pair.document: pair for pair in rival.labels}
    labels = tuple(_either(pair, other.get(pair.document, pair)) for pair in own.labels)
    return ClaimEvidence(claim=Claim(number=own.claim.number, text=text), labels=labels)


def _either(one: EvidenceLabel, other: EvidenceLabel) -> EvidenceLabel:
    for pair in (one, other):
        if pair.label is Label.SUPPORTS:
            return pair
    if one.label is other.label:
        return one
    return next((pair for pair in (one, other) if pair.label is Label.IRRELEVANT), one)


def passed_over(after: str, before: str, claims: Sequence[str], question: str) -> str | None:
    """The words of a change that none of its claims has; None for at most two and no number."""
    known = telling_terms(before) | telling_terms(question)
    known = known.union(*map(telling_terms, claims))
    left = sorted(telling_terms(after) - known)
    number = any(any(map(str.isdigit, word)) for word in left)
    return ", ".join(left) if number or len(left) > _MOST_PASSED_OVER else None
