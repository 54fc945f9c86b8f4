"""How much of a conversation a model is shown."""

from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from conflictscore.errors import InputError
from conflictscore.nodes.conversation import Conversation, Turn, conversation_of, read_after
from conflictscore.tokens import count_tokens

FRAME = 4
"""What a message takes beside its text."""
OFFICE = ("system", "You answer for the harbour office.")
TALK = [
    ("user", "Tell me of the lighthouse."),
    ("assistant", "It stands on the point, and it has a lamp."),
    ("user", "And the tower?"),
    ("assistant", "It is white."),
]


def room_for(*turns: tuple[str, str]) -> int:
    """The tokens of these turns."""
    return sum(count_tokens(text, "scripted") + FRAME for _, text in turns)


def shown(turns: list[tuple[str, str]], room: int) -> Conversation:
    """What is shown of these turns where a conversation has so much room."""
    state: Any = {"history": [{"role": role, "content": text} for role, text in turns]}
    model: Any = SimpleNamespace(name="scripted", context_window=4 * room + 3)
    return conversation_of(state, model)


def said(conversation: Conversation) -> list[tuple[str, str]]:
    return [(turn.role, turn.content) for turn in conversation.turns]


def test_a_conversation_that_just_fits_is_shown_whole() -> None:
    turns = [OFFICE, *TALK]

    assert said(shown(turns, room_for(*turns))) == turns
    assert shown(turns, room_for(*turns)).left_out == 0
    fewer = shown(turns, room_for(*turns) - 1)
    assert said(fewer) == [OFFICE, *TALK[2:]]
    assert fewer.left_out == 2


def test_what_is_left_of_a_long_conversation_begins_with_the_user() -> None:
    room = room_for(OFFICE, *TALK[1:])  # as far as the answer of the assistant

    kept = shown([OFFICE, *TALK], room)

    assert said(kept) == [OFFICE, *TALK[2:]]
    assert kept.left_out == 2


def test_a_conversation_that_is_shown_whole_may_begin_with_the_assistant() -> None:
    turns = TALK[1:]

    assert said(shown(turns, room_for(*turns))) == turns


def test_the_instructions_stay_where_they_stand_though_nothing_else_fits() -> None:
    later = ("system", "Be brief.")

    kept = shown([OFFICE, *TALK, later], 1)

    assert (said(kept), kept.left_out) == ([OFFICE, later], 4)
    whole = [*TALK[:2], later, *TALK[2:]]
    assert said(shown(whole, room_for(*whole))) == whole


def test_turns_are_left_out_from_the_oldest_on_though_an_older_one_would_fit() -> None:
    long = ("user", "a walk along the shore " * 40)

    kept = shown([TALK[0], long, *TALK[2:]], room_for(TALK[0], *TALK[2:]))

    assert (said(kept), kept.left_out) == (TALK[2:], 2)


def test_only_what_user_and_assistant_said_can_be_gone_on_from() -> None:
    conversation = shown([OFFICE, *TALK], 10_000)

    assert [turn.role for turn in conversation.spoken] == ["user", "assistant"] * 2
    assert conversation.messages[:3] == (
        SystemMessage(OFFICE[1]),
        HumanMessage(TALK[0][1]),
        AIMessage(TALK[1][1]),
    )


def test_all_that_is_read_before_a_question_stands_in_front_of_it() -> None:
    turns = (Turn(role="system", content="Be brief."), Turn(role="user", content="Hello."))

    whole = read_after(Conversation(turns).messages, "When was it lit?")

    assert whole == "system: Be brief.\nhuman: Hello.\nWhen was it lit?"


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ({"role": "user"}, ": Message dict must contain"),
        ({"role": "user", "content": "\n"}, ": it has no text"),
        ({"role": "stranger", "content": "x"}, ": Unexpected message type"),
        (3, ": Unsupported message type"),
    ],
)
def test_a_turn_that_cannot_be_used_is_named_by_its_place(second: Any, said: str) -> None:
    model: Any = SimpleNamespace(name="scripted", context_window=4096)
    state: Any = {"history": [{"role": "user", "content": "Hello."}, second]}

    with pytest.raises(InputError) as refused:
        conversation_of(state, model)

    assert str(refused.value).startswith(f"history, turn 2{said}")
