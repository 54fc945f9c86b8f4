"""Question of a conversation in chat messages, and the documents that its tools returned."""

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeGuard

from langchain_core.documents import Document as Retrieved
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from conflictscore.nodes.state import RagInput
from conflictscore.records import Document
from conflictscore.retrieval.documents import to_documents

__all__ = ["ChatQuestion", "asked_in", "documents_from_messages"]

_TEXT_KEYS = ("page_content", "text", "content", "snippet")
"""Where a search result has its text; the first that holds any counts."""
_LIST_KEYS = ("results", "documents")
"""Where a search tool's JSON object has its list of results."""

_ROLES: Mapping[type[BaseMessage], str] = {
    SystemMessage: "system",
    HumanMessage: "user",
    AIMessage: "assistant",
}


@dataclass(frozen=True)
class ChatQuestion:
    """A conversation, read as a question with a history."""

    question: str
    """Text of the last human message; empty where there is none."""
    history: list[dict[str, str]]
    """The turns before it, as ``role`` and ``content``; what tools said is left out."""
    since: tuple[BaseMessage, ...]
    """The messages after it: calls of tools, and what came of them."""
    other_content: bool
    """Whether there is anything that text cannot stand for: an image, say, or a message that is of
    no role here."""

    brought: tuple[Document, ...] = ()
    """Documents that came beside the conversation."""
    before: tuple[BaseMessage, ...] = ()
    """The messages before it."""

    @cached_property
    def documents(self) -> tuple[Document, ...]:
        """Those beside the conversation, or those that tools returned since the question."""
        return self.brought or documents_from_messages(self.since)

    def or_earlier(self) -> "ChatQuestion":
        """The same, with what tools returned before the question where nothing came since.

        A follow-up is often answered from them, without another call of a tool.
        """
        if self.documents:
            return self
        return replace(self, brought=documents_from_messages(self.before))

    def start(self, draft: str | None = None) -> RagInput:
        """Input of the loop.

        Args:
            draft: The first answer, where there is one already.
        """
        start: RagInput = {
            "question": self.question,
            "history": self.history,
            "documents": [document.to_json() for document in self.documents],
        }
        return start if draft is None else {**start, "draft_answer": draft}


def asked_in(
    messages: Sequence[BaseMessage],
    documents: Sequence[Document] = (),
    question: str | None = None,
) -> ChatQuestion:
    """Read a conversation as a question with a history.

    Args:
        messages: The conversation, oldest first.
        documents: What to check the answer against, where it is not what tools returned.
        question: The question; by default the last human message, which may be a whole prompt.
    """
    human = [index for index, m in enumerate(messages) if isinstance(m, HumanMessage)]
    last = human[-1] if human else len(messages)
    return ChatQuestion(
        question=question or (messages[last].text.strip() if human else ""),
        history=[
            {"role": role, "content": text}
            for message in messages[:last]
            if (role := _role(message)) and (text := str(message.text)).strip()
        ],
        since=tuple(messages[last + 1 :]),
        other_content=not all(map(_is_text, messages)),
        brought=tuple(documents),
        before=tuple(messages[:last]),
    )


def documents_from_messages(messages: Sequence[BaseMessage]) -> tuple[Document, ...]:
    """Number what tools returned in these messages, from 1 and in their order.

    A tool message gives the documents of its artifact: a LangChain ``Document``, a mapping with a
    text (``page_content``, ``text``, ``content`` or ``snippet``), or a list of such, alone or under
    ``results`` or ``documents``. Without such an artifact its text is read: as JSON of the same
    forms or of a list of texts, as LangChain's ``Document``s where the tool returned a list of
    them, and else as one document named after the tool. What a failed tool said is not a document,
    nor is an empty list of results, or anything but text.

    Args:
        messages: Any messages; all but tool messages are passed over.

    Returns:
        Each document once, with title, address and metadata as :func:`to_documents` reads them.
    """
    return to_documents(
        [
            found
            for message in messages
            if isinstance(message, ToolMessage) and message.status != "error"
            for found in _found(message)
        ]
    )


def _role(message: BaseMessage) -> str | None:
    return next((role for kind, role in _ROLES.items() if isinstance(message, kind)), None)


def _is_text(message: BaseMessage) -> bool:
    """Whether nothing is lost where the text of this message is read alone.

    A model's thoughts and tool calls are not part of what was said, and tools' messages are
    read for documents.
    """
    if isinstance(message, HumanMessage) and not isinstance(message.content, str):
        blocks = [block for block in message.content if not isinstance(block, str)]
        return all(block.get("type") == "text" for block in blocks)
    return isinstance(message, ToolMessage) or _role(message) is not None


def _found(message: ToolMessage) -> list[Retrieved]:
    in_artifact = list(_documents(message.artifact))
    if in_artifact:
        return in_artifact
    read: object = message.content
    if not _are_texts(read):
        try:
            read = json.loads(message.text)
        except (ValueError, RecursionError):
            read = _written_out(message.text)
    named = {"title": message.name or ""}
    texts = read if _are_texts(read) else ()
    in_text = [Retrieved(page_content=text, metadata=named) for text in texts]
    try:
        in_text = in_text or list(_documents(read))
    except RecursionError:
        in_text = []
    if in_text or _none_found(read):
        return in_text
    return [Retrieved(page_content=message.text, metadata=named)]


def _written_out(text: str) -> object:
    """A list of LangChain's documents, as a tool's message holds one that the tool returned."""
    if not text.startswith("[Document("):
        return None
    try:
        calls = getattr(ast.parse(text, mode="eval").body, "elts", [])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    documents: list[dict[str, Any]] = [{} for _ in calls]
    for call, document in zip(calls, documents, strict=True):
        for field in getattr(call, "keywords", ()):
            with suppress(ValueError, TypeError, RecursionError, MemoryError):  # a date, say
                document[field.arg] = ast.literal_eval(field.value)
    return documents


def _none_found(read: object) -> bool:
    """Whether this is a search tool's list of results with nothing in it."""
    if isinstance(read, Mapping):
        return any(read.get(key) == [] for key in _LIST_KEYS)
    return read == []


def _documents(found: object) -> Iterator[Retrieved]:
    """Every document in what a tool returned; nothing for what has another form."""
    if isinstance(found, Retrieved):
        yield found
    elif isinstance(found, Mapping):
        listed = next((found[key] for key in _LIST_KEYS if isinstance(found.get(key), list)), None)
        if listed is not None:
            yield from _documents(listed)
        elif text := next((found[key] for key in _TEXT_KEYS if _has_text(found.get(key))), None):
            yield Retrieved(page_content=text, metadata=_metadata(found))
    elif isinstance(found, Sequence) and not isinstance(found, str):
        for item in found:
            yield from _documents(item)


def _metadata(result: Mapping[Any, Any]) -> dict[str, Any]:
    """A search result's fields, with those of its ``metadata``; all but its text."""
    nested = result.get("metadata")
    fields = {**result, **(nested if isinstance(nested, Mapping) else {})}
    return {str(key): value for key, value in fields.items() if key not in _TEXT_KEYS}


def _are_texts(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(map(_has_text, value))


def _has_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
