"""Streaming an agent shows the final answer, once, and no draft."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain.agents.middleware import ModelFallbackMiddleware
from langchain_core.messages import AIMessage, AIMessageChunk, ToolMessage
from langchain_openai import ChatOpenAI

from tests.fakes.openai_server import OpenAIServer
from tests.middleware.agents import FOUND, QUESTION, AgentWorld, agent_of
from tests.talking import Shelf
from tests.world import scripted_model

Stream = Callable[..., list[Any]]


@pytest.fixture(params=["stream", "astream"])
def stream(request: pytest.FixtureRequest) -> Iterator[Stream]:
    """Everything that an agent streams, called in one of the two ways."""

    async def collected(agent: Any, options: dict[str, Any]) -> list[Any]:
        return [part async for part in agent.astream(QUESTION, **options)]

    def synchronously(agent: Any, **options: Any) -> list[Any]:
        return list(agent.stream(QUESTION, **options))

    def asynchronously(agent: Any, **options: Any) -> list[Any]:
        return runner.run(collected(agent, options))

    with asyncio.Runner() as runner:
        yield synchronously if request.param == "stream" else asynchronously


def messages_of(stream: Stream, agent: Any) -> list[Any]:
    """The messages, without the empty chunks that end a stream."""
    return with_content([message for message, _ in stream(agent, stream_mode="messages")])


def with_content(streamed: list[Any]) -> list[Any]:
    return [m for m in streamed if m.text or getattr(m, "tool_calls", None)]


def test_the_final_answer_is_streamed_once_and_the_draft_and_the_judge_never(
    agent_model: ChatOpenAI, stream: Stream
) -> None:
    parts = stream(agent_of(agent_model), stream_mode=["messages", "values"])

    streamed = [part[0] for mode, part in parts if mode == "messages"]
    call, found, answer = with_content(streamed)

    assert isinstance(call, AIMessageChunk)
    assert call.tool_calls[0]["name"] == "search"
    assert isinstance(found, ToolMessage)
    assert found.text == FOUND
    assert isinstance(answer, AIMessage)
    assert answer.text == "It was lit in 1874."
    assert answer.response_metadata["conflictscore"]["flipped"]
    assert streamed[-1].id == parts[-1][1]["messages"][-1].id, "the same as in the history"


def test_if_nothing_can_be_replaced_the_answer_is_streamed_word_by_word(
    agent_model: ChatOpenAI, stream: Stream
) -> None:
    bare = messages_of(stream, agent_of(agent_model, tools=[]))
    scored = messages_of(stream, agent_of(agent_model, max_rounds=0))

    words = ["It ", "was ", "lit ", "in ", "1871."]
    assert [m.text for m in bare] == words
    assert [m.text for m in scored] == ["", FOUND, *words]


def test_no_word_of_a_refused_answer_is_streamed(agent_model: ChatOpenAI, stream: Stream) -> None:
    refusing: Any = {"require": "partly", "refusal": "This was not checked."}
    streamed = messages_of(stream, agent_of(agent_model, tools=[], **refusing))

    assert [message.text for message in streamed] == ["This was not checked."]


def test_with_a_retriever_the_draft_is_hidden_from_the_start(
    agent_model: ChatOpenAI, stream: Stream
) -> None:
    streamed = messages_of(stream, agent_of(agent_model, tools=[], retriever=Shelf()))

    assert [m.text for m in streamed] == ["It was lit in 1874."]


def test_the_draft_of_another_model_that_a_middleware_puts_in_is_hidden_as_well(
    agent_model: ChatOpenAI, agent_world: AgentWorld, stream: Stream
) -> None:
    agent_world.failing.update(generate=9, regenerate=9)
    other = AgentWorld(answer="In 1871.", regenerated="In 1874.")
    with OpenAIServer(other) as server:
        fallback = ModelFallbackMiddleware(scripted_model(server))
        streamed = messages_of(stream, agent_of(agent_model, inside=[fallback]))

    assert [m.text for m in streamed] == ["", FOUND, "In 1874."]
