"""From what a retriever returned to the numbered documents that prompts and reports cite."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.documents import Document as Retrieved

from conflictscore.records import Document

__all__ = ["URL_KEYS", "Scalar", "clean_text", "is_scalar", "to_documents"]

Scalar = str | int | float | bool | None
"""What a document's metadata can hold."""

_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85]")
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_SURROGATES = re.compile("[\ud800-\udfff]")
URL_KEYS = ("url", "source", "link")
"""The metadata that may hold a document's address, the first of them that does."""


def clean_text(text: str) -> str:
    """The text as any JSON reader, terminal and model can take it.

    Line ends become a line feed, control characters except the tab go, and a lone surrogate,
    which no UTF-8 can hold, becomes U+FFFD. White space around the text goes too.
    """
    text = _CONTROLS.sub("", _LINE_ENDS.sub("\n", text))
    return _SURROGATES.sub("\ufffd", text).strip()


def to_documents(items: Sequence[Retrieved]) -> tuple[Document, ...]:
    """Numbers what a retriever returned, from 1 and in the given order.

    The title is the metadata's ``title``, the address the first of ``url``, ``source`` and
    ``link`` that holds text; other metadata is kept where it is a single finite value. An item
    without text is left out, and so is one with the address and text of an earlier one.
    """
    documents: list[Document] = []
    seen: set[tuple[str, str]] = set()
    for item in items:
        text = clean_text(item.page_content)
        url_key = next((key for key in URL_KEYS if _text(item.metadata, key)), "")
        url = _text(item.metadata, url_key)
        if not text or (url, text) in seen:
            continue
        seen.add((url, text))
        documents.append(
            Document(
                number=len(documents) + 1,
                text=text,
                title=_text(item.metadata, "title"),
                url=url,
                metadata={
                    clean_text(key): clean_text(value) if isinstance(value, str) else value
                    for key, value in item.metadata.items()
                    if key not in ("title", url_key) and is_scalar(value)
                },
            )
        )
    return tuple(documents)


def is_scalar(value: object) -> bool:
    """Whether a value fits into a document's metadata: text, a finite number, or nothing."""
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, str | int)


def _text(metadata: Mapping[Any, Any], key: str) -> str:
    value = metadata.get(key)
    return clean_text(value) if isinstance(value, str) else ""
