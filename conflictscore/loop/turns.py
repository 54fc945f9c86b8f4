"""The turns of a conversation, as messages and as plain JSON."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    convert_to_messages,
)

from conflictscore.errors import InputError

MESSAGE_TYPES: Mapping[str, type[BaseMessage]] = {
    "system": SystemMessage,
    "user": HumanMessage,
    "assistant": AIMessage,
}


class Turn(NamedTuple):
    """One earlier message of a conversation."""

    role: str  # system, user or assistant
    content: str


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
        for role, kind in MESSAGE_TYPES.items()
        if isinstance(message, kind) and (text := str(message.text)).strip()
    )
