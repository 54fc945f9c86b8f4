"""Rewrites conversations for chat templates that accept only alternating turns.

Limits without a stated reason were chosen by hand.
"""

import re
from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

ABOUT_TURNS = re.compile(
    r"(?i)roles? must|must alternate|system (?:role|message|prompt)|first message|user role"
    r"|non.?empty|(?:not|cannot|can't) be empty|empty (?:content|message|string|text)"
    r"|roles? (?:are|is|should|strictly)|(?:assistant|user) messages? at the|alternate between"
    r"|(?:consecutive|successive)[\w ]{0,30} messages?|jinja|chat.?template|raise_exception"
    r"|roles? alternat|must (?:begin|start) with"
)
"""Matches error messages about the order of turns, their roles, or an empty turn."""


def plain_turns(messages: Sequence[BaseMessage], opening: str) -> list[BaseMessage]:
    """Return the conversation as alternating turns of user and assistant, beginning with the user.

    Empty turns are dropped, and adjacent turns of the same role are merged. System messages move to
    the top of the user's first turn, since some templates accept only one system message and others
    none. If the conversation begins with the assistant, ``opening`` is inserted as the user's first
    turn.
    """
    system = [m.text for m in messages if isinstance(m, SystemMessage) and m.text.strip()]
    turns = _joined_turns(messages)
    if not turns or turns[0][0]:
        turns.insert(0, (False, [] if system else [opening]))
    turns[0][1][:0] = system
    texts = [(by_assistant, "\n\n".join(parts)) for by_assistant, parts in turns]
    return [AIMessage(text) if by_assistant else HumanMessage(text) for by_assistant, text in texts]


def are_plain(messages: Sequence[BaseMessage]) -> bool:
    """Return whether messages are already non-empty alternating turns, beginning with the user."""
    types = ["ai" if by_assistant else "human" for by_assistant, _ in _joined_turns(messages)]
    return types[:1] == ["human"] and types == [message.type for message in messages]


def _joined_turns(messages: Sequence[BaseMessage]) -> list[tuple[bool, list[str]]]:
    """For each turn except system turns, return whether it is the assistant's, and its texts."""
    turns: list[tuple[bool, list[str]]] = []
    for message in messages:
        if isinstance(message, SystemMessage) or not message.text.strip():
            continue
        by_assistant = isinstance(message, AIMessage)
        if not turns or turns[-1][0] != by_assistant:
            turns.append((by_assistant, []))
        turns[-1][1].append(message.text)
    return turns
