"""At which step of the loop the correction of a natural dispute was lost."""

from typing import Any

import pytest

from conflictscore.records import (
    Candidate,
    Change,
    DroppedReply,
    LookOutcome,
    RelatedAnswer,
    Relation,
    RevisionAction,
    SecondLook,
)
from measurements.natural_steps import Step, step_lost
from tests.correcting.helpers import likely

CLAIM, WORDED = "The lamp of Vennick was first lit in 1871.", "The Vennick lamp was lit in 1871."
RIVAL = "The lamp of Vennick was first lit in 1874."
KEPT = Change.kept(WORDED, 0, [likely(WORDED, 0.9, 0.1)], round=1)


def look(*rivals: str, **fields: Any) -> SecondLook:
    candidates = tuple(Candidate(evidence=likely(text, 0.9, 0.1)) for text in (WORDED, *rivals))
    return SecondLook(question="When was it lit?", candidates=candidates, **fields)


def lost_with(*looks: SecondLook, claim: str = WORDED, **fields: Any) -> Step:
    change = KEPT.model_copy(update={"looks": looks, **fields})
    report = {"claims": [likely(claim, 0.9, 0.1).to_json()]}
    changes = [change.to_json()] if looks else []
    state = {"attempts": [{"report": report}], "changes": changes}
    return step_lost(CLAIM, ["1874"], state)


def test_an_answer_without_the_claim_was_split_wrongly() -> None:
    assert lost_with(claim="It is lovely.") is Step.CLAIMS


def test_a_claim_without_a_second_look_was_not_disputed_by_its_labels() -> None:
    assert lost_with() is Step.LABELS


def test_a_look_at_another_claim_is_not_a_look_at_this_one() -> None:
    other = SecondLook(question="?", candidates=(Candidate(evidence=likely("It rains.", 0.9)),))
    assert lost_with(other) is Step.LABELS


@pytest.mark.parametrize(
    ("kept", "step"),
    [
        (look(outcome=LookOutcome.NO_QUESTION), Step.QUESTION),
        (look(outcome=LookOutcome.NO_RIVAL), Step.READING),
        (look(related=(RelatedAnswer(statement=RIVAL, relation=Relation.NOTHING),)), Step.RELATION),
        (look(dropped=(DroppedReply(document=1, reply=RIVAL, why="too long"),)), Step.RELATION),
        (look(RIVAL, outcome=LookOutcome.DISSENTER), Step.VOTE),
        (look("The lamp of Vennick was first lit in 1880."), Step.READING),
    ],
)
def test_a_look_that_keeps_the_claim_lost_it_where_the_missing_answer_disappears(
    kept: SecondLook, step: Step
) -> None:
    assert lost_with(kept) is step


def test_a_decision_is_lost_by_the_guard_or_by_the_wording_or_puts_in_another_answer() -> None:
    won = look(RIVAL, rival=1, decision="replace")
    assert lost_with(won, accepted=False, note="refused") is Step.GUARD
    assert lost_with(won) is Step.WORDING
    changed = {"after": "The Vennick lamp was lit in 1880.", "action": RevisionAction.REPLACE}
    assert lost_with(won, **changed) is Step.WINNER
