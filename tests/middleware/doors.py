"""Every way into the loop, as the same small call: a question, documents to find, settings."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI

from conflictscore import create_self_correcting_rag
from conflictscore.middleware import SelfCorrectingChatModel, self_correct
from tests.fakes.openai_server import OpenAIServer
from tests.middleware.agents import AgentWorld, agent_of
from tests.middleware.service.serving import serving
from tests.revising import RevisingAgentWorld
from tests.talking import Shelf
from tests.world import PAPER, scripted_model

__all__ = ["DOORS", "Answered", "Door"]

QUESTION = "When was the lamp lit?"


@dataclass(frozen=True)
class Answered:
    """What a caller gets of a run."""

    said: str
    """The answer, as it is read."""
    run: Mapping[str, Any]
    calls: int
    """How many requests the models got."""
    asked: Mapping[str, int]
    """How often each step of the scripted model was asked for."""


Ask = Callable[[AgentWorld, OpenAIServer, Shelf, dict[str, Any]], tuple[str, Mapping[str, Any]]]


@dataclass(frozen=True)
class Door:
    """A way into the loop."""

    name: str
    ask: Ask
    has_its_own_answer: bool = False
    """Whether there is an answer to pass on where no documents are found."""

    def answered(self, world: AgentWorld, found: list[dict[str, str]], **settings: Any) -> Answered:
        """Ask the one question, where the search finds these documents."""
        with OpenAIServer(world) as server:
            said, run = self.ask(world, server, Shelf(found=found), {**PAPER, **settings})
            return Answered(said, run, len(server.requests), dict(world.asked))


def _graph(
    world: AgentWorld, server: OpenAIServer, shelf: Shelf, settings: dict[str, Any]
) -> tuple[str, Mapping[str, Any]]:
    graph = create_self_correcting_rag(scripted_model(server), shelf, cache=False, **settings)
    state = graph.invoke({"question": QUESTION})
    return state["answer"], state


def _agent(asynchronous: bool) -> Ask:
    def ask(
        world: AgentWorld, server: OpenAIServer, shelf: Shelf, settings: dict[str, Any]
    ) -> tuple[str, Mapping[str, Any]]:
        agent = agent_of(scripted_model(server), tools=(), retriever=shelf, **settings)
        start = {"messages": [{"role": "user", "content": QUESTION}]}
        state = asyncio.run(agent.ainvoke(start)) if asynchronous else agent.invoke(start)
        return str(state["messages"][-1].text), state["conflict"]

    return ask


def _chat_model(call: Callable[[SelfCorrectingChatModel], AIMessage]) -> Ask:
    def ask(
        world: AgentWorld, server: OpenAIServer, shelf: Shelf, settings: dict[str, Any]
    ) -> tuple[str, Mapping[str, Any]]:
        model: ChatOpenAI = scripted_model(server)
        reply = call(SelfCorrectingChatModel(model, shelf, content_cache=False, **settings))
        return str(reply.text), reply.response_metadata["conflictscore"]

    return ask


def _streamed(chat: SelfCorrectingChatModel) -> AIMessage:
    [chunk] = chat.stream(QUESTION)
    return chunk


def _streamed_asynchronously(chat: SelfCorrectingChatModel) -> AIMessage:
    async def streamed() -> AIMessage:
        [chunk] = [chunk async for chunk in chat.astream(QUESTION)]
        return chunk

    return asyncio.run(streamed())


def _function(asynchronous: bool) -> Ask:
    """A decorated function that says what the scripted model would."""

    def ask(
        world: AgentWorld, server: OpenAIServer, shelf: Shelf, settings: dict[str, Any]
    ) -> tuple[str, Mapping[str, Any]]:
        def answer(question: str, documents: Any) -> str:
            if isinstance(world, RevisingAgentWorld) and "Decide what becomes" in question:
                said = world.revision_of(question)
                assert isinstance(said, str)
                return said
            step = "regenerate" if "on which the documents disagree" in question else "generate"
            world.asked[step] += 1
            if step in world.instead:
                raise ConnectionError("not now")
            given = world.regenerated if step == "regenerate" else world.answer
            return given if isinstance(given, str) else given[world.asked[step] - 1]

        async def answer_later(question: str, documents: Any) -> str:
            return answer(question, documents)

        decorate = self_correct(
            judge=scripted_model(server), retriever=shelf, cache=False, **settings
        )
        if asynchronous:
            run = asyncio.run(decorate(answer_later).run(QUESTION))
        else:
            run = decorate(answer).run(QUESTION)
        return run["answer"], run

    return ask


def _service(
    world: AgentWorld, server: OpenAIServer, shelf: Shelf, settings: dict[str, Any]
) -> tuple[str, Mapping[str, Any]]:
    correcting = {"mode": "correct", "no_auth": True}
    with serving(server, retriever=shelf, settings=correcting, **settings) as served:
        response = served.ask(QUESTION)
        return response.json()["choices"][0]["message"]["content"], served.run(response)


DOORS = [
    Door("graph", _graph),
    Door("agent", _agent(asynchronous=False), has_its_own_answer=True),
    Door("agent, asynchronous", _agent(asynchronous=True), has_its_own_answer=True),
    Door("chat model", _chat_model(lambda chat: chat.invoke(QUESTION)), has_its_own_answer=True),
    Door(
        "chat model, asynchronous",
        _chat_model(lambda chat: asyncio.run(chat.ainvoke(QUESTION))),
        has_its_own_answer=True,
    ),
    Door("chat model, streamed", _chat_model(_streamed), has_its_own_answer=True),
    Door(
        "chat model, streamed asynchronously",
        _chat_model(_streamed_asynchronously),
        has_its_own_answer=True,
    ),
    Door("function", _function(asynchronous=False)),
    Door("coroutine function", _function(asynchronous=True)),
    Door("service", _service, has_its_own_answer=True),
]
