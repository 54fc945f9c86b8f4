"""Reads and replaces the message of a tool call, also inside a ``Command``, and spots redactions.

A tool that updates the agent's state returns a ``Command`` with its message. Examples are hand-over
tools and deepagents' ``task``.

Limits without a stated reason were chosen by hand.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from langchain_core.messages import ToolMessage
from langgraph.types import Command

from conflictscore.answering.statements import telling_terms
from conflictscore.retrieval.redaction_marks import marks_in

ToolResult = ToolMessage | Command[Any]

_SHARED = 0.5  # a redacted text keeps at least this share of the words; a stub keeps fewer
_BRACKETED = re.compile(r"\[[^\[\]\n]{0,80}\]|<[^<>\n]{0,80}>")


def message_of(result: object, call_id: str | None) -> ToolMessage | None:
    """Return the message that replies to a tool call, or None if there is none."""
    if isinstance(result, ToolMessage):
        return result
    return next(
        (
            each
            for each in _messages_in(result)
            if isinstance(each, ToolMessage) and each.tool_call_id == call_id
        ),
        None,
    )


def with_message(result: ToolResult, message: ToolMessage) -> ToolResult:
    """Return a tool's result with another message in reply to the same call."""
    if isinstance(result, ToolMessage):
        return message
    messages = [
        message
        if isinstance(each, ToolMessage) and each.tool_call_id == message.tool_call_id
        else each
        for each in _messages_in(result)
    ]
    return replace(result, update={**(result.update or {}), "messages": messages})


def _messages_in(result: object) -> list[Any]:
    update = result.update if isinstance(result, Command) else None
    messages = update.get("messages") if isinstance(update, Mapping) else None
    return messages if isinstance(messages, list) else []


def is_redacted(now: ToolMessage, original: ToolMessage) -> bool:
    """Return whether a tool's message is a redacted version of the original one.

    A redaction adds marks, or replaces some of the words. A result to which a note was added keeps
    all of its words. A result that was cleared, or saved to a file, keeps few of them.
    """
    text, before = str(now.text), str(original.text)
    if text == before:
        return False
    if marks_in(text) > marks_in(before):
        return True
    words = Counter(before.split())
    shared = (words & Counter(text.split())).total()
    return _SHARED * words.total() <= shared < words.total()


def has_new_words(text: str, before: str) -> bool:
    """Return whether text has telling words that the earlier text lacks, apart from redactions.

    Bracketed words, and words that contain a mark, are taken for redactions.
    """
    words = [word for word in _BRACKETED.sub(" ", text).split() if not marks_in(word)]
    return not telling_terms(" ".join(words)) <= telling_terms(before)
