"""How much of a conversation a model sees."""

from types import SimpleNamespace
from typing import Any

import pytest

from conflictscore.answering.conversation import (
    Conversation,
    conversation_of,
    stand_alone_question,
)
from conflictscore.errors import ProviderError
from conflictscore.loop.state import RunContext
from conflictscore.loop.turns import Turn
from conflictscore.models.usage import UsageMeter
from conflictscore.tokens import count_tokens
from tests.correcting.helpers import ByNumbers, Replies

FRAME = 4
"""Tokens of a message besides its text."""
OFFICE = ("system", "You answer for the harbour office.")
TALK = [
    ("user", "Tell me of the lighthouse."),
    ("assistant", "It stands on the point, and it has a lamp."),
    ("user", "And the tower?"),
    ("assistant", "It is white."),
]


def room_for(*turns: tuple[str, str]) -> int:
    """The number of tokens in these turns."""
    return sum(count_tokens(text) + FRAME for _, text in turns)


def shown(turns: list[tuple[str, str]], room: int) -> Conversation:
    """The turns that are shown if a conversation has this much room."""
    state: Any = {"history": [{"role": role, "content": text} for role, text in turns]}
    model: Any = SimpleNamespace(name="scripted", context_window=4 * room + 3)
    return conversation_of(state, model)


def said(conversation: Conversation) -> list[tuple[str, str]]:
    return [(turn.role, turn.content) for turn in conversation.turns]


WHOLE = [OFFICE, *TALK]
BRIEF = ("system", "Be brief.")
LONG = ("user", "a walk along the shore " * 40)


@pytest.mark.parametrize(
    ("turns", "room", "kept"),
    [
        (WHOLE, room_for(*WHOLE), WHOLE),
        (WHOLE, room_for(*WHOLE) - 1, [OFFICE, *TALK[2:]]),
        (WHOLE, room_for(OFFICE, *TALK[1:]), [OFFICE, *TALK[2:]]),
        (TALK[1:], room_for(*TALK[1:]), TALK[1:]),
        ([*WHOLE, BRIEF], 1, [OFFICE, BRIEF]),
        ([*TALK[:2], BRIEF, *TALK[2:]], room_for(BRIEF, *TALK), [*TALK[:2], BRIEF, *TALK[2:]]),
        ([TALK[0], LONG, *TALK[2:]], room_for(TALK[0], *TALK[2:]), TALK[2:]),
    ],
    ids=[
        *("just fits", "a token less", "the rest begins with the user"),
        *("a whole one may begin with the assistant", "instructions stay though nothing fits"),
        *("instructions stay in their place", "the oldest go though an older one would fit"),
    ],
)
def test_a_conversation_is_shown_as_far_as_it_fits(
    turns: list[tuple[str, str]], room: int, kept: list[tuple[str, str]]
) -> None:
    conversation = shown(turns, room)

    assert (said(conversation), conversation.left_out) == (kept, len(turns) - len(kept))


async def test_if_the_model_that_answers_cannot_rewrite_a_question_another_judge_is_asked() -> None:
    def fail(prompt: str) -> Exception:
        return ProviderError("overloaded", provider="scripted")

    failing: Any = Replies(fail)
    judge: Any = Replies(lambda prompt: "When was the lamp of the lighthouse lit?")
    labeler: Any = ByNumbers()
    talk = Conversation(tuple(Turn(*turn) for turn in TALK))
    meter = UsageMeter()

    two_models = RunContext(generator=failing, decomposer=judge, labeler=labeler)
    question = await stand_alone_question("When was it lit?", talk, two_models, meter)
    one_model = RunContext(generator=failing, decomposer=failing, labeler=labeler)
    with pytest.raises(ProviderError):
        await stand_alone_question("When was it lit?", talk, one_model, meter)

    assert question == "When was the lamp of the lighthouse lit?"
    assert (len(failing.asked), len(judge.asked)) == (2, 1)
