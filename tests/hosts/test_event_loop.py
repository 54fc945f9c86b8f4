"""A run touches no file, folder, tokenizer, model file or database on the event loop.

What is opened before a run is opened in a thread here, as a host does at its start.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from blockbuster import blockbuster_ctx
from fastapi import FastAPI
from langchain_core.messages import HumanMessage

import conflictscore
from conflictscore import create_self_correcting_rag
from conflictscore.graph.create import run_context
from conflictscore.middleware import (
    SelfCorrectingChatModel,
    ServiceSettings,
    create_app,
    self_correct,
)
from conflictscore.retrieval import open_retrieval
from conflictscore.reviewing import add_runs_page
from tests.fakes.openai_server import OpenAIServer
from tests.middleware.agents import AgentWorld, agent_of
from tests.middleware.service.serving import ChatWorld, asking
from tests.talking import LAMP, Shelf, Talk
from tests.world import DISAGREEING, PAPER, World, scripted_model

QUESTION = "When was the lamp lit?"


@pytest.fixture(autouse=True)
def _watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every blocking call that this package makes on an event loop raises BlockingError."""
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path / "cache"))
    with blockbuster_ctx(conflictscore) as watch:
        # held for the length of a dictionary's update, as asyncio and logging do themselves
        watch.functions["threading.Lock.acquire"].deactivate()
        watch.functions["threading.Lock.acquire_lock"].deactivate()
        yield


@pytest.mark.parametrize("labeler", ["json", "cascade"])
async def test_the_loop(labeler: Any, tmp_path: Path) -> None:
    (tmp_path / "log.md").write_text(DISAGREEING[0]["text"])
    (tmp_path / "bills.md").write_text("Oil was paid for when Vennick lamp was first lit, in 1871.")
    with OpenAIServer(Talk()) as server:
        graph = await asyncio.to_thread(
            lambda: create_self_correcting_rag(
                scripted_model(server),
                open_retrieval(docs=[str(tmp_path)]),
                labeler=labeler,
                regeneration="paper",
            )
        )
        first = await graph.ainvoke({"question": "When was it lit?", "history": LAMP})
        again = await graph.ainvoke({"question": "When was it lit?", "history": LAMP})

    assert first["answer"] == again["answer"]
    assert {first["checked"], again["checked"]} == {"fully"}


async def test_the_agent() -> None:
    with OpenAIServer(AgentWorld()) as server:
        agent = await asyncio.to_thread(lambda: agent_of(scripted_model(server), cache=True))
        state = await agent.ainvoke({"messages": [("user", QUESTION)]})

    assert (state["messages"][-1].text, state["conflict"]["checked"]) == (
        "It was lit in 1874.",
        "fully",
    )


async def test_the_chat_model() -> None:
    with OpenAIServer(AgentWorld(tools=())) as server:
        chat = SelfCorrectingChatModel(scripted_model(server), Shelf(), **PAPER)
        reply = await chat.ainvoke([HumanMessage(QUESTION)])

    assert reply.response_metadata["conflictscore"]["checked"] == "fully"


async def test_a_decorated_function() -> None:
    with OpenAIServer(World()) as server:

        @self_correct(judge=scripted_model(server), retriever=Shelf(), **PAPER)
        async def answer(question: str, documents: Any) -> str:
            return "It was lit in 1871."

        text = await answer(QUESTION)

    assert text.run.checked == "fully"


@pytest.mark.parametrize("mode", ["correct", "observe"])
async def test_the_service(mode: Any, tmp_path: Path) -> None:
    with OpenAIServer(ChatWorld()) as upstream:

        def opened() -> FastAPI:
            context = run_context("scripted", Shelf(), base_url=upstream.base_url, **PAPER)
            policy = ServiceSettings(mode=mode, runs_file=tmp_path / "runs", no_auth=True)
            app = create_app(context, policy)
            add_runs_page(app)
            return app

        app = await asyncio.to_thread(opened)
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://service.test") as http:
            reply = await http.post("/v1/chat/completions", json=asking())
            run_id = reply.headers["x-conflictscore-run-id"]
            run = await http.get(f"/v1/runs/{run_id}")
            listed = await http.get("/v1/runs")
            await app.state.service.close()

    assert (reply.status_code, listed.status_code) == (200, 200)
    assert run.status_code in (200, 202)
