"""From what a tool returned to documents: artifacts, JSON, content blocks, and joined texts."""

import ast
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from langchain_core.documents import Document as Retrieved
from langchain_core.messages import BaseMessage, ToolMessage

from conflictscore.records import Document
from conflictscore.retrieval.documents import URL_KEYS, to_documents
from conflictscore.retrieval.joined_texts import field_of, parts_of

_TEXT_KEYS = (
    *("page_content", "text", "content", "snippet", "body", "passage", "chunk", "excerpt"),
    *("document", "raw_content", "extract", "abstract", "description", "summary"),
)
"""Where a search result has its text; the first that holds any counts."""
_LIST_KEYS = (
    *("results", "documents", "docs", "passages", "chunks", "hits", "matches", "items", "sources"),
    *("organic_results", "organic", "webPages", "web", "news", "search_results", "search"),
    *("contexts", "context", "data", "value", "response", "output", "result", "query", "content"),
    *("structured_content", "structuredContent"),
)
"""Where a search tool's JSON object has its results, alone or within another object."""
_INNER_KEYS = ("metadata", "_source", "payload", "fields", "document", "resource", "node", "entity")
"""Where a search result has its text, if not in fields of its own."""
_DEPTH = 12

_SEARCHES = {
    *("search", "retrieve", "retriever", "retrieval", "lookup", "look", "find", "google", "bing"),
    *("tavily", "exa", "duckduckgo", "ddg", "serp", "serper", "brave", "wikipedia", "arxiv"),
    *("pubmed", "rag"),
}
"""Words in the name of a tool whose text may be several documents joined by blank lines."""
_READS = {
    *("browse", "fetch", "scrape", "crawl", "read", "wiki", "web", "website", "webpage", "page"),
    *("doc", "docs", "document", "documents", "passages", "knowledge", "knowledgebase", "kb"),
    *("article", "articles", "corpus", "library", "archive", "faq", "handbook", "manual"),
    *("literature", "news", "encyclopedia", "encyclopaedia", "source", "sources", "context"),
}
_WRITES = {
    *("save", "write", "update", "create", "add", "insert", "delete", "remove", "send", "upload"),
    *("submit", "edit", "append", "post"),
}
_NAME_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_JSON_START = re.compile(r"(?m)^[ \t]*([\[{])")
_PROSE_WORDS = 40
"""A text of so many words reads like a document, whatever the tool is called."""


def documents_from_messages(
    messages: Sequence[BaseMessage], sources: Collection[str] | None = None
) -> tuple[Document, ...]:
    """Number the documents that tools returned in these messages, from 1 and in their order.

    A tool message gives the documents of its artifact: a LangChain ``Document``, a search result,
    or a list of such, however deep. Without such an artifact its text is read: content blocks one
    by one, JSON, and texts that a tool joined, by tags, numbers, rules, labelled fields or blank
    lines. Where that cannot be told, one text is one document, named after the tool. A failed
    tool gives no document, nor does an empty list of results, or anything but text.

    ``sources`` names the tools whose results are evidence. By default those that are named like a
    search, return documents, or return prose: a clock or a receipt is none.
    """
    return to_documents(
        [
            found
            for message in messages
            if isinstance(message, ToolMessage) and message.status != "error"
            for found in _found(message, sources)
        ]
    )


def _found(message: ToolMessage, sources: Collection[str] | None) -> list[Retrieved]:
    name = message.name or ""
    words = {word.casefold() for word in _NAME_WORD.findall(name)}
    if sources is not None and name not in sources:
        return []
    found = list(_documents(message.artifact))
    returned = told = bool(found)
    if not told:
        blocks = message.content if isinstance(message.content, list) else [message.content]
        found = [one for block in blocks for one in _in_block(block, bool(words & _SEARCHES))]
        returned = len(found) > 1 or any(map(_origin, found))
    if sources is None and name and not words & _SEARCHES:
        prose = len(str(message.text).split()) >= _PROSE_WORDS
        if words & _WRITES or not (words & _READS or returned or prose):
            return []
    for document in found:
        if not told and not _origin(document):
            document.metadata["title"] = name
    return found


def _origin(document: Retrieved) -> bool:
    return any(document.metadata.get(key) for key in ("title", *URL_KEYS))


def _in_block(block: object, searches: bool) -> Iterator[Retrieved]:
    """The documents of a text, or of a block of the Model Context Protocol."""
    if isinstance(block, Mapping):
        block = block.get("resource") if block.get("type") == "resource" else block
        if not isinstance(block, Mapping) or not _has_text(block.get("text")):
            return
        about = {"url": block["uri"]} if _has_text(block.get("uri")) else {}
        for document in _in_text(block["text"], searches):
            yield Retrieved(document.page_content, metadata={**about, **document.metadata})
    elif isinstance(block, str):
        yield from _in_text(block, searches)


def _in_text(text: str, searches: bool) -> Iterator[Retrieved]:
    text = text.strip()
    for read in (_json_lines(text), _json(text), _written_out(text)):
        texts = read if isinstance(read, list) and all(map(_has_text, read)) else ()
        found = [Retrieved(page_content=one) for one in texts] or list(_documents(read))
        lists = [read.get(key) for key in _LIST_KEYS] if isinstance(read, Mapping) else [read]
        if found or [] in lists:  # a search that found nothing
            yield from found
            return
    for part, about in parts_of(text, blank_lines=searches):
        yield Retrieved(part, metadata=about)


def _json(text: str) -> object:
    """JSON that is all of the text, or all but a line or two around it."""
    starts = [match.start(1) for match in islice(_JSON_START.finditer(text), 2)]
    with suppress(ValueError, RecursionError):
        for start in starts:
            with suppress(json.JSONDecodeError):
                value, end = json.JSONDecoder().raw_decode(text, start)
                # a label or a closing word beside it, and no text of its own
                if len(text) - (end - start) <= max(200, len(text) // 4):
                    return value
    return None


def _json_lines(text: str) -> object:
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < 2 or not all(line.lstrip().startswith("{") for line in lines):
        return None
    with suppress(ValueError, RecursionError):
        return [json.loads(line) for line in lines]
    return None


def _written_out(text: str) -> object:
    """Python's own writing of a list, of mappings, or of LangChain's documents."""
    if text.startswith("page_content="):
        pieces = re.split(r"(?m)^(?=page_content=)", text)
        calls = [_called(piece.rpartition(" metadata=")) for piece in pieces if piece]
        return None if None in calls else calls
    if not text.startswith(("[Document(", "[{", "{'")):
        return None
    try:
        body = ast.parse(text, mode="eval").body
        if not text.startswith("[Document("):
            return ast.literal_eval(body)
    except (SyntaxError, ValueError, RecursionError, MemoryError, TypeError):
        return None
    return [_keywords(call) for call in getattr(body, "elts", [])]


def _called(written: tuple[str, str, str]) -> object:
    """A document as ``str`` writes it: ``page_content='…' metadata={…}``."""
    content, _, metadata = written
    call = f"f({content}, metadata={metadata.strip()})" if content else f"f({metadata})"
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        return _keywords(ast.parse(call, mode="eval").body)
    return None


def _keywords(call: object) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for field in getattr(call, "keywords", ()):
        with suppress(ValueError, TypeError, RecursionError, MemoryError):  # a date, say
            fields[field.arg] = ast.literal_eval(field.value)
    return fields


def _documents(found: object, depth: int = _DEPTH) -> Iterator[Retrieved]:
    if not depth:
        return
    if isinstance(found, Retrieved):
        yield found
    elif isinstance(found, Mapping):
        yield from _in_mapping(found, depth - 1)
    elif isinstance(found, Sequence) and not isinstance(found, str | bytes):
        for item in found:
            yield from _documents(item, depth - 1)


def _in_mapping(found: Mapping[Any, Any], depth: int) -> Iterator[Retrieved]:
    for key in _LIST_KEYS:
        if isinstance(found.get(key), Mapping | list | tuple):
            texts = found[key]
            if len(texts) == 1 and isinstance(texts, list) and isinstance(texts[0], list):
                texts = texts[0]  # a list of results for each of its queries
            if isinstance(texts, list) and texts and all(map(_has_text, texts)):
                yield from (Retrieved(page_content=text) for text in texts)
                return
            if listed := list(_documents(found[key], depth)):
                yield from listed
                return
    if text := next((found[key] for key in _TEXT_KEYS if _has_text(found.get(key))), None):
        yield Retrieved(page_content=text, metadata=_metadata(found))
        return
    for key in _INNER_KEYS:
        if isinstance(inner := found.get(key), Mapping):
            for document in _in_mapping(inner, depth - 1) if depth else ():
                yield Retrieved(
                    document.page_content, metadata={**_metadata(found), **document.metadata}
                )
                return


def _metadata(result: Mapping[Any, Any]) -> dict[str, Any]:
    nested = result.get("metadata")
    fields = {**result, **(nested if isinstance(nested, Mapping) else {})}
    return {
        field_of(str(key)) or str(key): value
        for key, value in fields.items()
        if key not in (*_TEXT_KEYS, "type")
    }


def _has_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
