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


def messages_of(conversation: object, field: str) -> list[BaseMessage]:
    """Convert a conversation to messages.

    Args:
        conversation: Messages in any format that LangChain accepts: message objects, mappings, or
            pairs of role and text.
        field: The name of the input field, for error messages.

    Raises:
        InputError: The conversation is not a list, or a message cannot be read. The error names the
            position of that message.
    """
    if conversation is None:
        return []
    if isinstance(conversation, Mapping) or not isinstance(conversation, Iterable):
        raise InputError(f"{field} is {type(conversation).__name__}, not a list of messages")
    messages = list[BaseMessage]()
    for number, message in enumerate(
        [conversation] if isinstance(conversation, str | BaseMessage) else conversation, 1
    ):
        try:
            messages += convert_to_messages([message])
        except KeyError as error:
            raise InputError(f"{field}, turn {number}: the field {error} is missing") from None
        except AttributeError:  # LangChain does not validate inner fields, such as tool calls
            raise InputError(f"{field}, turn {number}: it is not a message") from None
        except (ValueError, TypeError, NotImplementedError) as error:
            [why, *_] = str(error).splitlines() or ["it is not a message"]
            raise InputError(f"{field}, turn {number}: {why}") from None
    return messages


def history_of(history: object) -> tuple[Turn, ...]:
    """Return the turns of a ``history``, without tool messages and tool calls."""
    messages = messages_of(history, "history")
    for number, message in enumerate(messages, 1):
        if isinstance(message, SystemMessage | HumanMessage) and not message.text.strip():
            raise InputError(f"history, turn {number}: the message has no text")
    return turns_in(messages)


def turns_in(messages: Iterable[BaseMessage]) -> tuple[Turn, ...]:
    """Return the system, user and assistant turns that contain text."""
    return tuple(
        Turn(role, text)
        for message in messages
        for role, kind in MESSAGE_TYPES.items()
        if isinstance(message, kind) and (text := str(message.text)).strip()
    )
