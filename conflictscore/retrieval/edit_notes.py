"""Removes the note that LangChain puts before the result of a tool call that a person edited."""

import re

_NOTE = re.compile(
    r"Note: a human reviewer replaced this tool call before it ran\.[^\n]{0,4000}"
    r"\n{1,2}Tool response:\n"
)


def without_edit_note(text: str) -> str:
    """Return a tool's result without the note of ``HumanInTheLoopMiddleware`` before it."""
    note = _NOTE.match(text)
    return text if note is None else text[note.end() :]
