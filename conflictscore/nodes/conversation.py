"""The conversation before a question, cut to a share of the model's context window."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, ConfigDict, ValidationError

from conflictscore.errors import InputError
from conflictscore.models.language_model import LanguageModel
from conflictscore.nodes.state import RagState
from conflictscore.prompts import neutral
from conflictscore.tokens import count_tokens

__all__ = ["Conversation", "Turn", "conversation_of", "read_after"]

_SHARE = 4
"""A conversation gets 1 / _SHARE of the context window; the documents need the rest."""
_FRAME_TOKENS = 4
"""Tokens of a chat message beside its text."""
_MESSAGES = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}


class Turn(BaseModel):
    """One earlier message of a conversation."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class Conversation:
    """The turns that a model is shown."""

    turns: tuple[Turn, ...]
    """Oldest first."""
    left_out: int = 0
    """Number of older turns that did not fit."""

    @property
    def messages(self) -> tuple[BaseMessage, ...]:
        """The turns as chat messages."""
        return tuple(_MESSAGES[turn.role](neutral(turn.content)) for turn in self.turns)

    @property
    def spoken(self) -> tuple[Turn, ...]:
        """The turns of user and assistant."""
        return tuple(turn for turn in self.turns if turn.role != "system")


def conversation_of(state: RagState, model: LanguageModel) -> Conversation:
    """The conversation so far, in at most a quarter of a model's context window.

    The oldest turns of user and assistant are left out first, so that the first one shown is the
    user's. System turns always stay.

    Raises:
        InputError: A turn has no text, an unknown role or an unknown field.
    """
    turns = _turns(state)
    sizes = [count_tokens(turn.content, model.name).n + _FRAME_TOKENS for turn in turns]
    spoken = [index for index, turn in enumerate(turns) if turn.role != "system"]
    room = model.context_window // _SHARE - sum(sizes) + sum(sizes[index] for index in spoken)
    shown: list[int] = []
    for index in reversed(spoken):
        room -= sizes[index]
        if room < 0:
            break
        shown.insert(0, index)
    if len(shown) < len(spoken):
        while shown and turns[shown[0]].role == "assistant":
            del shown[0]
    return Conversation(
        turns=tuple(
            turn for index, turn in enumerate(turns) if turn.role == "system" or index in shown
        ),
        left_out=len(spoken) - len(shown),
    )


def read_after(messages: Sequence[BaseMessage], prompt: str) -> str:
    """The whole text of a prompt that follows these messages, for counting its tokens."""
    return "\n".join([*(f"{message.type}: {message.text}" for message in messages), prompt])


def _turns(state: RagState) -> tuple[Turn, ...]:
    turns = []
    for number, item in enumerate(state.get("history") or [], start=1):
        try:
            turn = Turn.model_validate(item)
        except ValidationError as error:
            detail = error.errors()[0]
            where = f", field {detail['loc'][0]}" if detail["loc"] else ""
            raise InputError(f"history, turn {number}{where}: {detail['msg']}") from None
        if not turn.content.strip():
            raise InputError(f"history, turn {number}, field content: it is empty")
        turns.append(turn)
    return tuple(turns)
