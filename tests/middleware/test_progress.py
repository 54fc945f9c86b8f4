"""Events of a run, wherever the loop stands: in a graph's custom stream, and for a callback."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from conflictscore.middleware import SelfCorrectingChatModel, self_correct
from tests.fakes.openai_server import OpenAIServer
from tests.middleware.agents import AgentWorld, agent_of
from tests.talking import Shelf
from tests.world import DISAGREEING, PAPER, scripted_model

QUESTION = "When was the lamp lit?"
STEPS = ["documents", "answer", "claims", "scores", "decision", "flip"]

Events = list[Mapping[str, Any]]


def graph_of(door: str, model: Any, on_event: Callable[[Mapping[str, Any]], None]) -> Any:
    """A graph that answers by the agent, the chat model, or a decorated function."""
    settings: dict[str, Any] = {**PAPER, "on_event": on_event}
    if door == "agent":
        return agent_of(model, **settings)
    if door == "chat model":
        chat = SelfCorrectingChatModel(model, Shelf(), content_cache=False, **settings)
        answer: Any = lambda state: {"messages": [chat.invoke(state["messages"])]}  # noqa: E731
    else:
        function = self_correct(judge=model, cache=False, **settings)(
            lambda question, documents: "In 1874." if len(question) > 50 else "In 1871."
        )
        answer = lambda _: {"messages": [function(QUESTION, documents=DISAGREEING)]}  # noqa: E731
    graph = StateGraph(MessagesState)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    return graph.compile()


@pytest.mark.parametrize("face", ["sync", "async"])
@pytest.mark.parametrize("door", ["agent", "chat model", "function"])
async def test_events_are_streamed_and_told(door: str, face: str) -> None:
    told: Events = []
    with OpenAIServer(AgentWorld(tools=("search",) if door == "agent" else ())) as server:
        graph = graph_of(door, scripted_model(server), told.append)
        start = {"messages": [("user", QUESTION)]}
        if face == "sync":
            streamed = list(graph.stream(start, stream_mode="custom"))
        else:
            streamed = [event async for event in graph.astream(start, stream_mode="custom")]

    assert streamed == told
    names = [event["event"] for event in told]
    assert names.count("label") >= 3
    assert [name for name in dict.fromkeys(names) if name in STEPS] == STEPS


def test_a_callback_that_fails_costs_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    def fail(event: Mapping[str, Any]) -> None:
        raise OSError("no such screen")

    with OpenAIServer(AgentWorld(tools=())) as server:
        model = scripted_model(server)
        chat = SelfCorrectingChatModel(model, Shelf(), content_cache=False, on_event=fail, **PAPER)
        reply = chat.invoke([HumanMessage(QUESTION)])

    assert reply.text == "It was lit in 1874."
    assert "on_event failed at documents" in caplog.text
