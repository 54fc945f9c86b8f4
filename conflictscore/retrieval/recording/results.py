"""From LangChain documents to recorded results, and back without loss.

A field that a result names itself, such as ``date``, is moved out of the document's metadata; on
the way back it returns there. What no JSON can hold is changed on the way: metadata that is no
single finite value is left out, and a lone surrogate becomes U+FFFD, as ``to_documents`` does.
"""

import re
from collections.abc import Mapping
from typing import Any

from langchain_core.documents import Document

from conflictscore.retrieval.documents import Scalar, is_scalar
from conflictscore.retrieval.recording.format import RecordedResult, text_digest

__all__ = ["encodable", "recorded_result", "result_document"]

_SURROGATES = re.compile("[\ud800-\udfff]")
_TEXTS: Mapping[str, str] = {
    "provider": "provider",
    "url": "source",
    "title": "title",
    "snippet": "snippet",
    "date": "date",
    "text_from": "text_from",
    "page_error": "page_error",
    "fetched_at": "fetched_at",
}
"""The fields of a result that hold a text, and what a document's metadata calls them."""


def recorded_result(document: Document) -> RecordedResult:
    """A document that a search returned, as it is recorded."""
    metadata: dict[str, Scalar] = {
        encodable(key): encodable(value) if isinstance(value, str) else value
        for key, value in document.metadata.items()
        if is_scalar(value)
    }
    named: dict[str, Any] = {
        field: metadata.pop(key) if isinstance(metadata.get(key), str) else None
        for field, key in _TEXTS.items()
    }
    text = encodable(document.page_content)
    return RecordedResult(
        rank=_taken_rank(metadata),
        **named,
        text=text,
        metadata=metadata,
        sha256=text_digest(text),
    )


def result_document(result: RecordedResult) -> Document:
    """The document that was recorded."""
    named = {key: getattr(result, field) for field, key in _TEXTS.items()} | {"rank": result.rank}
    said = {key: value for key, value in named.items() if value is not None}
    return Document(page_content=result.text, metadata={**result.metadata, **said})


def _taken_rank(metadata: dict[str, Scalar]) -> int | None:
    rank = metadata.get("rank")
    if isinstance(rank, int) and not isinstance(rank, bool) and rank >= 1:
        del metadata["rank"]
        return rank
    return None


def encodable(text: str) -> str:
    """The text as UTF-8 can hold it: each lone surrogate becomes U+FFFD."""
    return _SURROGATES.sub("\ufffd", text)
