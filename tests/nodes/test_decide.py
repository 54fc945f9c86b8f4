"""Where the loop goes and why, which attempt changed the answer, and what a state holds."""

from types import SimpleNamespace
from typing import Any

import pytest

from conflictscore.loop.rounds import flipped_by, to_look_for
from conflictscore.loop.state import RagState
from conflictscore.loop.time_budget import spare_time
from conflictscore.nodes.decide import decide
from conflictscore.nodes.record import run_of
from conflictscore.records import Answer, Attempt, ClaimEvidence, FurtherSearch, Method
from tests.nodes.steps import attempt, claim_with, revision, running, scored, setting

LAMP = claim_with("+-", "The lamp was lit in 1871.")
TOWER = claim_with("--", "The tower is blue.", number=2)
DOOR = claim_with("-0", "The door is red.", number=3)
ROOF = claim_with("00", "The roof is flat.", number=4)
CONFLICT = scored(LAMP, TOWER)
ALL = ("conflict", "refuted")
FIRST = attempt(CONFLICT)


def state_of(*attempts: Attempt, **known: Any) -> RagState:
    return {"attempts": [one.to_json() for one in attempts], **known}  # type: ignore[typeddict-item]


async def decision(state: RagState, **settings: Any) -> tuple[str, str]:
    """The decision and its reason, which the run's events repeat."""
    events: list[Any] = []
    update = await decide(state, running(setting(**settings), events))
    assert events == [{"event": "decision", **update}]
    return update["decision"], update["reason"]


@pytest.mark.parametrize(
    ("settings", "attempts", "decided"),
    [
        ({}, [FIRST], ("correct", "claim 1 has evidence on both sides")),
        ({"method": Method.RAG}, [FIRST], ("record", "rag answers once")),
        ({}, [attempt(None)], ("record", "no claim has evidence on both sides")),
        ({}, [attempt(scored(TOWER))], ("record", "no claim has evidence on both sides")),
        ({"disputed": ALL}, [attempt(scored(ROOF))], ("record", "no claim is disputed")),
        (
            {"disputed": ALL},
            [attempt(scored(TOWER, policy=ALL))],
            ("correct", "claim 2 is refuted"),
        ),
        ({"max_rounds": 0}, [FIRST], ("record", "0 of 0 rounds of correction were used")),
        (
            {"max_rounds": 2, "budget_seconds": 9},
            [attempt(CONFLICT, round=2)],
            ("record", "2 of 2 rounds of correction were used"),
        ),
        (
            {"regeneration": "revise", "disputed": ALL},
            [attempt(scored(LAMP, TOWER, policy=ALL))],
            ("correct", "disputed claims: 1, 2"),
        ),
    ],
)
async def test_why_an_answer_is_given_again_or_kept(
    settings: dict[str, Any], attempts: list[Attempt], decided: tuple[str, str]
) -> None:
    assert await decision(state_of(*attempts), **settings) == decided


@pytest.mark.parametrize(
    ("shown", "goes_on"),
    [
        (claim_with("+-"), False),
        (claim_with("-+"), False),  # documents that change sides are not new
        (claim_with("+0"), True),
        (None, True),
    ],
)
async def test_a_further_round_needs_a_document_that_was_not_shown(
    shown: Any, goes_on: bool
) -> None:
    changes = [revision("In 1871.", "In 1874.", claims=(shown,)).to_json()] if shown else []
    again = attempt(CONFLICT, round=1)

    decided = await decision(state_of(FIRST, again, changes=changes), max_rounds=2)

    why = "claim 1 has evidence on both sides" if goes_on else "there is no new evidence"
    assert decided == ("correct" if goes_on else "record", why)


async def test_what_a_revision_showed_for_one_claim_is_not_new_for_another() -> None:
    """All disputed claims are revised, so a document that is new for any of them is a reason."""
    shown = [revision("In 1871.", "In 1874.", claims=(claim_with("+-0"),)).to_json()]
    both = scored(claim_with("+-0"), claim_with("0--", number=2), policy=ALL)
    state = state_of(FIRST, attempt(both, round=1), changes=shown)
    settings: dict[str, Any] = {"max_rounds": 2, "disputed": ALL}

    revising = await decision(state, **settings, regeneration="revise")
    anew = await decision(state, **settings)

    assert revising == ("correct", "disputed claims: 1, 2")
    assert anew == ("record", "there is no new evidence")


async def test_a_document_without_weight_is_not_new_evidence() -> None:
    shown = [revision("In 1871.", "In 1874.", claims=(claim_with("+-0"),)).to_json()]
    weighed = scored(claim_with("+-+"), weights={3: 0.0})
    state = state_of(FIRST, attempt(weighed, round=1), changes=shown)

    assert await decision(state, max_rounds=2) == ("record", "there is no new evidence")


async def test_an_answer_that_changed_without_a_reason_is_asked_for_one_at_the_end() -> None:
    changed = attempt(scored(claim_with("+")), "In 1874.", round=1)
    explained = attempt(changed.report, "In 1874.", round=1, justification="The log says so.")

    assert (await decision(state_of(FIRST, changed)))[0] == "justify"
    assert (await decision(state_of(FIRST, explained)))[0] == "record"
    assert (await decision(state_of(FIRST, attempt(CONFLICT, round=1))))[0] == "record"


@pytest.mark.parametrize(
    ("settings", "claims"),
    [
        ({"look_further": "off", "disputed": ALL}, []),
        ({"method": Method.CONTROL_RAG}, []),
        ({"max_rounds": 0}, []),
        ({}, [1]),
        ({"look_further": "unsupported"}, [1, 4]),
        ({"disputed": ALL}, [1, 2, 3]),  # a second document may refute what one contradicts
        ({"disputed": ALL, "look_further": "unsupported"}, [1, 2, 3, 4]),
    ],
)
def test_which_claims_are_looked_for(settings: dict[str, Any], claims: list[int]) -> None:
    policy = settings.get("disputed", ("conflict",))
    state = state_of(attempt(scored(DOOR, ROOF, TOWER, LAMP, policy=policy)))

    found = to_look_for(state, setting(**{"look_further": "disputed", **settings}))

    assert sorted(evidence.claim.number for evidence in found) == claims
    disputed = {1, 2} if policy == ALL else {1}
    first = [evidence.claim.number for evidence in found][: len(disputed)]
    assert not claims or {*first} == disputed, "the disputed ones come first"


@pytest.mark.parametrize(
    ("at_hand", "claim", "looks"),
    [(9, LAMP, True), (2, LAMP, False), (None, LAMP, False), (9, claim_with("+--"), False)],
    ids=["a tie", "a tie, all documents known", "a search that costs", "no tie"],
)
def test_a_tie_is_searched_for_again_if_there_are_more_documents(
    at_hand: int | None, claim: ClaimEvidence, looks: bool
) -> None:
    folder: Any = SimpleNamespace(at_hand=at_hand)
    state = state_of(attempt(scored(claim)), documents=[{}, {}], options=())
    settings = setting(retriever=folder, regeneration="revise", look_further="off")
    assert to_look_for(state, settings) == ((claim,) if looks else ())


def test_a_claim_is_looked_for_once_a_run_and_a_round_once() -> None:
    def found(search: FurtherSearch, number: int) -> list[str]:
        last = attempt(scored(LAMP, claim_with("+-", "It is red.", number=2)), round=number)
        state = state_of(FIRST, last, searches=[search.to_json()])
        doubted = to_look_for(state, setting(look_further="disputed", max_rounds=3))
        return [evidence.claim.text for evidence in doubted]

    before = FurtherSearch(round=0, claim=LAMP.claim.text)
    assert found(before, 1) == ["It is red."]
    assert found(before, 0) == []
    assert found(FurtherSearch(round=1, claim="Another."), 2) == [LAMP.claim.text, "It is red."]
    assert found(before, 3) == [], "no round is left in which an answer could be given"


@pytest.mark.parametrize(
    ("settings", "known", "left"),
    [
        ({"budget_seconds": None}, {}, None),
        # 34 of 120 seconds have passed, and a call took 4: seven calls follow one another
        ({"regeneration": "revise"}, {}, 58),
        ({}, {}, 58),  # a whole new answer takes as long as the first, and two calls
        ({"regeneration": "revise"}, {"options": ["a", "b"]}, 58),
        ({"max_rounds": 0}, {}, 86),  # no second answer will come
        ({"method": Method.RAG}, {}, 86),
        ({"budget_seconds": 35}, {}, 0),
        ({"budget_seconds": 62.5}, {}, 0.5),
    ],
)
def test_the_time_to_spare_is_what_a_second_answer_leaves(
    settings: dict[str, Any], known: dict[str, Any], left: float | None
) -> None:
    state: Any = {"timings": {"retrieve": 10.0, "generate": 20.0, "decompose": 4.0}, **known}
    assert spare_time(state, setting(**{"budget_seconds": 120, **settings}), ()) == left


@pytest.mark.parametrize(
    ("answers", "by"),
    [
        (["One"], None),
        (["One", "one "], None),
        (["One", "Two"], 1),
        (["One", "Two", "two", "TWO"], 1),
        (["One", "One", "Two"], 2),
        (["One", "Two", "One"], None),
        (["One", "Two", "One", "Two"], 3),
        (["One", "Two", "Three"], 2),
    ],
)
def test_the_attempt_that_changed_the_answer_is_the_first_that_all_later_ones_kept(
    answers: list[str], by: int | None
) -> None:
    attempts = tuple(
        Attempt(round=number, answer=Answer(text=text)) for number, text in enumerate(answers)
    )
    found = flipped_by(attempts)
    assert (found.round if found else None) == by


def test_a_run_under_way_has_the_answers_that_are_known_so_far() -> None:
    def known(*answers: str, draft: str | None = None) -> tuple[str | None, str | None]:
        state = {
            "question": "When was it lit?",
            "attempts": [
                Attempt(round=n, answer=Answer(text=a)).to_json() for n, a in enumerate(answers)
            ],
            "draft": Answer(text=draft).to_json() if draft else None,
        }
        run = run_of(state)
        return run.first_answer, run.answer

    assert known() == (None, None)
    assert known(draft="In 1871.") == ("In 1871.", "In 1871.")
    assert known("In 1871.", draft="In 1874.") == ("In 1871.", "In 1874.")
    assert known("In 1871.", "In 1872.", "In 1874.") == ("In 1871.", "In 1874.")
