"""Correcting in place: which passages are asked for, how, and what takes their place."""

from typing import Any

import pytest

from conflictscore.errors import ProviderError
from conflictscore.nodes.correct import correct
from conflictscore.nodes.write_in_place import excerpt, explained
from conflictscore.records import Answer, Change, ClaimEvidence, RevisionAction
from tests.nodes.steps import (
    PROMPTS,
    Answers,
    Says,
    attempt,
    claim_with,
    revision,
    running,
    scored,
    setting,
)

LAMP, TOWER = "The lamp is very old.", "The tower is so blue."
DOOR, ROOF = "The door is all red.", "The roof is all flat."
TEXTS = [LAMP, TOWER, DOOR, ROOF]
ANSWER = " ".join(TEXTS)
POLICY = ("conflict", "refuted")
DOWN = ProviderError("somebody is down", provider="somebody")
WHITE = "WAY: REPLACE\nREASON: The deeds say so (Docs 2, 9).\nPASSAGE:\nThe tower is so white."


def evidence(sides: dict[str, str], answer: str = ANSWER) -> list[ClaimEvidence]:
    """The claims of an answer, one a sentence, with the sides that its documents take."""
    return [
        claim_with(side, text, number, (answer.index(text), answer.index(text) + len(text)))
        for number, (text, side) in enumerate(sides.items(), start=1)
    ]


async def revised(
    sides: dict[str, str] | list[ClaimEvidence],
    *replies: str | Exception,
    answer: str = ANSWER,
    **settings: Any,
) -> tuple[dict[str, Any], Answers, list[Any]]:
    """What becomes of an answer, what was asked for it, and the events."""
    claims = evidence(sides, answer) if isinstance(sides, dict) else sides
    weights = settings.pop("weights", None)
    last = attempt(scored(*claims, policy=POLICY, weights=weights), answer)
    somebody, events = Answers(*replies), list[Any]()
    state: Any = {
        "question": "What is the light like?",
        "attempts": [last.to_json()],
        "documents": [{"number": n, "text": f"Text {n}.", "title": f"T{n}"} for n in (1, 2)],
        "notes": ["the first note"],
        "usage": {"calls": 2},
    }
    state["options"] = []
    settings = {"regeneration": "revise", **settings}
    context = setting(generator=Says(""), answerer=somebody, prompts=PROMPTS, **settings)
    return await correct(state, running(context, events)), somebody, events


def shown(request: str, part: str) -> str:
    return request.partition(f'<answer part="{part}">\n')[2].partition("\n</answer>")[0]


async def test_a_disputed_passage_is_asked_for_with_what_stands_around_it() -> None:
    update, somebody, events = await revised({LAMP: "++", TOWER: "+-", ROOF: "00"}, WHITE)

    [(request, _)] = somebody.requests
    assert shown(request, "passage") == TOWER
    assert shown(request, "before") == f"{LAMP} "
    assert shown(request, "after") == f" {DOOR} {ROOF}"
    assert "The question:\nWhat is the light like?\n" in request
    assert request.count("A claim of the passage that is disputed:") == 1
    assert f"<claim>\n{TOWER}\n</claim>" in request
    assert '- Document 2 (T2): "Text 2."' in request
    [made] = [Change.model_validate(one) for one in update["changes"]]
    change = revision(
        TOWER,
        "The tower is so white.",
        ANSWER.index(TOWER),
        reason="The deeds say so (Docs 2, 9).",
        claims=made.claims,
    )
    assert made == change
    assert [claim.claim.text for claim in made.claims] == [TOWER]
    text = ANSWER.replace(TOWER, "The tower is so white.")
    assert update["decision"] == "correct"
    assert update["draft"] == {
        "text": text,
        "option": None,
        "justification": "The deeds say so (Docs 2, 9).",
        "cited": [2],
    }
    assert (update["notes"], update["usage"]["calls"]) == (["the first note"], 3)
    assert events == [], "somebody who answers in the model's place shows it himself"


async def test_passages_are_asked_for_with_most_at_stake_first_and_stand_in_their_order() -> None:
    replies = [WHITE, "WAY: REMOVE\nREASON: It is not known.", "WAY: KEEP\nREASON: Fine (Doc 1)."]
    answer = f"{ANSWER} {LAMP.replace('lamp', 'hall')} {LAMP.replace('lamp', 'yard')}"

    update, somebody, _ = await revised(
        {LAMP: "+-0", TOWER: "+--", DOOR: "-+0"}, *replies, answer=answer
    )

    assert [shown(request, "passage") for request, _ in somebody.requests] == [TOWER, LAMP, DOOR]
    changes = [(one["before"], one["after"], one["action"]) for one in update["changes"]]
    assert changes == [
        (f"{LAMP} ", "", "remove"),
        (TOWER, "The tower is so white.", "replace"),
        (DOOR, DOOR, "keep"),
    ]
    assert [one["reason"] for one in update["changes"]] == [
        "It is not known.",
        "The deeds say so (Docs 2, 9).",
        "Fine (Doc 1).",
    ]
    rest = answer.replace(f"{LAMP} ", "", 1)
    assert update["draft"]["text"] == rest.replace(TOWER, "The tower is so white.")
    reasons = "It is not known. The deeds say so (Docs 2, 9)."
    assert update["draft"]["justification"] == reasons, "to keep a passage is no change"


@pytest.mark.parametrize(
    ("sides", "passages"),
    [
        ({LAMP: "+-"}, [LAMP]),
        ({LAMP: "+-", DOOR: "+-"}, [LAMP, DOOR]),  # not more than half of it
        ({LAMP: "+-", TOWER: "+-"}, [ANSWER]),  # a letter more than half
        ({LAMP: "+-", TOWER: "+-", DOOR: "--"}, [ANSWER]),
    ],
)
async def test_an_answer_that_is_disputed_for_the_most_part_is_looked_at_as_a_whole(
    sides: dict[str, str], passages: list[str]
) -> None:
    _, somebody, _ = await revised(sides, *[DOWN] * 3)

    assert [shown(request, "passage") for request, _ in somebody.requests] == passages


@pytest.mark.parametrize(
    ("answer", "whole"), [(f"{LAMP} {TOWER}", True), (f"{LAMP} {TOWER} {DOOR}", False)]
)
async def test_an_answer_of_two_passages_is_looked_at_as_a_whole(answer: str, whole: bool) -> None:
    update, somebody, _ = await revised({LAMP: "+-"}, "WAY: KEEP\nREASON: So.", answer=answer)

    [(request, _)] = somebody.requests
    assert shown(request, "passage") == (answer if whole else LAMP)
    assert [one["whole"] for one in update["changes"]] == [whole]
    assert ("REMOVE" in request) is not whole, "an answer is never removed"


async def test_an_answer_whose_disputed_claim_is_found_nowhere_is_looked_at_as_a_whole() -> None:
    lost = [claim_with("+-", "It is known to be blue.")]

    _, somebody, _ = await revised(lost, DOWN)

    assert shown(somebody.requests[0][0], "passage") == ANSWER


async def test_only_the_four_most_disputed_claims_of_a_passage_are_shown() -> None:
    at = (ANSWER.index(TOWER), ANSWER.index(TOWER) + len(TOWER))
    claims = [claim_with("+-", f"Claim {n} is so.", n, at) for n in range(1, 7)]

    _, somebody, _ = await revised(claims, DOWN)

    [(request, _)] = somebody.requests
    assert [f"Claim {n} is so." in request for n in range(1, 7)] == [True] * 4 + [False] * 2


async def test_where_the_unsettled_is_kept_nobody_may_hedge() -> None:
    _, hedging, _ = await revised({LAMP: "+-"}, DOWN)
    update, keeping, _ = await revised(
        {LAMP: "+-"}, "WAY: HEDGE\nREASON: So.\nPASSAGE:\nWho knows.", unsettled="keep"
    )

    assert "HEDGE" in hedging.requests[0][0]
    assert "HEDGE" not in keeping.requests[0][0]
    assert update["regeneration_error"] == (
        'unreadable: its first line was not "WAY:" with one of REPLACE, REMOVE, KEEP'
    )


async def test_where_no_passage_could_be_had_the_earlier_answer_stands() -> None:
    alone, _, _ = await revised({LAMP: "+-"}, DOWN)
    both, _, _ = await revised({LAMP: "+-", DOOR: "+-"}, DOWN, DOWN)

    why = "the earlier answer stands, because it could not be regenerated: somebody is down"
    assert {name: value for name, value in alone.items() if name not in ("usage", "changes")} == {
        "decision": "record",
        "reason": why,
        "regeneration_error": "somebody is down",
        "notes": ["the first note", why],
    }
    assert alone["usage"]["calls"] == 2
    assert both["notes"] == [
        "the first note",
        why,
        f"the passage “{LAMP}” stands: somebody is down",
        f"the passage “{DOOR}” stands: somebody is down",
    ]


async def test_a_passage_that_could_not_be_had_is_noted_beside_one_that_could() -> None:
    update, _, _ = await revised({TOWER: "+-", DOOR: "+-"}, WHITE, DOWN)

    assert update["notes"] == [
        "the first note",
        f"the passage “{DOOR}” stands: somebody is down",
    ]
    changed, kept = (Change.model_validate(one) for one in update["changes"])
    assert (changed.accepted, changed.note) == (True, None)
    assert (kept.accepted, kept.note) == (False, "somebody is down")
    assert kept.action is RevisionAction.KEEP
    assert (kept.before, kept.after, kept.round) == (DOOR, DOOR, 1)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (
            "the new passage; leave this part out if the passage is kept or removed",
            "the new passage, “the new passage; leave this part out if the passage is kept …”, is"
            " copied from the request",
        ),
        (
            "See the new passage.",
            "the new passage, “See the new passage.”, speaks of the passage itself",
        ),
        (f"It is white. {DOOR}", "it repeats another part of the answer"),
        ("END", "a stop word of the caller leaves nothing of it"),
    ],
)
async def test_what_cannot_take_a_passages_place_is_refused_with_the_reason(
    said: str, why: str
) -> None:
    reply = f"WAY: REPLACE\nREASON: So.\nPASSAGE:\n{said}"

    update, _, _ = await revised({TOWER: "+-"}, reply, answer_parameters={"stop": ["END"]})

    assert update["regeneration_error"].replace("kept…”", "kept …”") == f"unreadable: {why}"


async def test_a_passage_ends_before_the_callers_stop_word() -> None:
    reply = "WAY: REPLACE\nREASON: So.\nPASSAGE:\nThe tower is so white. END of it."

    update, _, _ = await revised({TOWER: "+-"}, reply, answer_parameters={"stop": ["END"]})

    assert update["draft"]["text"] == ANSWER.replace(TOWER, "The tower is so white.")


async def test_what_has_no_weight_is_not_shown_as_evidence() -> None:
    at = evidence({TOWER: "+-"})

    _, somebody, _ = await revised(at, DOWN, weights={1: 0.5, 2: 1.0})
    weighed = somebody.requests[0][0]
    assert weighed.index("Document 1 (T1)") < weighed.index("Document 2 (T2)")

    three = evidence({TOWER: "+--"})
    update, _, _ = await revised(three, WHITE, weights={3: 0.0})
    assert update["changes"][0]["claims"][0]["labels"] == at[0].to_json()["labels"]


async def test_nothing_is_revised_without_a_claim_in_dispute() -> None:
    with pytest.raises(ValueError, match=r"^correct was reached without a disputed claim$"):
        await revised({LAMP: "++"}, WHITE)


def test_a_passage_is_told_by_how_it_begins_on_one_line() -> None:
    assert excerpt("The lamp\n is  old.") == "The lamp is old."
    assert excerpt("x" * 60) == "x" * 60
    assert excerpt("x" * 61) == "x" * 60 + "…"


def test_an_answer_is_explained_by_the_changes_that_stand_in_it_each_reason_once() -> None:
    answer = Answer(text="It is white.")
    same = revision("a", "b", reason="So (Doc 1).")
    refused = revision("c", "d", reason="Not so.", accepted=False)
    kept, silent = revision("e", "E", reason="Kept."), revision("f", "g")

    told = explained(answer, [same, refused, kept, silent, same], [])

    assert (told.justification, told.cited) == ("So (Doc 1).", ())
    assert explained(answer, [refused, kept, silent], []) is answer
