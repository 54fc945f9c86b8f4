"""Claims of an answer that was revised in place: which are kept, and their new places."""

from typing import Any

import pytest

from conflictscore.answering.claim_places import claims_in_place
from conflictscore.errors import ProviderError
from conflictscore.nodes.decompose import decompose
from conflictscore.records import Answer, Claim, Gap, GapKind
from tests.nodes.steps import PROMPTS, Says, attempt, claim_with, revision, running, scored, setting

LAMP, TOWER, DOOR = "The lamp is old.", "The tower is blue.", "The door is red."
ANSWER = f"{LAMP}{TOWER}{DOOR}"
"""The passages touch, so that each place is exact."""


def at(text: str) -> tuple[int, int]:
    return ANSWER.index(text), ANSWER.index(text) + len(text)


CLAIMS = [Claim(number=n, text=t, passage=at(t)) for n, t in enumerate((LAMP, TOWER, DOOR), 1)]


LONGER, WHITE, STEEP = "The tower is white, as ever.", "The tower is white.", "It is steep."


@pytest.mark.parametrize(
    ("changes", "claimed", "passages"),
    [
        ([(TOWER, LONGER, ("It is white.",))], [LAMP, "It is white.", DOOR], [LAMP, LONGER, DOOR]),
        ([(TOWER, f"{WHITE} {STEEP}", (STEEP, WHITE))], *[[LAMP, WHITE, STEEP, DOOR]] * 2),
        ([(LAMP, "", ())], *[[TOWER, DOOR]] * 2),
        ([(LAMP, STEEP, (STEEP,)), (TOWER, LONGER, (LONGER,))], *[[STEEP, LONGER, DOOR]] * 2),
    ],
    ids=["a longer passage", "claims in the order of the text", "a passage that went", "two"],
)
def test_claims_stay_or_move_with_the_passages_that_say_them(
    changes: list[tuple[str, str, tuple[str, ...]]], claimed: list[str], passages: list[str]
) -> None:
    revised, after = [], ANSWER
    for before, new, said in changes:
        revised.append(revision(before, new, at(before)[0], new_claims=said))
        after = after.replace(before, new)

    claims = claims_in_place(CLAIMS, revised)

    assert [claim.number for claim in claims] == [n for n, _ in enumerate(claimed, start=1)]
    assert [claim.text for claim in claims] == claimed
    assert [after[slice(*claim.passage)] for claim in claims if claim.passage] == passages


def test_a_claim_with_an_unknown_place_is_kept_and_comes_last() -> None:
    lost = Claim(number=1, text="It is known.")

    claims = claims_in_place([lost, *CLAIMS[1:]], [revision(TOWER, "", at(TOWER)[0])])

    assert [(claim.number, claim.text) for claim in claims] == [(1, DOOR), (2, lost.text)]
    assert claims[1].passage is None


async def apart(answer: Answer, model: Says, **known: Any) -> tuple[dict[str, Any], list[Any]]:
    """The update for an answer that is split into claims, and its events."""
    events: list[Any] = []
    settings = {"decomposer": model, "prompts": PROMPTS, **known.pop("settings", {})}
    state: Any = {"draft": answer.to_json(), **known}
    return await decompose(state, running(setting(**settings), events)), events


async def test_only_a_changed_passage_is_split_and_the_text_before_it_is_shown() -> None:
    before = scored(*(claim_with("+-", c.text, c.number, c.passage) for c in CLAIMS))
    gap = Gap(kind=GapKind.UNCLAIMED, note="the door stands in no claim")
    first = attempt(before, ANSWER, gaps=(gap,))
    white = revision(TOWER, "The tower is white.", at(TOWER)[0])
    kept, gone = revision(LAMP, LAMP, 0), revision(DOOR, "", at(DOOR)[0])
    model = Says("Claims:\n- The tower is white.")

    update, _ = await apart(
        Answer(text=f"{LAMP}The tower is white."),
        model,
        attempts=[first.to_json()],
        changes=[one.to_json() for one in (kept, white, gone)],
    )

    [(prompt, _)] = model.asked
    assert f"{LAMP}\n" in prompt
    assert "<answer>\nThe tower is white.\n</answer>" in prompt
    assert [claim["text"] for claim in update["claims"]] == [LAMP, "The tower is white."]
    assert [one["new_claims"] for one in update["changes"]] == [[], ["The tower is white."], []]
    assert (update["gaps"], update["usage"]["calls"]) == ([gap.to_json()], 1)


async def test_a_changed_passage_that_cannot_be_taken_apart_is_noted_as_unchecked() -> None:
    first = attempt(scored(claim_with("+-", TOWER, 1, at(TOWER))), ANSWER)
    change = revision(TOWER, "The tower is white.", at(TOWER)[0])
    down = Says(ProviderError("the model is down", provider="model"))

    update, _ = await apart(
        Answer(text=ANSWER), down, attempts=[first.to_json()], changes=[change.to_json()]
    )

    [revised] = update["changes"]
    assert revised["note"] == "it could not be split into claims: the model is down"
    assert (update["claims"], update["decomposition_error"]) == ([], None)


class SaysAgain(Says):
    """A model that is asked once more if its reply cannot be read."""

    async def ask(self, prompt: str, read: Any, *, meter: Any, **how: Any) -> Any:
        try:
            return await super().ask(prompt, read, meter=meter, **how)
        except ValueError:
            return await super().ask(prompt, read, meter=meter, **how)


IN_PLACE: dict[str, Any] = {
    "question": "Was the lamp lit in 1871?",
    "settings": {"regeneration": "revise"},
}


@pytest.mark.parametrize(
    ("answer", "replies", "claimed"),
    [
        ("Yes.", ["The lamp was lit in 1871."], ["The lamp was lit in 1871."]),
        ("False", ["False", "It was not lit then."], ["It was not lit then."]),
        ("Yes", ["It was not lit in 1871.", "It was lit in 1871."], ["It was lit in 1871."]),
        ("No!", [" ", "Sentence: The lamp was not lit."], ["The lamp was not lit."]),
        ("The second", ["The second lamp was lit."], ["The second lamp was lit."]),
        ("No.", ["The lamp was lit in 1871."], ["It is not true that “The lamp was lit in 1871”."]),
    ],
)
async def test_a_short_answer_becomes_a_statement_in_answer_to_its_question(
    answer: str, replies: list[str], claimed: list[str]
) -> None:
    model = SaysAgain(*replies)

    update, _ = await apart(Answer(text=answer), model, **IN_PLACE)

    assert [claim["text"] for claim in update["claims"]] == claimed
    assert [claim["passage"] for claim in update["claims"]] == [[0, len(answer)]]
    assert "Was the lamp lit in 1871?" in model.asked[0][0]


@pytest.mark.parametrize("question", ["Is this true or false: {}", "True or false? {}"])
@pytest.mark.parametrize(
    ("answer", "claim"),
    [
        ("True.", "The lamp was lit in 1871."),
        ("yes", "The lamp was lit in 1871."),
        ("False", "It is not true that “The lamp was lit in 1871”."),
    ],
)
async def test_a_question_that_states_what_it_asks_about_needs_no_model(
    question: str, answer: str, claim: str
) -> None:
    asked = IN_PLACE | {"question": question.format("The lamp was lit in 1871.")}
    model = Says()

    update, _ = await apart(Answer(text=answer), model, **asked)

    assert [claim["text"] for claim in update["claims"]] == [claim]
    assert not model.asked


async def test_a_longer_answer_is_taken_apart_with_its_question_unless_by_the_paper() -> None:
    longer = Answer(text="The lamp of the light was lit in 1871.")
    in_place, paper = Says("Claims:\n- The lamp was lit."), Says("Claims:\n- The lamp was lit.")

    await apart(longer, in_place, **IN_PLACE)
    await apart(longer, paper, question=IN_PLACE["question"])

    assert "Was the lamp lit in 1871?" in in_place.asked[0][0]
    assert "Was the lamp lit in 1871?" not in paper.asked[0][0]


@pytest.mark.parametrize("answer", ["Nem tudom.", "I don't know.", "¿Qué faro?"])
async def test_a_short_answer_that_declines_or_asks_back_takes_no_call(answer: str) -> None:
    model = Says()
    update, _ = await apart(Answer(text=answer), model, **IN_PLACE)

    assert (update["claims"], model.asked) == ([], [])
    assert [gap["kind"] for gap in update["gaps"]] == [GapKind.STATES_NOTHING]
