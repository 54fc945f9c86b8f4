"""Finds the step of the loop at which the correction of a natural dispute was lost."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from conflictscore.answering.statements import telling_terms
from conflictscore.labelers.denials import denial_of
from conflictscore.records import Change, LookOutcome, SecondLook


class Step(StrEnum):
    """The step at which a correction was lost."""

    CLAIMS = "claims"  # None of the answer's claims is the claim of the case.
    LABELS = "labels"  # The labels do not dispute the claim, so it gets no second look.
    QUESTION = "question"  # No question for the claim was found.
    READING = "reading"  # No document's reply gives the missing answer.
    RELATION = "relation"  # A reply gives it, but does not count as a rival of the claim.
    VOTE = "vote"  # A rival gives it, but the claim stays.
    WORDING = "wording"  # The second look decided, but the passage could not be reworded.
    GUARD = "guard"  # The guard refused the new passage.
    WINNER = "winner"  # The answer was changed, but the missing answer is not in it.


def step_lost(claim: str, missing: Sequence[str], state: Mapping[str, Any]) -> Step:
    """Return the step at which a run lost the correction of a claim.

    Args:
        claim: The claim of the case, which another wording of the run's claims may express.
        missing: Strings of which the corrected answer should have one.
        state: The final state of the run.
    """
    terms = telling_terms(claim)
    report = state["attempts"][0]["report"]
    claims = [each["claim"]["text"] for each in report["claims"]]
    if not any(_is_near(text, terms) for text in claims):
        return Step.CLAIMS
    changes = [Change.model_validate(each) for each in state["changes"]]
    looks = [
        (change, look)
        for change in changes
        for look in change.looks
        if _is_near(look.candidates[0].statement, terms)
    ]
    if not looks:
        return Step.LABELS
    for change, look in looks:
        if look.decision != "keep":
            if not change.accepted:
                return Step.GUARD
            return Step.WINNER if change.applied else Step.WORDING
    return _step_of_kept([look for _, look in looks], missing)


def _step_of_kept(looks: Sequence[SecondLook], missing: Sequence[str]) -> Step:
    """Return the step at which second looks that keep the claim lost its correction."""
    if all(look.outcome is LookOutcome.NO_QUESTION for look in looks):
        return Step.QUESTION
    if any(_has_rival(look, missing) for look in looks):
        return Step.VOTE
    replies = [each.statement for look in looks for each in look.related]
    replies += [each.reply for look in looks for each in look.dropped]
    return Step.RELATION if any(_gives(text, missing) for text in replies) else Step.READING


def _has_rival(look: SecondLook, missing: Sequence[str]) -> bool:
    """Return whether a rival gives the missing answer, or denies the claim."""
    own, *rivals = (candidate.statement for candidate in look.candidates)
    return any(each == denial_of(own) or _gives(each, missing) for each in rivals)


def _is_near(text: str, terms: frozenset[str]) -> bool:
    """Return whether a text has half of the informative words of a claim."""
    return 2 * len(terms & telling_terms(text)) >= len(terms)


def _gives(text: str, missing: Sequence[str]) -> bool:
    words = f" {' '.join(text.casefold().split())} "
    return any(each.casefold() in words for each in missing)
