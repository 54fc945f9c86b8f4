"""The steps that produce an answer: the first, another one, the reason for a change."""

from typing import Any

import pytest

from conflictscore.correcting.anew import write_anew
from conflictscore.errors import BudgetError, ProviderError
from conflictscore.loop.state import GeneratedAnswer, Reconsider
from conflictscore.models.usage import UsageMeter
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
    heard = claim_with("+-", "It was lit.")  # a document without weight is not shown
    assert (doubt.before.text, doubt.claim) == ("In 1871.", heard)
    assert doubt.weights == {1: 1.0, 2: 0.5, 3: 0.0}
    assert update == {
        "decision": "decompose",
        "draft": Answer(text="In 1874.", justification="So.").to_json(),
        "changes": [
            revision("In 1871.", "In 1874.", whole=True, reason="So.", claims=(heard,)).to_json()
        ],
        "notes": ["the first note", "cut"],
        "usage": {**USAGE, "output_tokens": 3},
        "timings": {"generate": 1.0, "correct": 2.0},
    }


# The reason for a change


CHANGED = attempt(DISPUTED, "In 1874.", round=1)
CHANGE = revision("In 1871.", "In 1874.", whole=True, claims=(claim_with("+--", "It was lit."),))


def changed_state(*attempts: Attempt) -> Any:
    """A run whose answer changed in the first round, without a reason."""
    return state_of(attempt(DISPUTED), *attempts, changes=[CHANGE.to_json()])


async def test_the_reason_of_a_change_is_put_on_one_line_with_the_documents_it_cites() -> None:
    model = Says("The log\nis older (Docs 2, 3, 9). ")
    kept = attempt(DISPUTED, "In 1874.", round=2)

    update = await justify(
        changed_state(CHANGED, kept), running(setting(generator=model, prompts=PROMPTS))
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


async def test_a_budget_that_ends_with_a_reason_ends_the_run_unless_passages_were_revised() -> None:
    runtime = running(setting(generator=Says(SPENT), prompts=PROMPTS))

    with pytest.raises(BudgetError):
        await justify(changed_state(CHANGED), runtime)

    in_place = setting(generator=Says(SPENT), prompts=PROMPTS, regeneration="revise")
    update = await justify(changed_state(CHANGED), running(in_place))
    assert update["notes"][-1] == f"the change has no justification: {SPENT}"


# The paper's "main claim that had conflicts", by each reading

THREE = scored(
    claim_with("++--0", number=1), claim_with("+--00", number=2), claim_with("+++--", number=3)
)
"""Three claims: the second has most contradictions, and the third has most evidence."""


@pytest.mark.parametrize(
    ("rule", "reply", "claim"),
    [
        ("worst", None, 2),
        ("first", None, 1),
        ("most-evidence", None, 3),
        ("asked", "1", 1),
        ("asked", "The main claim is 3.", 3),
        ("asked", ProviderError("silent", provider="scripted"), 2),
    ],
)
async def test_a_claim_is_put_back_by_each_reading(
    rule: Reconsider, reply: str | Exception | None, claim: int
) -> None:
    again = GeneratedAnswer(Answer(text="In 1874."))
    answers = Answers(*([] if reply is None else [reply]), again)
    state: Any = {"question": "When was the lamp lit?", "options": [], "documents": []}
    context = setting(reconsider=rule, answerer=answers)
    written = await write_anew(attempt(THREE), state, context, UsageMeter())
    assert [looked.claims[0].claim.number for looked in written.changes] == [claim]
    assert [request.claim.claim.number for request in answers.doubts] == [claim]
    assert bool(written.notes) is isinstance(reply, Exception)


async def test_a_failed_revision_keeps_the_note_on_the_choice_of_its_claim() -> None:
    silent = ProviderError("silent", provider="scripted")
    state: Any = {"question": "When was the lamp lit?", "options": [], "documents": []}
    context = setting(reconsider="asked", answerer=Answers(silent, silent))
    written = await write_anew(attempt(THREE), state, context, UsageMeter())
    [change] = written.changes
    assert (written.answer, change.note) == (None, "silent")
    assert ["named no main claim" in note for note in written.notes] == [True]


async def test_the_only_claim_in_conflict_is_put_back_and_the_model_is_not_asked() -> None:
    answers = Answers(GeneratedAnswer(Answer(text="In 1874.")))
    state: Any = {"question": "When was the lamp lit?", "options": [], "documents": []}
    context = setting(reconsider="asked", answerer=answers)
    one = attempt(scored(claim_with("+-")))
    written = await write_anew(one, state, context, UsageMeter())
    assert (written.notes, answers.requests) == ((), [])
