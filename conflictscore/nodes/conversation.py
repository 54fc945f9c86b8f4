"""contextualize: the conversation before a question, and the question rewritten to stand alone."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    convert_to_messages,
)

from conflictscore.errors import InputError, ProviderError
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.answer_replies import read_text
from conflictscore.nodes.state import RagState, RunContext, RunRuntime, spent
from conflictscore.prompts import material, material_line, neutral
from conflictscore.tokens import count_tokens

_LEAST_TOKENS = 128
_MOST_TOKENS = 1024
_TOKENS_PER_TOKEN = 2
"""A question that stands alone is somewhat longer; a reply beyond this is not a question."""

_SHARE = 4  # a conversation gets 1 / _SHARE of the context window; the documents need the rest
_FRAME_TOKENS = 4  # tokens of a chat message beside its text
_MESSAGES: Mapping[str, type[BaseMessage]] = {
    "system": SystemMessage,
    "user": HumanMessage,
    "assistant": AIMessage,
}


class Turn(NamedTuple):
    """One earlier message of a conversation."""

    role: str  # system, user or assistant
    content: str


@dataclass(frozen=True)
class Conversation:
    """The turns that a model is shown."""

    turns: tuple[Turn, ...]  # oldest first
    left_out: int = 0  # number of older turns that did not fit

    @property
    def messages(self) -> tuple[BaseMessage, ...]:
        """The turns as chat messages."""
        return tuple(_MESSAGES[turn.role](content=neutral(turn.content)) for turn in self.turns)

    @property
    def spoken(self) -> tuple[Turn, ...]:
        """The turns of user and assistant."""
        return tuple(turn for turn in self.turns if turn.role != "system")


def conversation_of(state: RagState, model: LanguageModel) -> Conversation:
    """The conversation so far, in at most a quarter of a model's context window.

    The oldest turns of user and assistant are left out first, so that the first one shown is the
    user's. System turns always stay.
    """
    turns = history_of(state.get("history"))
    sizes = [count_tokens(turn.content) + _FRAME_TOKENS for turn in turns]
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
    kept = (t for index, t in enumerate(turns) if t.role == "system" or index in shown)
    return Conversation(tuple(kept), left_out=len(spoken) - len(shown))


def read_after(messages: Sequence[BaseMessage], prompt: str) -> str:
    """The whole text of a prompt that follows these messages, for counting its tokens."""
    return "\n".join([*(f"{message.type}: {message.text}" for message in messages), prompt])


def messages_of(given: object, field: str) -> list[BaseMessage]:
    """A conversation in any of LangChain's forms: messages, pairs of role and text, mappings.

    Raises:
        InputError: It is no list, or a message cannot be read; names its place.
    """
    if given is None:
        return []
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        raise InputError(f"{field} is {type(given).__name__}, not a list of messages")
    read = list[BaseMessage]()
    for number, item in enumerate([given] if isinstance(given, str | BaseMessage) else given, 1):
        try:
            read += convert_to_messages([item])
        except KeyError as error:
            raise InputError(f"{field}, turn {number}: the field {error} is missing") from None
        except (ValueError, TypeError, NotImplementedError) as error:
            [why, *_] = str(error).splitlines() or ["it is no message"]
            raise InputError(f"{field}, turn {number}: {why}") from None
    return read


def history_of(given: object) -> tuple[Turn, ...]:
    """The turns of a ``history``; messages of tools, and calls of them, are left out."""
    messages = messages_of(given, "history")
    for number, message in enumerate(messages, 1):
        if isinstance(message, SystemMessage | HumanMessage) and not message.text.strip():
            raise InputError(f"history, turn {number}: it has no text")
    return turns_in(messages)


def turns_in(messages: Iterable[BaseMessage]) -> tuple[Turn, ...]:
    """The turns of system, user and assistant that have words."""
    return tuple(
        Turn(role, text)
        for message in messages
        for role, kind in _MESSAGES.items()
        if isinstance(message, kind) and (text := str(message.text)).strip()
    )


async def contextualize(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Rewrite the question with the conversation before it; it stays where that fails, noted."""
    asked, context, meter = state["question"], runtime.context, UsageMeter()
    conversation = conversation_of(state, context.generator)
    question, notes = asked, list[str]()
    if conversation.left_out:
        notes.append(
            f"the {conversation.left_out} oldest turns of the conversation were left out: they are"
            " longer than its share of the context window"
        )
    if conversation.spoken:
        try:
            question = await _standing_alone(asked, conversation, context, meter)
        except ProviderError as failure:
            notes.append(
                f"the question was used as it was asked, without its conversation: {failure}"
            )
    if question != asked:
        runtime.stream_writer({"event": "question", "asked": asked, "question": question})
    return {
        "question": question,
        "notes": [*state.get("notes", []), *notes],
        "usage": spent(state, meter.usage),
    }


async def _standing_alone(
    asked: str, conversation: Conversation, context: RunContext, meter: UsageMeter
) -> str:
    turns = (
        context.prompts.render("turn", role=turn.role, text=material_line(turn.content))
        for turn in conversation.spoken
    )
    prompt = context.prompts.render(
        "contextualize", history="\n".join(turns), question=material(asked)
    )
    length = count_tokens(asked)
    room = min(_MOST_TOKENS, _LEAST_TOKENS + _TOKENS_PER_TOKEN * length)
    return await context.reader(meter).ask(prompt, read_text, room)
