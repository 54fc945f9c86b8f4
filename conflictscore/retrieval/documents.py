"""Turns a retriever's results into numbered documents that prompts and reports can cite."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import compress
from typing import Any, TypeGuard

from langchain_core.documents import Document as Retrieved

from conflictscore.errors import InputError
from conflictscore.records import Document
from conflictscore.retrieval.cleaning import clean_text, is_scalar
from conflictscore.retrieval.search_notes import note

DocumentLike = str | list[str] | Retrieved | Document | Mapping[str, Any]
"""A document in any form that callers may pass: a string, a list of strings, a LangChain
``Document``, a record, or a mapping with ``text`` and, optionally, ``title``, ``url`` and
``metadata``. A list of strings is one document, split into pieces such as lines or sentences."""

TEXT_KEYS = (
    "text",
    "content",
    "page_content",
    "contents",
    "passage",
    "body",
    "snippet",
    "document",
    "markdown",
    "raw_content",
    "paragraphs",
)
"""Fields that may contain a document's text. The first field with text is used. Pyserini calls the
field ``contents``, Chroma ``document``, Firecrawl ``markdown`` and Tavily ``raw_content``."""
MOST_OF_TOOLS = 1000
"""Maximum number of documents from all tools in one turn of the conversation. The same limit
applies to the documents in a request to the service. The number was chosen by hand, and is far
above what searches return.
"""
_WORDS_FOR_NULL = frozenset(("nan", "null", "none", "<na>", "n/a", "undefined"))
"""Texts that programs write for a missing text. A document with no other word says nothing."""
_LONGEST_FOR_NULL = 19
"""Maximum length, with spaces, of a text that may stand for null, in characters. The longest word
has 9; the rest leaves room for spaces."""
PLAIN_FIELDS = frozenset(("text", "title", "url"))
"""The fields of most documents. A document with no others is read in the shortest way."""
_OWN_FIELDS = ("number", "duplicate_of", "metadata", "title", "url")
"""The fields of a record. If a caller passes a record as a mapping, these fields do not become
metadata."""
URL_KEYS = ("url", "source", "link")
"""Metadata fields that may contain a document's address. The first non-empty field is used."""


def to_documents(items: Sequence[Retrieved]) -> tuple[Document, ...]:
    """Numbers the results of a retriever from 1, in order.

    The title is taken from the metadata field ``title``. The address is taken from the first
    non-empty field of ``url``, ``source`` and ``link``. Other metadata is kept if it is a single
    finite value. Items without text are skipped, as are items that repeat the address and text of
    an earlier item.

    A title or address that is not a string counts as missing, since a malformed result must not end
    a run. :func:`as_documents` is stricter, since callers can correct their documents.
    :func:`as_documents` also keeps repeated documents and leaves texts unchanged.
    """
    documents: list[Document] = []
    earlier: set[tuple[str, str]] = set()
    for item in items:
        fields, text = item.metadata, clean_text(item.page_content)
        url_key = next((key for key in URL_KEYS if _text(fields, key)), "")
        url = _one_line(_text(fields, url_key)) if url_key else ""
        if not text or _is_missing(text) or (url, text) in earlier:
            continue
        earlier.add((url, text))
        title, metadata = _text(fields, "title"), _kept(fields, ("title", url_key))
        number = len(documents) + 1
        documents.append(
            Document(number=number, text=text, title=title, url=url, metadata=metadata)
        )
    return tuple(documents)


def as_documents(given: Any) -> tuple[Document, ...]:
    """Return a caller's documents, numbered from 1; a single document counts as a list of one.

    Some retrievers return null or empty texts; these are skipped with a note.

    Raises:
        InputError: ``given`` is not a list, every item is null or empty, or :func:`as_document`
            rejects an item.
    """
    if type(given) is _ReadDocuments:
        return given
    items = document_list(given)
    plain_documents = [_plain_document(item, place) for place, item in enumerate(items, 1)]
    documents = [document for document in plain_documents if document is not None]
    if len(documents) == len(items):
        return _ReadDocuments(documents)
    # errors name a document by its position in the caller's list
    documents = [
        plain_documents[place - 1] or as_document(item, place) for place, item in _with_text(items)
    ]
    return _ReadDocuments(
        [
            each if each.number == number else each.model_copy(update={"number": number})
            for number, each in enumerate(documents, 1)
        ]
    )


class _ReadDocuments(tuple[Document, ...]):
    """Documents from :func:`as_documents`, which need not be read again."""

    __slots__ = ()


def document_list(given: Any) -> list[Any]:
    """Return a caller's documents as a list; raise InputError if they are neither one nor many.

    A string, a mapping and a record are single documents, although Python can iterate over them.
    """
    if isinstance(given, str | Mapping | Retrieved | Document):
        return [given]
    if not isinstance(given, Iterable):
        raise InputError(f"documents is {type(given).__name__}, not a list")
    return list(given)


def _with_text(items: Sequence[Any]) -> list[tuple[int, Any]]:
    """Return the documents that are neither null nor empty, with their positions.

    A note states how many documents were left out.
    """
    lack_text = [*map(_has_no_text, items)]
    if not any(lack_text):
        return list(enumerate(items, 1))
    textless = [
        "null" if _is_null_document(item) else "empty" for item in compress(items, lack_text)
    ]
    if len(textless) == len(items):
        raise InputError(
            f"document 1, field text: it is {textless[0]}, and so are all other documents"
        )
    for state in ("null", "empty"):
        if count := textless.count(state):
            note(f"{count} of {len(items)} documents are {state}, and were left out")
    return [
        (place, item)
        for place, (item, lacks_text) in enumerate(zip(items, lack_text, strict=True), 1)
        if not lacks_text
    ]


def as_document(item: DocumentLike, number: int, where: str = "") -> Document:
    """Reads a document in any form that callers may pass; all entry points use this function.

    From a mapping it reads the text (the first filled field of :data:`TEXT_KEYS`), the title
    (``title``), and the address (the first of ``url``, ``source`` and ``link``). The text is left
    unchanged; control characters are removed from the other fields. A title or address that is a
    number becomes a string. A null field counts as missing. Other single values become metadata.
    Bytes are accepted if they are UTF-8.

    Raises:
        InputError: The form is not supported, the text is missing, or a field has the wrong type.
            The message names the document and the field.
    """
    if isinstance(item, Document) and _is_clean(item):
        if item.number == number and item.duplicate_of is None:
            return item
        return item.model_copy(update={"number": number, "duplicate_of": None})
    where = where or f"document {number}"
    fields = {key: value for key, value in _fields_of(item, where).items() if not _is_null(value)}
    metadata = fields.pop("metadata", None) or {}
    if not isinstance(metadata, Mapping):
        raise InputError(f"{where}, field metadata: {type(metadata).__name__}, not an object")
    text_key = _text_key(fields)
    text = _text_in(fields, text_key, where)
    del fields[text_key]
    if text_key == "page_content":
        fields.pop("type", None)  # LangChain's JSON contains the object's type
    rest = {**metadata, **fields}
    title = _named(rest, "title", f"{where}, field title")
    url_key = next((key for key in URL_KEYS if _is_said(rest.get(key))), "")
    url = _one_line(_named(rest, url_key, f"{where}, field {url_key}"))
    return Document(
        number=number, text=text, title=title, url=url, metadata=_kept(rest, _OWN_FIELDS)
    )


def _plain_document(fields: DocumentLike, number: int) -> Document | None:
    """Return a document that has only a text, a title and an address, all strings; else None.

    The result is the same as if each field were read by the rules for any form. None is returned
    for a text that may stand for null.
    """
    if type(fields) is not dict or not fields.keys() <= PLAIN_FIELDS:
        return None
    if {*map(type, fields.values())} != {str}:
        return None
    text = fields.get("text", "")
    if not _is_long_text(text):
        return None
    title, url = fields.get("title", ""), fields.get("url", "")
    return Document(
        number=number,
        text=text,
        title=title and clean_text(title),
        url=url and _one_line(clean_text(url)),
    )


def _is_clean(document: Document) -> bool:
    """Return whether :func:`as_document` would return a record unchanged.

    That function never changes the text, so here the text only has to be non-empty.
    """
    if not document.text.strip() or any(key in _OWN_FIELDS for key in document.metadata):
        return False
    texts = [document.title, document.url, *document.metadata]
    texts += [value for value in document.metadata.values() if isinstance(value, str)]
    return [*map(clean_text, texts)] == texts


def _fields_of(item: DocumentLike, where: str) -> Mapping[Any, Any]:
    """Convert a document in any accepted form to a mapping; raise InputError for other forms."""
    if isinstance(item, str):
        return {"text": item}
    if _is_in_pieces(item):
        return {"text": "\n".join(item)}
    if isinstance(item, Document):
        return item.model_dump(exclude={"number", "duplicate_of"})
    if isinstance(item, Retrieved):
        return {"text": item.page_content, "metadata": item.metadata}
    if isinstance(item, Mapping):
        return item
    raise InputError(
        f"{where}: {type(item).__name__}, not a string, a mapping with text, or a LangChain"
        " Document"
    )


def _is_in_pieces(value: object) -> TypeGuard[list[str]]:
    """Return whether a value is a list of strings, such as the lines or paragraphs of a text."""
    return isinstance(value, list) and bool(value) and all(isinstance(e, str) for e in value)


def _text_in(fields: Mapping[Any, Any], text_key: str, where: str) -> str:
    """Return the text in a document's text field; raise InputError if there is no text."""
    if text_key not in fields:
        raise InputError(f"{where}, field text: it is missing")
    text = _decoded(fields[text_key], f"{where}, field {text_key}")
    if not isinstance(text, str) and _is_in_pieces(text):
        text = "\n".join(text)
    if not isinstance(text, str):
        raise InputError(f"{where}, field {text_key}: {type(text).__name__}, not a string")
    if not text.strip():
        raise InputError(f"{where}, field {text_key}: it is empty")
    return text


def _text_key(fields: Mapping[Any, Any]) -> str:
    """Return the name of the first non-empty text field, or else of the first one that exists."""
    present = [key for key in TEXT_KEYS if key in fields]
    filled = (key for key in present if not _is_blank(fields[key]))
    return next(filled, present[0] if present else TEXT_KEYS[0])


def _kept(fields: Mapping[Any, Any], without: Collection[str]) -> dict[str, Any]:
    return {
        clean_text(str(key)): clean_text(value) if isinstance(value, str) else value
        for key, value in fields.items()
        if key not in without and is_scalar(value)
    }


def _named(fields: dict[Any, Any], key: str, where: str) -> str:
    """Remove a title or address from the fields and return it; empty if it is null or missing.

    The key is empty if there is no address. In a table whose first column has no header, that
    column's name is empty too, but it holds no address.
    """
    if not key or _is_null(value := _decoded(fields.pop(key, ""), where)):
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError(f"{where}: {type(value).__name__}, not a string")
    if not is_scalar(value):
        raise InputError(f"{where}: a number that no double can hold")
    return clean_text(str(value))


def _one_line(address: str) -> str:
    """Return an address without line breaks and tabs, which browsers ignore in addresses too."""
    return "".join(re.split(r"[\t\n\u2028\u2029]", address))


def _decoded(value: Any, where: str) -> Any:
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise InputError(f"{where}: bytes that are not UTF-8") from None


def _is_null(value: object) -> bool:
    # pandas writes a missing value as NaN
    return value is None or (isinstance(value, float) and value != value)


def _is_missing(text: object) -> bool:
    """Return whether a document's text is null, or a word that stands for null.

    All such words are short, so the case of a longer text is not folded.
    """
    return _is_null(text) or (
        isinstance(text, str)
        and len(text) <= _LONGEST_FOR_NULL
        and text.strip().casefold() in _WORDS_FOR_NULL
    )


def _is_blank(value: object) -> bool:
    if isinstance(value, str | bytes):
        return not value.strip()
    return _is_in_pieces(value) and not any(map(str.strip, value))


def _has_no_text(item: object) -> bool:
    """Return whether an item is null or has only empty texts.

    The result is False for a mapping without a text field, which :func:`as_document` rejects later.
    """
    if isinstance(item, (dict, Mapping)):  # a dictionary is recognised faster
        if _is_long_text(item.get(TEXT_KEYS[0])):
            return False
        texts = [item[key] for key in TEXT_KEYS if key in item]
        return bool(texts) and all(_is_missing(text) or _is_blank(text) for text in texts)
    if isinstance(item, Retrieved):
        return _is_missing(item.page_content) or _is_blank(item.page_content)
    if isinstance(item, Document):
        return _is_missing(item.text) or _is_blank(item.text)
    return _is_missing(item) or _is_blank(item)


def _is_long_text(text: object) -> bool:
    """Return whether a value is certainly a text, since it is too long to stand for null."""
    return type(text) is str and len(text) > _LONGEST_FOR_NULL and not text.isspace()


def _is_null_document(item: object) -> bool:
    """Return whether an item is null or contains only null texts.

    The result is False for a mapping without a text field, which :func:`as_document` rejects later.
    """
    if isinstance(item, Retrieved):
        return _is_missing(item.page_content)
    if isinstance(item, Document):
        return _is_missing(item.text)
    if not isinstance(item, Mapping):
        return _is_missing(item)
    texts = [item[key] for key in TEXT_KEYS if key in item]
    return bool(texts) and all(map(_is_missing, texts))


def _is_said(value: object) -> bool:
    return bool(value.strip()) if isinstance(value, str | bytes) else not _is_null(value)


def _text(metadata: Mapping[Any, Any], key: str) -> str:
    value = metadata.get(key)
    return clean_text(value) if isinstance(value, str) else ""
