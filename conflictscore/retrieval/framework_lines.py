"""Removes the lines that agent frameworks put before the results of tools."""

import re

_NOTE = re.compile(
    r"Note: a human reviewer replaced this tool call before it ran\.[^\n]{0,4000}"
    r"\n{1,2}Tool response:\n"
)
_HEADER = re.compile(r"@@ lines \d{1,9}-\d{1,9} of \d{1,9} @@\n")
"""The line that deepagents puts before the text of a file."""


def without_header(text: str) -> str:
    """Return the text of a file without the line that counts its lines."""
    header = _HEADER.match(text)
    return text if header is None else text[header.end() :]


def without_edit_note(text: str) -> str:
    """Return a tool's result without the note of ``HumanInTheLoopMiddleware`` before it."""
    note = _NOTE.match(text)
    return text if note is None else text[note.end() :]
