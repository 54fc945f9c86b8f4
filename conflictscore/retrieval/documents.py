"""From what a retriever returned to the numbered documents that prompts and reports cite."""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.documents import Document as Retrieved
from pydantic import ValidationError

from conflictscore.errors import InputError
from conflictscore.records import Document, first_fault
from conflictscore.retrieval.cleaning import clean_text, is_scalar

__all__ = [
    "URL_KEYS",
    "DocumentLike",
    "as_document",
    "to_documents",
]

DocumentLike = str | Retrieved | Document | Mapping[str, Any]
"""A document as a caller may hold it: its text, a LangChain ``Document``, a record, or a mapping
with ``text`` and, as known, ``title``, ``url`` and ``metadata``."""

URL_KEYS = ("url", "source", "link")
"""The metadata that may hold a document's address, the first of them that does."""


def to_documents(items: Sequence[Retrieved]) -> tuple[Document, ...]:
    """Numbers what a retriever returned, from 1 and in the given order.

    The title is the metadata's ``title``, the address the first of ``url``, ``source`` and
    ``link`` that holds text; other metadata is kept where it is a single finite value. An item
    without text is left out, and so is one with the address and text of an earlier one.
    """
    documents: list[Document] = []
    seen: set[tuple[str, str]] = set()
    for item in items:
        fields = _fields(item)
        if not fields["text"] or (fields["url"], fields["text"]) in seen:
            continue
        seen.add((fields["url"], fields["text"]))
        documents.append(Document(number=len(documents) + 1, **fields))
    return tuple(documents)


def as_document(item: DocumentLike, number: int) -> Document:
    """What a caller gave as a document; of LangChain's the fields are read as by ``to_documents``.

    Raises:
        InputError: It is nothing of the kind, has no text, or has a field that is unknown or of
            the wrong type; names the document and the field.
    """
    fields: Any = item
    if isinstance(item, str):
        fields = {"text": item}
    elif isinstance(item, Retrieved):
        fields = _fields(item)
    elif isinstance(item, Document):
        fields = item.to_json()
    if not isinstance(fields, Mapping):
        raise InputError(
            f"document {number}: {type(item).__name__}, not a text, a mapping with text, or a"
            " LangChain Document"
        )
    if isinstance(text := fields.get("page_content"), str):  # LangChain's JSON
        fields = _fields(Retrieved(text, metadata=fields.get("metadata") or {}))
    try:
        document = Document.model_validate({**fields, "number": number, "duplicate_of": None})
    except ValidationError as error:
        field, why = first_fault(error)
        raise InputError(f"document {number}, field {field}: {why}") from None
    if not document.text.strip():
        raise InputError(f"document {number}, field text: it is empty")
    return document


def _fields(item: Retrieved) -> dict[str, Any]:
    url_key = next((key for key in URL_KEYS if _text(item.metadata, key)), "")
    return {
        "text": clean_text(item.page_content),
        "title": _text(item.metadata, "title"),
        "url": _text(item.metadata, url_key),
        "metadata": {
            clean_text(key): clean_text(value) if isinstance(value, str) else value
            for key, value in item.metadata.items()
            if key not in ("title", url_key) and is_scalar(value)
        },
    }


def _text(metadata: Mapping[Any, Any], key: str) -> str:
    value = metadata.get(key)
    return clean_text(value) if isinstance(value, str) else ""
