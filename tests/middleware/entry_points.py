"""Every entry point of the loop behind one small call: a question, documents and settings."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

from conflictscore import create_self_correcting_rag
from conflictscore.loop.state import RagInput
from conflictscore.middleware import SelfCorrectingChatModel, self_correct
from tests.fakes.openai_server import OpenAIServer
from tests.middleware.agents import AgentWorld, agent_of
from tests.middleware.service.serving import serving, user
from tests.talking import Shelf
from tests.world import PAPER, scripted_model

QUESTION = "When was the lamp lit?"


@dataclass(frozen=True)
class Answered:
    """What a caller gets from a run."""

    said: str
    """The answer, as a reader sees it."""
    run: Mapping[str, Any]
    calls: int
    """How many requests the models got."""
    asked: Mapping[str, int]
    """How often each step of the scripted model was requested."""


@dataclass(frozen=True)
class Sources:
    """Where the documents come from."""

    shelf: Shelf
    brought: list[dict[str, str]] | None = None
    """Documents from a tool, or the caller, for the model's draft; None if the loop searches."""


Ask = Callable[[AgentWorld, OpenAIServer, Sources, dict[str, Any]], tuple[str, Mapping[str, Any]]]


@dataclass(frozen=True)
class EntryPoint:
    """An entry point of the loop."""

    name: str
    ask: Ask
    has_its_own_answer: bool = True
    """Whether there is an answer to return if no documents are found."""

    def answered(
        self,
        world: AgentWorld,
        found: list[dict[str, str]],
        *,
        by_tools: bool = False,
        **settings: Any,
    ) -> Answered:
        """Ask the question; a tool or the search returns what is ``found``."""
        shelf = Shelf(found=[] if by_tools else found)
        sources = Sources(shelf, found if by_tools else None)
        with OpenAIServer(world) as server:
            said, run = self.ask(world, server, sources, {**PAPER, **settings})
            return Answered(said, run, len(server.requests), dict(world.asked))


def _graph(
    world: AgentWorld, server: OpenAIServer, sources: Sources, settings: dict[str, Any]
) -> tuple[str, Mapping[str, Any]]:
    model = scripted_model(server)
    graph = create_self_correcting_rag(model, sources.shelf, cache=False, **settings)
    start: RagInput = {"question": QUESTION}
    if sources.brought is not None:
        start = {**start, "documents": sources.brought, "draft_answer": world.answer}
    state = graph.invoke(start)
    return state["answer"], state


def _agent(asynchronous: bool) -> Ask:
    def ask(
        world: AgentWorld, server: OpenAIServer, sources: Sources, settings: dict[str, Any]
    ) -> tuple[str, Mapping[str, Any]]:
        @tool
        def search(query: str) -> str:
            """Search for documents."""
            return json.dumps(sources.brought)

        if sources.brought is not None:
            world.tools = ("search",)
        tools = [search] if world.tools else []
        model = scripted_model(server)
        agent = agent_of(model, tools=tools, retriever=sources.shelf, **settings)
        start = {"messages": [{"role": "user", "content": QUESTION}]}
        state = asyncio.run(agent.ainvoke(start)) if asynchronous else agent.invoke(start)
        return str(state["messages"][-1].text), state["conflict"]

    return ask


Conversation = list[AnyMessage]


def _chat_model(call: Callable[[SelfCorrectingChatModel, Conversation], AIMessage]) -> Ask:
    def ask(
        world: AgentWorld, server: OpenAIServer, sources: Sources, settings: dict[str, Any]
    ) -> tuple[str, Mapping[str, Any]]:
        model: ChatOpenAI = scripted_model(server)
        asked: Conversation = [HumanMessage(QUESTION)]
        if sources.brought is not None:
            called = {"name": "search", "args": {"query": "lamp"}, "id": "1", "type": "tool_call"}
            asked.append(AIMessage("", tool_calls=[called]))
            asked.append(ToolMessage(json.dumps(sources.brought), tool_call_id="1"))
        chat = SelfCorrectingChatModel(model, sources.shelf, content_cache=False, **settings)
        reply = call(chat, asked)
        return str(reply.text), reply.response_metadata["conflictscore"]

    return ask


def _awaited(chat: SelfCorrectingChatModel, asked: Conversation) -> AIMessage:
    return asyncio.run(chat.ainvoke(asked))


def _streamed(chat: SelfCorrectingChatModel, asked: Conversation) -> AIMessage:
    [chunk] = chat.stream(asked)
    return chunk


def _function(asynchronous: bool) -> Ask:
    """A decorated function that answers like the scripted model."""

    def ask(
        world: AgentWorld, server: OpenAIServer, sources: Sources, settings: dict[str, Any]
    ) -> tuple[str, Mapping[str, Any]]:
        def answer(question: str, documents: Any) -> str:
            step = "regenerate" if "on which the documents disagree" in question else "generate"
            world.asked[step] += 1
            if step in world.instead:
                raise ConnectionError("not now")
            given = world.regenerated if step == "regenerate" else world.answer
            return given if isinstance(given, str) else given[world.asked[step] - 1]

        async def answer_later(question: str, documents: Any) -> str:
            return answer(question, documents)

        judging = {"judge": scripted_model(server), **settings}
        decorate = self_correct(retriever=sources.shelf, cache=False, **judging)
        asked = (QUESTION, sources.brought)
        if asynchronous:
            run = asyncio.run(decorate(answer_later).run(*asked))
        else:
            run = decorate(answer).run(*asked)
        return run["answer"], run

    return ask


def _service(
    world: AgentWorld, server: OpenAIServer, sources: Sources, settings: dict[str, Any]
) -> tuple[str, Mapping[str, Any]]:
    correcting = {"mode": "correct", "no_auth": True}
    asked = user(QUESTION)
    if sources.brought is not None:
        function = {"name": "search", "arguments": '{"query": "lamp"}'}
        call = {"id": "1", "type": "function", "function": function}
        asked.append({"role": "assistant", "content": None, "tool_calls": [call]})
        asked.append({"role": "tool", "tool_call_id": "1", "content": json.dumps(sources.brought)})
    with serving(server, retriever=sources.shelf, settings=correcting, **settings) as served:
        response = served.ask(asked)
        return response.json()["choices"][0]["message"]["content"], served.run(response)


ENTRY_POINTS = [
    EntryPoint("graph", _graph, has_its_own_answer=False),
    EntryPoint("agent", _agent(asynchronous=False)),
    EntryPoint("agent, asynchronous", _agent(asynchronous=True)),
    EntryPoint("chat model", _chat_model(lambda chat, asked: chat.invoke(asked))),
    EntryPoint("chat model, asynchronous", _chat_model(_awaited)),
    EntryPoint("chat model, streamed", _chat_model(_streamed)),
    EntryPoint("function", _function(asynchronous=False), has_its_own_answer=False),
    EntryPoint("coroutine function", _function(asynchronous=True), has_its_own_answer=False),
    EntryPoint("service", _service),
]
