"""The steps that have an answer given: the first, another one, the reason of a change."""

from typing import Any

import pytest

from conflictscore.errors import BudgetError, ContextWindowError, ProviderError
from conflictscore.nodes.answering import GeneratedAnswer
from conflictscore.nodes.contextualize import contextualize
from conflictscore.nodes.correct import correct
from conflictscore.nodes.generate import generate
from conflictscore.nodes.justify import justify
from conflictscore.records import Answer, Attempt
from tests.nodes.steps import (
    PROMPTS,
    SPENT,
    Answers,
    Says,
    attempt,
    claim_with,
    revision,
    running,
    scored,
    setting,
)

DOCUMENTS = [{"number": n, "text": f"It was lit in 187{n}."} for n in (1, 2, 3)]
DISPUTED = scored(claim_with("+-", "It was lit."))
USAGE = {"calls": 3, "cached_calls": 0, "input_tokens": 7, "cache_read_tokens": 0}


def state_of(*attempts: Attempt, **known: Any) -> Any:
    return {
        "question": "When was it lit?",
        "options": [],
        "documents": DOCUMENTS,
        "attempts": [one.to_json() for one in attempts],
        "notes": ["the first note"],
        "usage": {"calls": 2},
        "timings": {"generate": 1.0},
        **known,
    }


# The first answer


async def test_the_first_answer_is_told_with_what_it_cost_and_how_it_was_had() -> None:
    events: list[Any] = []
    given = GeneratedAnswer(Answer(text="In 1871."), ("the agent was slow",), 2.5)

    update = await generate(state_of(), running(setting(answerer=Answers(given)), events))

    assert update == {
        "draft": given.answer.to_json(),
        "notes": ["the first note", "the agent was slow"],
        "usage": {**USAGE, "output_tokens": 3},
        "timings": {"generate": 3.5},
    }
    assert events == [{"event": "answer", "round": 0, "answer": "In 1871."}]


async def test_an_answer_that_is_given_along_is_told_and_costs_nothing() -> None:
    events: list[Any] = []

    update = await generate(state_of(draft_answer=" In 1871. "), running(setting(), events))

    assert (update["draft"]["text"], update["usage"]["calls"]) == ("In 1871.", 2)
    assert update["timings"] == {"generate": 1.0}
    assert events == [{"event": "answer", "round": 0, "answer": "In 1871."}]


async def test_a_first_answer_is_told_at_once_though_the_guard_watches_over_later_ones() -> None:
    events: list[Any] = []

    await generate(state_of(draft_answer="In 1871."), running(setting(guard=True), events))

    assert [event["round"] for event in events] == [0]


# Another answer


async def test_another_answer_is_asked_for_with_the_claim_in_doubt() -> None:
    weighed = scored(claim_with("+-+", "It was lit."), weights={1: 1.0, 2: 0.5, 3: 0.0})
    answers = Answers(GeneratedAnswer(Answer(text="In 1874.", justification="So."), ("cut",), 2.0))

    update = await correct(state_of(attempt(weighed)), running(setting(answerer=answers)))

    [doubt] = answers.doubts
    heard = claim_with("+-", "It was lit.")  # what has no weight is not shown
    assert (doubt.before.text, doubt.claim) == ("In 1871.", heard)
    assert doubt.weights == {1: 1.0, 2: 0.5, 3: 0.0}
    assert update == {
        "decision": "correct",
        "draft": Answer(text="In 1874.", justification="So.").to_json(),
        "changes": [
            revision("In 1871.", "In 1874.", whole=True, reason="So.", claims=(heard,)).to_json()
        ],
        "notes": ["the first note", "cut"],
        "usage": {**USAGE, "output_tokens": 3},
        "timings": {"generate": 1.0, "correct": 2.0},
    }


async def test_a_later_round_begins_with_the_answer_before_it() -> None:
    answers = Answers(GeneratedAnswer(Answer(text="In 1874.", justification="So.")))
    second = attempt(DISPUTED, "In 1872.", round=1)

    update = await correct(
        state_of(attempt(DISPUTED), second), running(setting(answerer=answers, guard=True))
    )

    claim = claim_with("+-", "It was lit.")
    whole = revision("In 1872.", "In 1874.", round=2, whole=True, reason="So.", claims=(claim,))
    assert update["changes"] == [whole.to_json()]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (ProviderError("the model is down", provider="model"), "the model is down"),
        (ContextWindowError("too small a window"), "too small a window"),
        (" \n", "the new answer was empty"),
    ],
)
async def test_without_another_answer_the_earlier_one_stands_and_says_why(
    given: Exception | str, why: str
) -> None:
    update = await correct(state_of(attempt(DISPUTED)), running(setting(answerer=Answers(given))))

    note = f"the earlier answer stands, because it could not be regenerated: {why}"
    cost = {"calls": 3, "input_tokens": 7, "output_tokens": 3} if given == " \n" else {"calls": 2}
    assert {name: n for name, n in update.pop("usage").items() if n} == cost
    [kept] = update.pop("changes")
    assert (kept["action"], kept["accepted"], kept["note"]) == ("keep", False, why)
    assert update == {
        "decision": "record",
        "reason": note,
        "regeneration_error": why,
        "notes": ["the first note", note],
    }


async def test_a_change_before_a_failure_is_still_asked_for_its_reason() -> None:
    down = ProviderError("the model is down", provider="model")
    changed = attempt(DISPUTED, "In 1874.", round=1)

    update = await correct(
        state_of(attempt(DISPUTED), changed), running(setting(answerer=Answers(down)))
    )

    assert update["decision"] == "justify"


@pytest.mark.parametrize("report", [None, scored(claim_with("++"))])
async def test_nothing_is_given_again_without_a_claim_in_doubt(report: Any) -> None:
    with pytest.raises(ValueError, match=r"^correct was reached without a disputed claim$"):
        await correct(state_of(attempt(report)), running(setting(answerer=Answers())))


# The reason of a change


CHANGED = attempt(DISPUTED, "In 1874.", round=1)
CHANGE = revision("In 1871.", "In 1874.", whole=True, claims=(claim_with("+--", "It was lit."),))


def changed_state(*attempts: Attempt) -> Any:
    """A run whose answer changed in the first round, without a reason."""
    return state_of(attempt(DISPUTED), *attempts, changes=[CHANGE.to_json()])


async def test_the_reason_of_a_change_is_put_on_one_line_with_the_documents_it_cites() -> None:
    model = Says("The log\nis older (Docs 2, 3, 9). ")
    kept = attempt(DISPUTED, "In 1874.", round=2)

    update = await justify(
        changed_state(CHANGED, kept),
        running(setting(generator=model, prompts=PROMPTS)),
    )

    reasons = [Attempt.model_validate(one).answer for one in update["attempts"]]
    assert [one.justification for one in reasons] == [
        None,
        "The log is older (Docs 2, 3, 9).",
        None,
    ]
    assert [one.cited for one in reasons] == [(), (2, 3), ()]
    assert update["changes"][0]["reason"] == "The log is older (Docs 2, 3, 9)."
    assert update["usage"] == {**USAGE, "output_tokens": 3}
    [(prompt, how)] = model.asked
    assert "The question:\nWhen was it lit?\n" in prompt
    assert "The first answer:\n<answer>\nIn 1871.\n</answer>" in prompt
    assert "The second answer:\n<answer>\nIn 1874.\n</answer>" in prompt
    assert "<claim>\nIt was lit.\n</claim>" in prompt
    assert '- Document 3: "It was lit in 1873."' in prompt
    assert (how["max_tokens"], how["history"], how["prompts"]) == (160, (), PROMPTS)


async def test_the_most_trusted_documents_come_first_in_what_the_reason_is_asked_from() -> None:
    model = Says("The log is older.")
    weighed = scored(claim_with("+--", "It was lit."), weights={2: 0.1, 3: 0.9})

    await justify(
        changed_state(CHANGED.model_copy(update={"report": weighed})),
        running(setting(generator=model, prompts=PROMPTS)),
    )

    [(prompt, _)] = model.asked
    assert prompt.index("- Document 3:") < prompt.index("- Document 2:")


async def test_a_change_without_a_reason_stays_with_a_note() -> None:
    down = ProviderError("the model is down", provider="model")

    update = await justify(
        changed_state(CHANGED),
        running(setting(generator=Says(down), prompts=PROMPTS)),
    )

    note = "the change has no justification: the model is down"
    assert update["notes"] == ["the first note", note]
    assert update["usage"]["calls"] == 2
    assert "attempts" not in update


async def test_a_budget_that_ends_with_a_reason_ends_the_run_unless_passages_were_revised() -> None:
    runtime = running(setting(generator=Says(SPENT), prompts=PROMPTS))

    with pytest.raises(BudgetError):
        await justify(changed_state(CHANGED), runtime)

    in_place = setting(generator=Says(SPENT), prompts=PROMPTS, regeneration="revise")
    update = await justify(changed_state(CHANGED), running(in_place))
    assert update["notes"][-1] == f"the change has no justification: {SPENT}"


@pytest.mark.parametrize(
    "attempts", [[attempt(DISPUTED)], [attempt(DISPUTED), attempt(DISPUTED, "In 1874.", round=1)]]
)
async def test_what_did_not_change_on_evidence_needs_no_reason(attempts: list[Attempt]) -> None:
    with pytest.raises(ValueError, match=r"^justify was reached without a change of the answer$"):
        await justify(state_of(*attempts), running(setting(prompts=PROMPTS)))


# The question


TALK = [{"role": "user", "content": "Tell me of it."}, {"role": "assistant", "content": "A lamp."}]


async def test_a_question_is_rewritten_by_what_was_said_before() -> None:
    events: list[Any] = []
    model = Says(" When was the lamp lit?\n")

    update = await contextualize(
        {"question": "When?", "history": TALK},
        running(setting(generator=model, prompts=PROMPTS), events),
    )

    assert update == {
        "question": "When was the lamp lit?",
        "notes": [],
        "usage": {**USAGE, "calls": 1, "output_tokens": 3},
    }
    assert events == [{"event": "question", "asked": "When?", "question": "When was the lamp lit?"}]
    [(prompt, how)] = model.asked
    assert "user: Tell me of it.\nassistant: A lamp." in prompt
    assert how["prompts"] is PROMPTS


async def test_a_question_that_stays_as_it_was_is_no_event() -> None:
    down = Says(ProviderError("the model is down", provider="model"))
    events: list[Any] = []

    same = await contextualize(
        {"question": "When?", "history": TALK},
        running(setting(generator=Says("When?"), prompts=PROMPTS), events),
    )
    failed = await contextualize(
        {"question": "When?", "history": TALK, "notes": ["the first note"]},
        running(setting(generator=down, prompts=PROMPTS), events),
    )

    assert (same["question"], same["notes"], events) == ("When?", [], [])
    why = "the question was used as it was asked, without its conversation: the model is down"
    assert failed["question"] == "When?"
    assert failed["notes"] == ["the first note", why]


async def test_turns_that_there_is_no_room_for_are_counted_in_a_note() -> None:
    model = Says("When was the lamp lit?")
    long = [{"role": "user", "content": "a walk along the shore " * 2000}]

    update = await contextualize(
        {"question": "When?", "history": [*long, *TALK]},
        running(setting(generator=model, prompts=PROMPTS)),
    )

    assert update["notes"] == [
        "the 1 oldest turns of the conversation were left out: they are longer than its share of"
        " the context window"
    ]
