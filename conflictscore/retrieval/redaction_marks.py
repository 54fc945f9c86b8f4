"""Counts the marks that redacting middleware leaves in a text, such as ``[REDACTED_EMAIL]``."""

import re
from collections.abc import Sequence

from langchain_core.documents import Document

# The marks of LangChain's PIIMiddleware: of redactions, hashes and masks.
_MARKS = re.compile(
    r"\[(?:REDACTED|MASKED)_\w{1,64}\]|<\w{1,64}_hash:[0-9a-f]{1,64}>|\*{4}|\*\.\*\.\*"
)


def marks_in(text: str) -> int:
    """Return how many redacted places a text has."""
    return sum(1 for _ in _MARKS.finditer(text))


def lost_words(text: str, documents: Sequence[Document]) -> bool:
    """Return whether a text lost words to a redaction that these documents still contain."""
    return marks_in(text) > sum(marks_in(each.page_content) for each in documents)
