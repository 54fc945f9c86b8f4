"""Turns tool results (artifacts, JSON, content blocks and joined texts) into documents.

A text's source is determined by how the text arrived, never by the text itself; see
:func:`documents_from_messages`.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from langchain_core.documents import Document as Retrieved
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from conflictscore.records import Document
from conflictscore.retrieval.call_addresses import address_of, argument_texts, mentions_address
from conflictscore.retrieval.documents import MOST_OF_TOOLS, URL_KEYS, to_documents
from conflictscore.retrieval.framework_lines import without_edit_note, without_header
from conflictscore.retrieval.joined_texts import field_of, parts_of
from conflictscore.retrieval.nothing_found import lists_places, says_nothing_found
from conflictscore.retrieval.redaction_marks import lost_words
from conflictscore.retrieval.renamed_fields import renamed
from conflictscore.retrieval.tool_names import FETCHES, NAME_WORD, READS, SEARCHES, WRITES
from conflictscore.retrieval.voices import VOICE, without_voice
from conflictscore.retrieval.written_out import written_out

_TEXT_KEYS = (
    "page_content",
    "text",
    "content",
    "snippet",
    "body",
    "passage",
    "chunk",
    "excerpt",
    "document",
    "raw_content",
    "extract",
    "abstract",
    "description",
    "summary",
)
"""Fields that may contain a search result's text. The first non-empty one is used."""
_LIST_KEYS = (
    "results",
    "documents",
    "docs",
    "passages",
    "chunks",
    "hits",
    "matches",
    "items",
    "sources",
    "organic_results",
    "organic",
    "webPages",
    "web",
    "news",
    "search_results",
    "search",
    "contexts",
    "context",
    "data",
    "value",
    "response",
    "output",
    "result",
    "query",
    "content",
    "structured_content",
    "structuredContent",
)
"""Fields in which a search tool's JSON object may contain its results, possibly nested."""
_INNER_KEYS = ("metadata", "_source", "payload", "fields", "document", "resource", "node", "entity")
"""Fields in which the text of a search result may be nested."""
_DEPTH = 12  # Nesting is searched down to this level; real results have only a few levels.
_JSON_START = re.compile(r"(?m)^[ \t]*([\[{])")
_PROSE_WORDS = 40
"""A text with at least this many words counts as a document even if the tool's name is unknown.

Shorter outputs of such tools are mostly times, numbers and receipts. Chosen by hand: with a higher
number, the check would miss evidence in short paragraphs.
"""


def documents_from_messages(
    messages: Sequence[BaseMessage],
    sources: Collection[str] | None = None,
    most: int = MOST_OF_TOOLS,
) -> tuple[Document, ...]:
    """Return the documents that tools returned in these messages, numbered from 1 in order.

    The documents of a tool message are taken from its artifact: a LangChain ``Document``, a search
    result, or a nested list of these. Without such an artifact, its content is read: content blocks
    one at a time, JSON, and joined texts. Joined texts are split at tags, numbers, rules, labelled
    fields or blank lines. If the boundaries are unclear, a text counts as one document. Failed
    tools, empty result lists, statements that nothing was found, and content other than text yield
    no documents.

    The address, title and date come from the protocol: the URI of a block, the fields of a JSON
    result, the metadata of an artifact, or an argument of the call. What a text says about itself
    is never used. A document without a title is named after its tool. The parts of a joined text
    are separate documents with one voice (they count as one source), since the author of any one
    part may have written the separators between the parts. Everything that a fetch returned counts
    as one source, too. A fetch is a call with an address in its arguments, or a call to a tool
    whose name suggests fetching. A search whose query mentions a site is not a fetch.

    ``sources`` names the tools whose results are evidence. By default, evidence comes from tools
    whose names suggest a search, and from tools that return documents or prose. Results such as
    times and receipts do not count. At most ``most`` documents are read.
    """
    return read_messages(messages, sources, most)[0]


def read_messages(
    messages: Sequence[BaseMessage], sources: Collection[str] | None, most: int
) -> tuple[tuple[Document, ...], frozenset[int]]:
    """Return the documents of these messages, and the positions of the messages that have any."""
    results = [*islice(_results(messages, sources), most)]
    places = frozenset(place for place, _ in results)
    return to_documents([document for _, document in results]), places


def _results(
    messages: Sequence[BaseMessage], sources: Collection[str] | None
) -> Iterator[tuple[int, Retrieved]]:
    """Yield the results of tools with the positions of their messages.

    Each message yields at most one more document than the limit for a turn. This further document
    shows callers that documents were left out.
    """
    calls = {
        call["id"]: call["args"]
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
    }
    for number, message in enumerate(messages):
        if isinstance(message, ToolMessage) and message.status != "error":
            reply = _ToolReply(message, calls.get(message.tool_call_id), number)
            for document in reply.documents(sources):
                yield number, document


class _ToolReply:
    """The reply of one tool call, with its name and arguments."""

    def __init__(
        self, message: ToolMessage, arguments: Mapping[str, Any] | None, number: int
    ) -> None:
        self._message, self._number = message, number
        self._name = message.name or ""
        self._words = {word.casefold() for word in NAME_WORD.findall(self._name)}
        texts = [*argument_texts(arguments)]
        # two addresses suffice to see that a call has more than one
        self._addresses = list(islice(filter(None, map(address_of, texts)), 2))
        self._searches = bool(self._words & SEARCHES)
        by_name = bool(self._words & FETCHES) and not self._searches
        mentions = not self._searches and any(map(mentions_address, texts))
        self._fetches = by_name or bool(self._addresses) or mentions

    def documents(self, sources: Collection[str] | None) -> list[Retrieved]:
        if sources is not None and self._name not in sources:
            return []
        documents = [*islice(_documents(self._message.artifact), MOST_OF_TOOLS + 1)]
        # if middleware redacted the content, the artifact may still have the redacted words
        from_artifact = bool(documents) and not lost_words(str(self._message.text), documents)
        if not from_artifact:
            documents = self._in_content()
        if sources is None and not self._is_evidence(documents, from_artifact):
            return []
        if self._fetches:
            # copied, since the documents of an artifact belong to the caller's messages
            documents = [
                Retrieved(each.page_content, metadata=dict(each.metadata)) for each in documents
            ]
            self._join(documents, "")
        if not from_artifact:
            self._name_origins(documents)
        return documents

    def _in_content(self) -> list[Retrieved]:
        """Return the documents in the text or the blocks of a result."""
        content = self._message.content
        blocks = content if isinstance(content, list) else [content]
        documents = (
            document
            for place, block in enumerate(blocks)
            for document in self._in_block(block, place)
        )
        return [*islice(documents, MOST_OF_TOOLS + 1)]

    def _name_origins(self, documents: Sequence[Retrieved]) -> None:
        """If a document states no origin, set it to the fetched page or the tool."""
        if self._fetches and len(self._addresses) == 1:
            for document in documents:
                document.metadata.setdefault("url", self._addresses[0])
        for document in documents:
            if not _origin(document):
                document.metadata["title"] = self._name

    def _is_evidence(self, documents: Sequence[Retrieved], from_artifact: bool) -> bool:
        """Return whether a tool returns evidence, judged by its name or its output."""
        if not self._name or self._searches:
            return True
        if self._words & WRITES:
            return False
        listed = from_artifact or len(documents) > 1 or any(map(_origin, documents))
        prose = len(str(self._message.text).split()) >= _PROSE_WORDS
        return bool(self._words & READS) or self._fetches or listed or prose

    def _in_block(self, block: object, place: int) -> Iterator[Retrieved]:
        """Yield the documents in a text or in a content block."""
        if isinstance(block, str):
            yield from self._in_text(block, place)
            return
        if not isinstance(block, Mapping):
            return
        if block.get("type") == "search_result":
            yield from _search_result(block)
            return
        resource = block.get("resource") if block.get("type") == "resource" else block
        if not isinstance(resource, Mapping) or not _has_text(resource.get("text")):
            return
        uri = resource.get("uri")
        for document in self._in_text(resource["text"], place):
            if _has_text(uri):  # parts from one address are one source, even if the text denies it
                document.metadata = {"url": uri}
                self._join([document], f" {place}")
            yield document

    def _in_text(self, text: str, place: int) -> Iterator[Retrieved]:
        text = without_header(text.strip())
        if lists_places(text):
            return
        for data in (_json_lines(text), _json(without_edit_note(text)), written_out(text)):
            documents = self._in_data(data)
            if documents or _has_empty_list(data):
                yield from documents
                return
        if self._searches and says_nothing_found(text):
            return
        parts = [Retrieved(part) for part in parts_of(text, blank_lines=self._searches)]
        if len(parts) > 1:
            self._join(parts, f" {place}")
        yield from parts

    def _in_data(self, data: object) -> list[Retrieved]:
        """Return the documents in structured data that was parsed from a text."""
        if isinstance(data, list) and all(map(_has_text, data)):
            return [Retrieved(page_content=text) for text in data[: MOST_OF_TOOLS + 1]]
        documents = [*islice(_documents(data), MOST_OF_TOOLS + 1)]
        if not documents and self._searches:
            documents = [*islice(_documents(renamed(data)), MOST_OF_TOOLS + 1)]
        return list(map(self._as_told, documents))

    def _as_told(self, document: Retrieved) -> Retrieved:
        """Return a document with the metadata that its tool gave; a fetched document has none."""
        if self._fetches:
            return Retrieved(document.page_content)
        return without_voice(document)

    def _join(self, documents: Sequence[Retrieved], place: str) -> None:
        """Make these documents count as one source."""
        for document in documents:
            document.metadata[VOICE] = f"{self._name or 'tool'} {self._number}{place}"


def _search_result(block: Mapping[str, Any]) -> Iterator[Retrieved]:
    """Yield the document in a ``search_result`` block; its texts are in nested blocks."""
    content = block.get("content")
    blocks = content if isinstance(content, list) else [content]
    texts = [each.get("text") if isinstance(each, Mapping) else each for each in blocks]
    if text := "\n\n".join(text for text in texts if isinstance(text, str) and text.strip()):
        fields = {"url": block.get("source"), "title": block.get("title")}
        yield Retrieved(text, metadata={key: v for key, v in fields.items() if _has_text(v)})


def _origin(document: Retrieved) -> bool:
    """Return whether a document has a title or an address."""
    return any(document.metadata.get(key) for key in ("title", *URL_KEYS))


def _json(text: str) -> object:
    """Return the JSON in a text that contains little else; None if there is none."""
    # the label before the JSON may begin with a bracket too, as in "[INFO] 2 results"
    starts = [match.start(1) for match in islice(_JSON_START.finditer(text), 2)]
    # JSON that is nested too deeply, or whose numbers have too many digits, ends the search
    with suppress(ValueError, RecursionError):
        for start in starts:
            with suppress(json.JSONDecodeError):
                value, end = json.JSONDecoder().raw_decode(text, start)
                # only a label may precede the JSON, and only a closing remark may follow it: a few
                # sentences, or a quarter of a long text (chosen by hand)
                if len(text) - (end - start) <= max(200, len(text) // 4):
                    return value
    return None


def _json_lines(text: str) -> object:
    """Return the objects in a text with one JSON object on each line, or None."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < 2 or not all(line.lstrip().startswith("{") for line in lines):
        return None
    with suppress(ValueError, RecursionError):
        return [json.loads(line) for line in lines]
    return None


def _has_empty_list(data: object) -> bool:
    """Return whether data is an empty list, or has an empty list where results are expected."""
    lists = [data.get(key) for key in _LIST_KEYS] if isinstance(data, Mapping) else [data]
    return [] in lists


def _documents(data: object, depth: int = _DEPTH) -> Iterator[Retrieved]:
    """Yield the documents in a document, a mapping, or a sequence of these."""
    if not depth:
        return
    if isinstance(data, Retrieved):
        yield data
    elif isinstance(data, Mapping):
        yield from _in_mapping(data, depth - 1)
    elif isinstance(data, Sequence) and not isinstance(data, str | bytes):
        for item in data:
            yield from _documents(item, depth - 1)


def _in_mapping(fields: Mapping[Any, Any], depth: int) -> Iterator[Retrieved]:
    """Yield the documents in a mapping's list of results or, without a list, the mapping itself."""
    for key in _LIST_KEYS:
        if documents := [*islice(_in_list(fields.get(key), depth), MOST_OF_TOOLS + 1)]:
            yield from documents
            return
    if text := next((fields[key] for key in _TEXT_KEYS if _has_text(fields.get(key))), None):
        yield Retrieved(page_content=text, metadata=_metadata(fields))
        return
    inner = (fields.get(key) for key in _INNER_KEYS)
    for within in (each for each in inner if depth and isinstance(each, Mapping)):
        if document := next(_in_mapping(within, depth - 1), None):
            metadata = {**_metadata(fields), **document.metadata}
            yield Retrieved(document.page_content, metadata=metadata)
            return


def _in_list(results: object, depth: int) -> Iterator[Retrieved]:
    """Yield the documents in a list of results, which may be plain strings."""
    if not isinstance(results, Mapping | list | tuple):
        return
    if isinstance(results, list) and len(results) == 1 and isinstance(results[0], list):
        results = results[0]  # a list that contains a list of results for each query
    if isinstance(results, list) and results and all(map(_has_text, results)):
        yield from (Retrieved(page_content=text) for text in results)
    else:
        yield from _documents(results, depth)


def _metadata(result: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a result's other fields; those that have a different name in this project are renamed.

    Several fields may have the same name: a result with a ``link`` may also have a ``source``, the
    name of a newspaper. The field with a web address is then preferred, and next the field that
    already has the name. All other fields keep their own names.
    """
    nested = result.get("metadata")
    fields = {**result, **(nested if isinstance(nested, Mapping) else {})}
    metadata: dict[str, Any] = {}
    for key in sorted(map(str, fields), key=lambda key: _fitness(key, fields.get(key))):
        # a result's text is read elsewhere; metadata from outside must not set a document's voice
        if key in fields and key not in (*_TEXT_KEYS, "type", VOICE):
            name = field_of(key) or key
            metadata.setdefault(key if name in metadata else name, fields[key])
    return metadata


def _fitness(key: str, value: object) -> tuple[bool, bool, bool]:
    """Return the rank of a field among those with the same name; the smallest is the best."""
    is_address = isinstance(value, str) and address_of(value) is not None
    return not _has_text(value), not is_address, field_of(key) != key


def _has_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
