"""Documents that tools brought, and questions in chat messages."""

import json
from datetime import date
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import StructuredTool, create_retriever_tool

from conflictscore.middleware.messages import asked_in, documents_from_messages
from tests.talking import Shelf

LIT = Document("Lit in 1871.", metadata={"title": "Gazette", "url": "https://a.test/"})


def said(content: Any = "", **fields: Any) -> ToolMessage:
    return ToolMessage(content, tool_call_id="1", name="search", **fields)


def found(*messages: BaseMessage) -> list[tuple[int, str, str, str]]:
    """The documents of these messages: number, text, title and address."""
    return [(d.number, d.text, d.title, d.url) for d in documents_from_messages(messages)]


@pytest.mark.parametrize(
    "artifact",
    [
        LIT,
        [LIT],
        (LIT, LIT),
        {"text": "Lit in 1871.", "title": "Gazette", "url": "https://a.test/"},
        [{"page_content": "Lit in 1871.", "metadata": LIT.metadata}],
        {"query": "lamp", "results": [{"content": "Lit in 1871.", **LIT.metadata}]},
        {"documents": [LIT]},
    ],
)
def test_documents_are_taken_from_an_artifact_in_whatever_form_it_has(artifact: Any) -> None:
    assert found(said("1 result", artifact=artifact)) == [
        (1, "Lit in 1871.", "Gazette", "https://a.test/")
    ]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([{"title": "Gazette", "url": "https://a.test/", "snippet": "Lit in 1871."}]),
        json.dumps([{"title": "Gazette", "link": "https://a.test/", "snippet": "Lit in 1871."}]),
        json.dumps(
            {"results": [{"title": "Gazette", "url": "https://a.test/", "content": "Lit in 1871."}]}
        ),
        json.dumps(
            {
                "title": "Gazette",
                "source": "https://a.test/",
                "text": " ",
                "snippet": "Lit in 1871.",
            }
        ),
    ],
)
def test_a_text_of_search_results_in_json_is_read_as_documents(text: str) -> None:
    assert found(said(text)) == [(1, "Lit in 1871.", "Gazette", "https://a.test/")]


@pytest.mark.parametrize(
    "returned",
    [
        ["Lit in 1871.", "Lit in '74."],
        [Document("Lit in 1871.", metadata={"when": date(1871, 3, 1)}), Document("Lit in '74.")],
    ],
)
def test_each_text_or_document_of_a_list_that_a_tool_returned_is_one(returned: Any) -> None:
    tool = StructuredTool.from_function(lambda: returned, name="search", description="Search.")
    came = tool.invoke({"name": "search", "args": {}, "id": "1", "type": "tool_call"})

    assert [text for _, text, *_ in found(came)] == ["Lit in 1871.", "Lit in '74."]


@pytest.mark.parametrize(
    "text",
    [
        *("Lit in 1871.", '{"year": 1871}', "[1871]", '"1871"', "{", "[" * 5000, "null"),
        *("[Document(", "[Document(-", "[Document(1)]", "[Document(page_content=open('x'))]"),
        "[Document(page_content=" + "(" * 5000,
    ],
)
def test_any_other_text_is_one_document_named_after_its_tool(text: str) -> None:
    assert found(said(text)) == [(1, text, "search", "")]


@pytest.mark.parametrize("text", ["[]", '{"query": "lamp", "results": []}', '{"documents": []}'])
def test_a_search_that_found_nothing_brings_no_document(text: str) -> None:
    assert found(said(text)) == []


def test_an_artifact_without_documents_leaves_the_text() -> None:
    assert found(said("Lit in 1871.", artifact={"took_ms": 7})) == [
        (1, "Lit in 1871.", "search", "")
    ]


def test_documents_are_numbered_through_all_messages_and_each_counts_once() -> None:
    other = Document("Lit in 1874.")

    assert [number for number, *_ in found(said(artifact=[LIT, other]), said(artifact=[LIT]))] == [
        1,
        2,
    ]


def test_what_failed_or_is_no_text_is_no_document() -> None:
    image = {"type": "image", "base64": "AAAA", "mime_type": "image/png"}

    assert (
        found(
            said("no such host", status="error"),
            said([image]),
            said(artifact=[{"title": "no text"}]),
            AIMessage("Lit in 1871."),
            HumanMessage("Lit in 1871."),
        )
        == []
    )


def test_other_fields_of_a_result_are_kept_as_its_metadata() -> None:
    result = {"content": "Lit.", "score": 0.5, "date": "1871", "raw": {"html": "<p>"}}

    [document] = documents_from_messages([said(json.dumps([result]))])

    assert document.metadata == {"score": 0.5, "date": "1871"}


def test_langchains_own_retriever_tool_brings_its_documents() -> None:
    shelf: BaseRetriever = Shelf()
    tool = create_retriever_tool(
        shelf, "search", "Find documents.", response_format="content_and_artifact"
    )
    call = {"name": "search", "args": {"query": "lamp"}, "id": "1", "type": "tool_call"}

    assert [title for _, _, title, _ in found(tool.invoke(call))] == ["Gazette", "Log", "Walks"]


# The question


def test_a_conversation_is_read_as_a_question_with_a_history() -> None:
    call = {"name": "search", "args": {}, "id": "1", "type": "tool_call"}
    messages = [
        SystemMessage("Be brief."),
        AIMessage(" ", tool_calls=[call]),
        HumanMessage("Hello."),
        AIMessage([{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Hello!"}]),
        HumanMessage(["When was ", {"type": "text", "text": "it lit? "}]),
        AIMessage("", tool_calls=[call]),
        said("Lit in 1871."),
    ]

    asked = asked_in(messages)

    assert asked.question == "When was it lit?"
    assert asked.history == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello."},
        {"role": "assistant", "content": "Hello!"},
    ]
    assert asked.since == tuple(messages[5:])
    assert not asked.other_content


@pytest.mark.parametrize(
    "message",
    [
        HumanMessage([{"type": "image_url", "image_url": {"url": "https://a.test/i.png"}}]),
        HumanMessage([{"type": "text", "text": "Hear:"}, {"type": "audio", "base64": "AAAA"}]),
        ChatMessage(content="Hello.", role="narrator"),
    ],
)
def test_what_text_cannot_stand_for_is_told(message: BaseMessage) -> None:
    assert asked_in([message, HumanMessage("When?")]).other_content


def test_without_a_human_message_nothing_is_asked() -> None:
    asked = asked_in([SystemMessage("Greet."), AIMessage("Hello.")])

    assert (asked.question, asked.since) == ("", ())
    assert asked.history == [
        {"role": "system", "content": "Greet."},
        {"role": "assistant", "content": "Hello."},
    ]
