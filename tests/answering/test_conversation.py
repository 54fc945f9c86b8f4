"""How much of a conversation a model sees."""

from types import SimpleNamespace
from typing import Any

import pytest

from conflictscore.answering.conversation import Conversation, conversation_of
from conflictscore.tokens import count_tokens

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
