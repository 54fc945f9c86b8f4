"""Reads a chat conversation: its question, its history, and the documents that tools returned.

Limits without a stated reason were chosen by hand.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from conflictscore.answering.statements import telling_terms
from conflictscore.loop.framework_messages import is_client_task, question_place
from conflictscore.loop.state import RagInput
from conflictscore.loop.turns import turns_in
from conflictscore.records import Document, Gap, GapKind
from conflictscore.retrieval.documents import MOST_OF_TOOLS
from conflictscore.retrieval.nothing_found import lists_places
from conflictscore.retrieval.tool_names import NAME_WORD, WRITES
from conflictscore.retrieval.tool_results import documents_from_messages, read_messages
from conflictscore.scripts import UNSPACED, words_in

# Types of content blocks in a tool's result that contain text to check against.
_READ_BLOCKS = frozenset({"text", "resource", "search_result"})
_NOT_TEXT = frozenset(
    ("base64", "data", "file_id", "mime_type", "media_type", "source", "value", "image_url", "url")
)
"""Fields of a content block that hold an image, a sound or a file, or its URL."""
_LEAST_EVIDENCE = 12
"""A tool result with fewer words than this is usually a receipt, a time or a number.

A lower limit would report receipts as unread evidence; a higher one would ignore short facts.
"""
_SHARED_TERMS = 2
"""A short tool result concerns the question if it has at least this many of its terms. One shared
term is often only the name in the question, which a receipt repeats."""
_PROSE_WORDS = 40  # a result with more words says more than that nothing was found
_UNSPACED = re.compile(f"[{UNSPACED}]")
_NOTHING_CHARS = 400  # a search that found nothing says so within this many characters
NOTHING_FOUND = re.compile(
    r"\bno (?:\w+ ){0,4}(?:results?|matches|documents?|hits|pages?)\b"
    r"|\bnothing (?:was )?found\b|\b(?:could not|couldn't|did not|didn't) find any\b",
    re.IGNORECASE,
)
"""Matches a search tool's statement that it found nothing."""


@dataclass(frozen=True)
class ChatQuestion:
    """A conversation, read as a question with history."""

    question: str
    """Text of the last human message; empty if there is no such message."""
    history: list[dict[str, str]]
    """The turns before the question, as ``role`` and ``content``, without tool messages."""
    since: tuple[BaseMessage, ...]
    """The messages after the question: tool calls and their results."""
    other_content: bool
    """Whether the conversation contains anything but text, such as an image or a message with an
    unknown role.
    """

    brought: tuple[Document, ...] = ()
    """Documents passed with the conversation."""
    before: tuple[BaseMessage, ...] = ()
    """The messages before the question."""
    sources: Collection[str] | None = None
    """Names of the tools whose results are documents; None to recognise these tools
    automatically."""
    cut: bool = False
    """Whether the documents of earlier tool results were cut at the limit."""
    attached: tuple[str, ...] = ()
    """Types of the user's content blocks other than text, such as ``image``."""

    def unread(self, *instructions: str) -> dict[str, str]:
        """Return the texts that the model read but the check did not, by their location.

        The model reads the system messages, further ``instructions``, and the results since the
        question from tools that are not in ``sources``.
        """
        # some chatbots put their material into a system message after the question
        messages = (*self.before, *self.since)
        system = [str(m.text) for m in messages if isinstance(m, SystemMessage)]
        texts = {"the system prompt": "\n".join([*instructions, *system])}
        for message in self.since if self.sources is not None else ():
            if isinstance(message, ToolMessage) and message.name not in (self.sources or ()):
                place = f"the result of {message.name or 'a tool'}"
                texts[place] = f"{texts.get(place, '')}\n{message.text}"
        return texts

    @property
    def attached_gaps(self) -> tuple[Gap, ...]:
        """A gap if the user's messages contain anything but text."""
        if not self.attached:
            return ()
        note = f"the user's messages contain {', '.join(self.attached)}, which is not read"
        note = f"{note}; give its text as a document"
        return (Gap(kind=GapKind.EVIDENCE_LEFT_OUT, note=note),)

    @cached_property
    def left_out(self) -> tuple[Gap, ...]:
        """Gaps for tool results since the question that the model read but the check did not."""
        documents, places = self._of_tools
        calls = [call for each in self.since for call in getattr(each, "tool_calls", ())]
        arguments = {call["id"]: str(call["args"]) for call in calls}
        gaps = [
            gap
            for place, message in enumerate(self.since)
            for gap in left_out_of(
                message,
                self.sources,
                is_read=place in places,
                question=self.question,
                arguments=arguments.get(getattr(message, "tool_call_id", None), ""),
            )
        ]
        if self.cut or (not self.brought and len(documents) > MOST_OF_TOOLS):
            note = (
                f"tools returned more than {MOST_OF_TOOLS:,} documents, so only "
                "the first ones were read"
            )
            gaps.append(Gap(kind=GapKind.EVIDENCE_LEFT_OUT, note=note))
        return tuple(gaps)

    @cached_property
    def _of_tools(self) -> tuple[tuple[Document, ...], frozenset[int]]:
        """Documents that tools have returned since the question, and the positions of the messages.

        At most one document more than the limit is returned; it shows that the limit is exceeded.
        """
        return read_messages(self.since, self.sources, MOST_OF_TOOLS + 1)

    @cached_property
    def documents(self) -> tuple[Document, ...]:
        """Documents passed with the conversation; if none, those from tools since the question."""
        return self.brought or self._of_tools[0][:MOST_OF_TOOLS]

    def or_earlier(self) -> "ChatQuestion":
        """Return this question; if it has no documents, add those of earlier tool results.

        The model often answers a follow-up question from them, without calling a tool again.
        """
        if self.documents:
            return self
        earlier = documents_from_messages(self.before, self.sources, MOST_OF_TOOLS + 1)
        return replace(self, brought=earlier[:MOST_OF_TOOLS], cut=len(earlier) > MOST_OF_TOOLS)

    def start(self, draft: str | None = None) -> RagInput:
        """Return the input for the loop, with the first answer if there is one already."""
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
    sources: Collection[str] | None = None,
    place: int | None = None,
) -> ChatQuestion:
    """Read a conversation as a question with history; ``documents`` are those passed with it.

    By default the question is the last human message written by a user, which may be a whole
    prompt. Messages from a framework ("Please continue.", a summary) do not replace the user's
    question. A request by the chat client itself, for example for a chat title, does not count as a
    question. A caller who knows the position of the question passes it as ``place``.
    """
    place = question_place(messages) if place is None else place
    last = len(messages) if place is None else place
    attached = [kind for message in messages for kind in _attached_to(message)]
    text = "" if place is None else str(messages[place].text).strip()
    return ChatQuestion(
        question=question or ("" if is_client_task(text) else text),
        history=[turn._asdict() for turn in turns_in(messages[:last])],
        since=tuple(messages[last + 1 :]),
        other_content=not all(map(_is_text, messages)),
        brought=tuple(documents),
        before=tuple(messages[:last]),
        sources=sources,
        attached=tuple(sorted({*attached})),
    )


def left_out_of(
    message: BaseMessage,
    sources: Collection[str] | None,
    *,
    is_read: bool,
    question: str = "",
    arguments: str = "",
) -> Iterator[Gap]:
    """Yield gaps for parts of a tool message that the model saw as evidence but the check skipped.

    Blocks other than text (images, files) are never read. Text that was not used as a document is a
    gap if it is long or concerns the question. Other short texts are mere receipts, times or
    numbers. The result of a tool that writes something is a receipt too if it only repeats the
    call's ``arguments``, however long. Results of tools that are not in ``sources`` are no
    evidence.
    """
    if not isinstance(message, ToolMessage) or message.status == "error":
        return
    name = message.name or "a tool"
    if sources is not None and message.name not in sources:
        return
    kinds = _kinds_of_blocks(message) - _READ_BLOCKS
    if kinds:
        note = f"{name} returned {', '.join(sorted(kinds))}, which is not read"
        yield Gap(
            kind=GapKind.EVIDENCE_LEFT_OUT, note=f"{note}; return text or an artifact instead"
        )
    if not is_read and _is_evidence(message, question, arguments):
        note = f"the result of {name} was not read as documents"
        how = "name the tool in sources, or return an artifact or JSON"
        yield Gap(kind=GapKind.EVIDENCE_LEFT_OUT, note=f"{note}; {how}")


def _kinds_of_blocks(message: ToolMessage) -> set[str]:
    """Return the types of a result's content blocks.

    If a tool returns a block of a type that LangChain does not know, LangChain writes all blocks of
    the result as JSON. For such a result, only the types of blocks that hold something other than
    text are returned.
    """
    if isinstance(message.content, list):
        return {_kind_of(block) for block in message.content if isinstance(block, dict)}
    data = None
    if message.content.startswith("["):
        with suppress(ValueError, RecursionError):  # text in brackets need not be JSON
            data = json.loads(message.content)
    blocks = [each for each in data if isinstance(each, dict)] if isinstance(data, list) else []
    return {
        str(block["type"])
        for block in blocks
        if "type" in block and not {"text", "content"} & {*block} and _NOT_TEXT & {*block}
    }


def _is_evidence(message: ToolMessage, question: str, arguments: str) -> bool:
    """Return whether a result is more than a receipt, a number, a list or a failed search."""
    text = str(message.text)
    words = _word_count(text.split())
    if NOTHING_FOUND.search(text[:_NOTHING_CHARS]) and words < _PROSE_WORDS:
        return False
    if lists_places(text):
        return False
    if _writes(message):
        repeated = {*words_in(arguments)}
        words = _word_count([word for word in words_in(text) if word not in repeated])
    return words >= _LEAST_EVIDENCE or _speaks_of(message, question)


def _word_count(words: Sequence[str]) -> int:
    """Return the number of words; two characters of a script without spaces count as one word.

    A Chinese sentence, for example, would otherwise be a single word and count as a receipt.
    """
    spaced = sum(not _UNSPACED.search(word) for word in words)
    return spaced + len(_UNSPACED.findall("".join(words))) // 2


def _speaks_of(message: ToolMessage, question: str) -> bool:
    """Return whether a short result concerns the question.

    The result of a tool that writes something never counts, since it may just repeat the question.
    """
    shared = telling_terms(str(message.text)) & telling_terms(question)
    return len(shared) >= _SHARED_TERMS and not _writes(message)


def _writes(message: ToolMessage) -> bool:
    """Return whether the name of the message's tool suggests that the tool writes something."""
    return not WRITES.isdisjoint(word.lower() for word in NAME_WORD.findall(message.name or ""))


def _attached_to(message: BaseMessage) -> list[str]:
    """Return the types of a user message's blocks other than text."""
    if not isinstance(message, HumanMessage) or isinstance(message.content, str):
        return []
    blocks = [block for block in message.content if not isinstance(block, str)]
    return [_kind_of(block) for block in blocks if block.get("type") != "text"]


def _kind_of(block: Mapping[str, Any]) -> str:
    """Return the type of a content block, as a noun for notes."""
    return str(block.get("type") or "a block without a type")


def _is_text(message: BaseMessage) -> bool:
    """Return whether a message has no content but text.

    Reasoning and tool calls do not count as content, and tool messages are read for documents.
    """
    if _attached_to(message):
        return False
    return isinstance(message, ToolMessage | SystemMessage | HumanMessage | AIMessage)
