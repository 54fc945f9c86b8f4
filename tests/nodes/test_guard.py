"""The guard: which changes are accepted, and with which words the others are refused."""

from typing import Any

import pytest

from conflictscore.nodes.guard import guard
from conflictscore.records import (
    Attempt,
    Change,
    ConflictReport,
    Document,
    Gap,
    GapKind,
    RevisionAction,
)
from tests.nodes.steps import attempt, claim_with, revision, running, scored, setting

OLD, NEW = "It was lit in 1871.", "It was lit in 1874."
NOT_BETTER = "the documents do not support the new text better than the old text"


async def guarded(
    before: Attempt, now: Attempt, *changes: Change, **known: Any
) -> tuple[dict[str, Any], list[Any]]:
    """The guard's update for a second answer that has these changes, and its events."""
    events: list[Any] = []
    attempts = [before.to_json(), now.to_json()]
    state: Any = {"attempts": attempts, "notes": ["the first note"], **known}
    state["changes"] = [change.to_json() for change in changes]
    return await guard(state, running(setting(guard=True), events)), events


async def verdict(
    before: ConflictReport, after: ConflictReport, change: Change
) -> tuple[Change, dict[str, Any]]:
    """The outcome of an answer's only change."""
    first = attempt(before, change.before)
    update, _ = await guarded(first, attempt(after, change.after, round=1), change)
    [judged] = [Change.model_validate(one) for one in update["changes"]]
    return judged, update


def whole(**fields: Any) -> Change:
    return revision(OLD, NEW, whole=True, **fields)


def claims(*sides: str, said: str = "a claim", **settings: Any) -> ConflictReport:
    """An answer's claims, by the sides of its documents; the texts begin as given."""
    each = [claim_with(s, f"{said} {n}", number=n) for n, s in enumerate(sides, start=1)]
    return scored(*each, **settings)


async def test_what_the_first_answer_already_said_does_not_count_against_the_second() -> None:
    """Most documents deny it, but the second answer does not make it instead of another claim."""
    before = scored(claim_with("---", "It is red."), claim_with("+--", "It is old.", number=2))

    judged, _ = await verdict(before, scored(claim_with("+--", "It is old.")), whole())

    assert judged.accepted


async def test_where_documents_are_weighed_trust_decides_and_the_refusal_says_so() -> None:
    weights = {1: 1.0, 2: 0.2, 3: 0.2}
    trusted = claims("+--", said="new", weights=weights)
    distrusted = claims("-++", said="new", weights=weights)

    stands, _ = await verdict(claims("---", weights=weights), trusted, whole())
    refused, _ = await verdict(claims("---", weights=weights), distrusted, whole())

    assert stands.accepted
    assert stands.balance_after == pytest.approx((0.6 / 1.4,))
    assert refused.note == (
        "documents with more weight contradict than support a claim that the change makes"
    )
    unheard = claims("+00", said="new", weights={1: 0.0})
    invented, _ = await verdict(claims("---", weights={1: 0.0}), unheard, whole())
    assert invented.note == "no document supports what the change says"


async def test_copies_count_once_where_the_run_counts_them_so() -> None:
    copies: dict[str, Any] = {"duplicates": {3: 2}, "duplicates_vote": False}

    once, _ = await verdict(claims("---"), claims("+--", said="new", **copies), whole())
    each, _ = await verdict(claims("---"), claims("+--", said="new", duplicates={3: 2}), whole())

    assert (once.accepted, once.balance_before, once.balance_after) == (True, (-1.0,), (0.0,))
    assert not each.accepted


async def test_what_could_not_be_checked_is_refused_for_that_reason() -> None:
    unknown = claims("++", said="new").model_copy(update={"error": "no claims could be told"})
    by_error, _ = await verdict(claims("--"), unknown, whole())
    by_note, _ = await verdict(claims("--"), unknown, whole(note="out of budget"))

    assert (by_error.accepted, by_error.note) == (False, "no claims could be told")
    assert by_note.note == "out of budget"


async def test_a_refused_second_answer_leaves_all_of_the_first() -> None:
    before = attempt(claims("+-"), OLD, justification="So it is.", unclaimed="7% of the answer")
    now = attempt(claims("---", said="new"), NEW, round=1)

    update, events = await guarded(before, now, whole())

    kept = Attempt.model_validate(update["attempts"][-1])
    assert update["attempts"][0] == before.to_json()
    assert (kept.answer, kept.report, kept.unclaimed) == (
        before.answer,
        before.report,
        before.unclaimed,
    )
    assert (kept.round, update["draft"]) == (1, before.answer.to_json())
    assert update["changes"][0]["note"] == f"{NOT_BETTER} (+0.00 before, -1.00 after)"
    assert events == [{"event": "answer", "round": 1, "answer": OLD}]


LAMP, TOWER, DOOR = "The lamp is old.", "The tower is blue.", "The door is red."
ANSWER = f"{LAMP} {TOWER} {DOOR}"
AT = {text: (ANSWER.index(text), ANSWER.index(text) + len(text)) for text in (LAMP, TOWER, DOOR)}
GREEN, WHITE = "The door is green.", "The tower is white."


async def test_only_accepted_changes_are_in_the_answer() -> None:
    first = scored(
        claim_with("++", LAMP, 1, AT[LAMP]),
        claim_with("--", TOWER, 2, AT[TOWER]),
        claim_with("+-", DOOR, 3, AT[DOOR]),
    )
    changed = ANSWER.replace(TOWER, WHITE).replace(DOOR, GREEN)
    second = scored(
        claim_with("++", LAMP, 1), claim_with("++", WHITE, 2), claim_with("--", GREEN, 3)
    )
    kept = revision(
        LAMP, LAMP, AT[LAMP][0], action=RevisionAction.KEEP, reason="It is right (Doc 1)."
    )
    white = revision(
        TOWER, WHITE, AT[TOWER][0], new_claims=(WHITE,), reason="The deeds say so (Docs 2, 9)."
    )
    green = revision(
        DOOR, GREEN, AT[DOOR][0], new_claims=(GREEN,), reason="A keeper saw it (Doc 1)."
    )
    now = attempt(
        second,
        changed,
        round=1,
        justification="The deeds say so (Docs 2, 9). A keeper saw it (Doc 1).",
    )
    documents = [Document(number=n, text=f"Text {n}").to_json() for n in (1, 2)]

    update, _ = await guarded(attempt(first, ANSWER), now, kept, white, green, documents=documents)

    text = ANSWER.replace(TOWER, WHITE)
    guarded_one = Attempt.model_validate(update["attempts"][-1])
    assert (guarded_one.answer.text, update["draft"]["text"]) == (text, text)
    assert guarded_one.answer.justification == "The deeds say so (Docs 2, 9)."
    assert guarded_one.answer.cited == (2,)
    assert guarded_one.report is not None
    assert [
        (evidence.claim.number, evidence.claim.text, evidence.supports, evidence.contradicts)
        for evidence in guarded_one.report.claims
    ] == [(1, LAMP, (1, 2), ()), (2, WHITE, (1, 2), ()), (3, DOOR, (1,), (2,))]
    assert all(
        pair.claim == evidence.claim.number
        for evidence in guarded_one.report.claims
        for pair in evidence.labels
    )
    assert guarded_one.report.conflicting == (3,)
    unchanged, stands, refused = [Change.model_validate(c) for c in update["changes"]]
    assert unchanged == kept, "what changes nothing is not judged"
    assert (stands.balance_before, stands.balance_after) == ((-1.0,), (1.0,))
    assert (refused.balance_before, refused.balance_after) == ((0.0,), (-1.0,))
    why = f"{NOT_BETTER} (+0.00 before, -1.00 after)"
    assert update["notes"][1:] == [f"a change of “{DOOR}” was refused: {why}"]
    assert stands.applied
    assert not refused.applied


async def test_without_an_accepted_change_there_is_no_reason() -> None:
    first = scored(claim_with("+-", DOOR, 1, (0, len(DOOR))))
    refused = revision(DOOR, GREEN, new_claims=(GREEN,), reason="A keeper saw it (Doc 1).")
    now = attempt(scored(claim_with("--", GREEN, 1)), GREEN, round=1, justification=refused.reason)

    update, _ = await guarded(attempt(first, DOOR), now, refused)

    assert update["draft"]["text"] == DOOR
    assert (update["draft"]["justification"], update["draft"]["cited"]) == (None, [])


async def test_a_restored_passage_has_its_own_gaps_and_none_of_the_refused_draft() -> None:
    answer = f"{LAMP} It is tall. {DOOR}"
    tall, door = answer.index("It is tall."), answer.index(DOOR)
    first = scored(
        claim_with("++", LAMP, 1, (0, len(LAMP))), claim_with("+-", DOOR, 2, (door, len(answer)))
    )
    second = scored(claim_with("++", LAMP, 1), claim_with("--", GREEN, 2))
    own = Gap(kind=GapKind.UNCLAIMED, note="not checked", passage=(tall, tall + 11))
    of_draft = Gap(kind=GapKind.UNCLAIMED, note="in a replaced passage", passage=(door, door + 9))
    before = attempt(first, answer).model_copy(update={"gaps": (own,)})
    now = attempt(second, answer.replace(DOOR, GREEN), round=1).model_copy(
        update={"gaps": (of_draft,), "unclaimed": of_draft.note}
    )

    update, _ = await guarded(before, now, revision(DOOR, GREEN, door, new_claims=(GREEN,)))

    guarded_one = Attempt.model_validate(update["attempts"][-1])
    assert guarded_one.answer.text == answer
    assert guarded_one.gaps == (own,)
    assert guarded_one.unclaimed == own.note
