"""Conversations for chat templates that accept only alternating user and assistant turns."""

import re
from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

ABOUT_TURNS = re.compile(
    r"(?i)roles? must|must alternate|system (?:role|message|prompt)|first message|user role"
    r"|non.?empty|(?:not|cannot|can't) be empty|empty (?:content|message|string|text)"
)
"""Error messages about the order of turns, their roles, or an empty turn."""


def plain_turns(messages: Sequence[BaseMessage], opening: str) -> list[BaseMessage]:
    """The same conversation as turns of user and assistant, the user's first.

    Empty turns are dropped, and adjacent turns of the same side are merged. System messages move to
    the top of the user's first turn, since some templates accept at most one and others none.
    ``opening`` is a user turn to put before a greeting by the assistant.
    """
    system = [m.text for m in messages if isinstance(m, SystemMessage) and m.text.strip()]
    turns = _joined_turns(messages)
    if not turns or turns[0][0]:
        turns.insert(0, (False, [] if system else [opening]))
    turns[0][1][:0] = system
    texts = [(by_assistant, "\n\n".join(parts)) for by_assistant, parts in turns]
    return [AIMessage(text) if by_assistant else HumanMessage(text) for by_assistant, text in texts]


def _joined_turns(messages: Sequence[BaseMessage]) -> list[tuple[bool, list[str]]]:
    """Turns without system messages, as (whether by the assistant, text)."""
    turns: list[tuple[bool, list[str]]] = []
    for message in messages:
        if isinstance(message, SystemMessage) or not message.text.strip():
            continue
        by_assistant = isinstance(message, AIMessage)
        if not turns or turns[-1][0] != by_assistant:
            turns.append((by_assistant, []))
        turns[-1][1].append(message.text)
    return turns
