"""An agent that takes a second look, with the real create_agent and the real client."""

import json
import logging
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import create_retriever_tool, tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from conflictscore.answering.answerer import REPLY_TOKENS
from conflictscore.middleware import call_watch
from conflictscore.tokens import count_tokens
from tests.fakes.openai_server import OpenAIServer
from tests.middleware.agents import (
    CORRECTED,
    FOUND,
    QUESTION,
    AgentWorld,
    Invoke,
    agent_of,
    call_tool,
    search,
    texts,
)
from tests.talking import Shelf
from tests.world import DISAGREEING, scripted_model

PICTURE = {"type": "image_url", "image_url": {"url": "https://picture.test/lamp.png"}}


# The answer


def test_the_second_answer_is_asked_for_at_the_end_of_the_conversation_without_tools(
    agent_model: ChatOpenAI, agent_world: AgentWorld, invoke: Invoke
) -> None:
    invoke(agent_of(agent_model, about={"system_prompt": "Be brief."}), QUESTION)

    [request] = agent_world.requests["regenerate"]
    roles = [message["role"] for message in request.messages]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert request.messages[-2]["content"] == "It was lit in 1871."
    assert "tools" not in request.body
    assert ': "The log says the lamp was lit in 1874."' in request.prompt
    assert "<document " not in request.prompt


def test_the_final_message_is_the_second_answers_own_and_holds_the_run_in_brief(
    agent_model: ChatOpenAI, invoke: Invoke
) -> None:
    state = invoke(agent_of(agent_model), QUESTION)

    last = state["messages"][-1]
    assert last.response_metadata["finish_reason"] == "stop"
    assert texts(state["messages"]) == CORRECTED
    assert json.loads(json.dumps(state["conflict"], allow_nan=False)) == state["conflict"]
    short = last.response_metadata["conflictscore"]
    assert short["run_id"] == state["conflict"]["run_id"]
    assert short["flipped"]
    assert "attempts" not in short
    assert FOUND not in json.dumps(short)
    assert len({message.id for message in state["messages"]}) == 4


@pytest.mark.parametrize(("torn", "scored"), [(False, 2), (True, 0)])
def test_words_next_to_a_tool_call_are_not_an_answer(
    agent_model: ChatOpenAI, agent_world: AgentWorld, invoke: Invoke, torn: bool, scored: int
) -> None:
    agent_world.instead["tools"] = lambda request: call_tool(
        request, "search", says="It is from 1871, I think.", torn=torn, query="lamp"
    )

    invoke(agent_of(agent_model, retriever=Shelf()), QUESTION)

    assert agent_world.asked["decompose"] == scored


# Output that is not an answer in words


@pytest.mark.parametrize("asked", [[PICTURE], "  "], ids=["a picture", "blanks"])
def test_an_answer_to_a_message_without_words_is_left_with_a_note(
    agent_model: ChatOpenAI, agent_world: AgentWorld, invoke: Invoke, asked: Any
) -> None:
    state = invoke(agent_of(agent_model), {"messages": [HumanMessage(asked)]})

    assert texts(state["messages"])[-1] == "It was lit in 1871."
    assert agent_world.asked["decompose"] == 0
    [note] = state["conflict"]["notes"]
    assert "the last human message has no text" in note


# The documents


def test_without_documents_and_retriever_an_answer_is_left_with_a_note(
    agent_model: ChatOpenAI,
    agent_world: AgentWorld,
    invoke: Invoke,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO):
        state = invoke(agent_of(agent_model, tools=[]), QUESTION)

    assert agent_world.asked == {"generate": 1}
    [note] = state["conflict"]["notes"]
    assert "no tool returned documents" in note
    assert state["conflict"]["report"] is None
    verdict = state["messages"][-1].response_metadata["conflictscore"]
    assert (verdict["checked"], verdict["kind"]) == ("no", "no_documents")
    assert note not in caplog.text


def test_if_tools_returned_none_the_retriever_finds_the_documents(
    agent_model: ChatOpenAI, agent_world: AgentWorld, invoke: Invoke
) -> None:
    library = Shelf()

    state = invoke(agent_of(agent_model, tools=[], retriever=library), QUESTION)

    assert library.queries == ["When was the lamp lit?"]
    assert texts(state["messages"]) == ["When was the lamp lit?", "It was lit in 1874."]
    [request] = agent_world.requests["regenerate"]
    assert [message["role"] for message in request.messages] == ["user", "assistant", "user"]
    assert request.prompt.count("<document ") == 3


def test_if_tools_returned_documents_a_follow_up_is_rewritten_but_not_searched_for(
    agent_model: ChatOpenAI, agent_world: AgentWorld, invoke: Invoke
) -> None:
    library = Shelf(found=[{"text": "Nothing of this."}])
    talk = [HumanMessage("Hello!"), AIMessage("Hello."), *QUESTION["messages"]]

    state = invoke(agent_of(agent_model, retriever=library), {"messages": talk})

    assert library.queries == []
    assert state["conflict"]["flipped"]
    assert agent_world.asked["contextualize"] == 1
    assert state["conflict"]["question"] == agent_world.standing_alone


def test_documents_that_do_not_fit_next_to_the_conversation_are_cut_with_a_note(
    agent_model: ChatOpenAI, agent_world: AgentWorld, invoke: Invoke
) -> None:
    found = [*DISAGREEING, {"text": "A long walk by the sea. " * 2000}]
    rules = {"system_prompt": "Be brief, and kind to everybody. " * 300}
    within = {"retriever": Shelf(found=found), "context_window": 6000}

    state = invoke(agent_of(agent_model, tools=[], about=rules, **within), QUESTION)

    [request] = agent_world.requests["regenerate"]
    assert "is left out here" in request.prompt
    assert sum(count_tokens(m["content"]) for m in request.messages) < 6000 - REPLY_TOKENS
    assert any("to answer again, document 4 was cut" in n for n in state["conflict"]["notes"])


def test_a_turn_has_a_run_of_its_own_and_a_follow_up_the_documents_found_before(
    agent_model: ChatOpenAI, agent_world: AgentWorld, invoke: Invoke
) -> None:
    thread: RunnableConfig = {"configurable": {"thread_id": "one"}}
    saver = InMemorySaver()
    agent = agent_of(agent_model, about={"checkpointer": saver})
    first = invoke(agent, QUESTION, thread)
    agent_world.tools = ()
    second = invoke(agent, {"messages": [HumanMessage("And when was it lit?")]}, thread)
    agent_world.answer = ""
    third = invoke(agent, {"messages": [HumanMessage("Bye!")]}, thread)

    assert first["conflict"]["flipped"]
    texts_of = [[d["text"] for d in turn["conflict"]["documents"]] for turn in (first, second)]
    assert texts_of[0] == texts_of[1]
    assert second["conflict"]["run_id"] != first["conflict"]["run_id"]
    assert (third["conflict"]["question"], third["conflict"]["checked"]) == ("Bye!", "no")
    assert [m.type for m in third["messages"]].count("human") == 3
    checkpoints = {saved.config["configurable"]["checkpoint_ns"] for saved in saver.list(thread)}
    assert checkpoints == {""}, "nothing of the check but its run"


@pytest.mark.parametrize("of_langchain", [True, False])
def test_documents_that_a_tool_has_joined_are_those_that_its_retriever_found(
    agent_model: ChatOpenAI, invoke: Invoke, of_langchain: bool
) -> None:
    held = ["The lamp was lit in 1871.\n\nIt was grand.", "In 1874 it was lit.", "No."]
    library = Shelf(found=[{"text": text} for text in held])

    @tool("search")
    def own(query: str) -> str:
        """Search for documents."""
        return " / ".join(one.page_content for one in library.invoke(query)[:2])

    of_its = create_retriever_tool(library, "search", "Search for documents.")
    state = invoke(agent_of(agent_model, tools=[of_its if of_langchain else own]), QUESTION)

    found = [document["text"] for document in state["conflict"]["documents"]]
    assert found == held[: 3 if of_langchain else 2]
    assert state["conflict"]["flipped"]


@pytest.mark.parametrize(
    ("sources", "documents"), [(None, 3), (["search"], 3), (["clock"], 1), ([], 0)]
)
def test_results_of_the_tools_that_are_named_as_sources_are_evidence(
    agent_world: AgentWorld, agent_model: ChatOpenAI, invoke: Invoke, sources: Any, documents: int
) -> None:
    @tool
    def clock() -> str:
        """Tell the time."""
        return "It is noon."

    agent_world.tools = ("search", "clock")
    state = invoke(agent_of(agent_model, tools=[search, clock], sources=sources), QUESTION)

    assert len(state["conflict"]["documents"]) == documents
    assert state["conflict"]["checked"] == ("no", "partly", None, "fully")[documents]


def test_what_a_middleware_shortens_for_the_model_is_still_evidence(
    agent_model: ChatOpenAI, agent_world: AgentWorld, invoke: Invoke
) -> None:
    from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware

    shorten = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=1, keep=0)])

    state = invoke(agent_of(agent_model, outside=[shorten]), QUESTION)

    [request] = agent_world.requests["regenerate"]
    assert [m["content"] for m in request.messages if m["role"] == "tool"] == ["[cleared]"]
    assert state["conflict"]["flipped"]


# The judge, and other settings


def test_a_judge_of_its_own_decomposes_and_labels(agent_world: AgentWorld, invoke: Invoke) -> None:
    judge_world = AgentWorld()
    with OpenAIServer(agent_world) as server, OpenAIServer(judge_world) as judge:
        invoke(agent_of(scripted_model(server), judge=scripted_model(judge)), QUESTION)

    assert set(judge_world.asked) == {"decompose", "label"}
    assert set(agent_world.asked) == {"tools", "generate", "regenerate", "justify"}


def test_the_time_of_the_first_answer_counts_against_the_budget(
    agent_model: ChatOpenAI,
    agent_world: AgentWorld,
    invoke: Invoke,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    minutes = iter(range(0, 60 * 99, 60))
    monkeypatch.setattr(call_watch, "time", SimpleNamespace(perf_counter=minutes.__next__))

    late = invoke(agent_of(agent_model, budget_seconds=50), QUESTION)
    early = invoke(agent_of(agent_model, budget_seconds=5000), QUESTION)

    assert "timed out: the run may take 50 s" in late["conflict"]["report"]["error"]
    assert texts(early["messages"]) == CORRECTED
