"""Events of a run, in a graph's custom stream and for a callback, wherever the loop runs."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from conflictscore import acorrect, acorrect_batch, correct
from conflictscore.middleware import SelfCorrectingChatModel, self_correct
from tests.fakes.openai_server import OpenAIServer
from tests.middleware.agents import AgentWorld, agent_of
from tests.talking import Shelf
from tests.world import DISAGREEING, PAPER, scripted_model

QUESTION = "When was the lamp lit?"
STEPS = ["documents", "answer", "claims", "scores", "decision", "flip"]

TEXTS = [document["text"] for document in DISAGREEING]
Events = list[Mapping[str, Any]]


def graph_of(entry_point: str, model: Any, on_event: Callable[[Mapping[str, Any]], None]) -> Any:
    """A graph that answers by the agent, the chat model, a decorated function, or ``correct``."""
    settings: dict[str, Any] = {**PAPER, "on_event": on_event}
    if entry_point == "agent":
        return agent_of(model, **settings)
    if entry_point == "chat model":
        chat = SelfCorrectingChatModel(model, Shelf(), content_cache=False, **settings)
        answer: Any = lambda state: {"messages": [chat.invoke(state["messages"])]}  # noqa: E731
    elif entry_point == "correct":
        settings |= {"model": model, "cache": False}
        answer = lambda _: {  # noqa: E731
            "messages": [correct("In 1871.", DISAGREEING, QUESTION, **settings).answer]
        }
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
@pytest.mark.parametrize("entry_point", ["agent", "chat model", "function", "correct"])
async def test_events_are_streamed_and_reported(entry_point: str, face: str) -> None:
    told: Events = []
    with OpenAIServer(AgentWorld(tools=("search",) if entry_point == "agent" else ())) as server:
        graph = graph_of(entry_point, scripted_model(server), told.append)
        start = {"messages": [("user", QUESTION)]}
        if face == "sync":
            streamed = list(graph.stream(start, stream_mode="custom"))
        else:
            streamed = [event async for event in graph.astream(start, stream_mode="custom")]

    assert streamed == told
    names = [event["event"] for event in told]
    assert names.count("label") >= 3
    assert [name for name in dict.fromkeys(names) if name in STEPS] == STEPS


async def test_events_of_a_batch_name_their_row() -> None:
    told: Events = []
    rows = [{"answer": f"It was lit in {year}.", "documents": DISAGREEING} for year in (1871, 1874)]
    with OpenAIServer(AgentWorld(tools=())) as server:
        model: Any = scripted_model(server)
        await acorrect_batch(rows, model=model, cache=False, on_event=told.append, **PAPER)
        await acorrect("In 1871.", TEXTS, model=model, cache=False, on_event=told.append, **PAPER)

    answers = {(e.get("row"), e["answer"]) for e in told if e["event"] == "answer"}
    assert {(1, "It was lit in 1871."), (2, "It was lit in 1874."), (None, "In 1871.")} <= answers
    assert {event.get("row") for event in told} == {1, 2, None}


def test_a_callback_that_fails_costs_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    def fail(event: Mapping[str, Any]) -> None:
        raise OSError("no such screen")

    with OpenAIServer(AgentWorld(tools=())) as server:
        model = scripted_model(server)
        chat = SelfCorrectingChatModel(model, Shelf(), content_cache=False, on_event=fail, **PAPER)
        reply = chat.invoke([HumanMessage(QUESTION)])

    assert reply.text == "It was lit in 1874."
    assert "on_event failed at documents" in caplog.text
