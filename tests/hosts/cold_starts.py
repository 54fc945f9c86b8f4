"""Creates and calls every entry point on an event loop, each in a fresh process.

``python -m tests.hosts.cold_starts`` forks one child per entry point, so that none benefits from a
cache that another has filled. It prints each outcome as a JSON line: the name, and the error if
there was one. Every call of this package that blocks on an event loop raises BlockingError.
"""

import asyncio
import importlib
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
from blockbuster import blockbuster_ctx
from langchain.agents import create_agent

import conflictscore
from conflictscore import ContentCache, acorrect, create_self_correcting_rag
from conflictscore.graph.create import run_context
from conflictscore.graph.deployment import make_graph
from conflictscore.middleware import (
    ConflictScoreMiddleware,
    SelfCorrectingChatModel,
    ServiceSettings,
    create_app,
    self_correct,
)
from conflictscore.retrieval import open_retrieval
from conflictscore.reviewing import add_runs_page
from conflictscore.storage import sqlite_files
from tests.fakes.openai_server import OpenAIServer
from tests.middleware.agents import AgentWorld, search
from tests.middleware.service.serving import ChatWorld, asking
from tests.talking import LAMP, Shelf, Talk
from tests.world import DISAGREEING, PAPER, World, scripted_model

QUESTION = "When was the lamp lit?"
_LIBRARIES = (
    *("conflictscore.labelers.json_judge", "conflictscore.labelers.nli.by_claim"),
    *("openai.resources.chat.completions", "trio", "httpcore2", "onnxruntime", "tokenizers"),
)
"""Imported once for all children, since it takes half a second."""
ENTRY_POINTS: dict[str, Callable[[Path], Awaitable[None]]] = {}


def entry_point(function: Callable[[Path], Awaitable[None]]) -> Callable[[Path], Awaitable[None]]:
    """An entry point to try."""
    ENTRY_POINTS[function.__name__] = function
    return function


@entry_point
async def a_file_opened_on_the_loop(folder: Path) -> None:
    """Not an entry point, but a check that blocking calls are detected."""
    sqlite_files.connect(folder / "blocking.sqlite")


def files_of(folder: Path) -> dict[str, Any]:
    """Settings that name existing files of a user."""
    prompts = Path(conflictscore.__file__).parent / "prompts" / "default"
    (folder / "prompts").mkdir()
    (folder / "prompts" / "document.txt").write_text((prompts / "document.txt").read_text())
    (folder / "trust.toml").write_text('[domains]\n"gazette.test" = 2\n')
    return {
        "prompts": folder / "prompts",
        "trust": folder / "trust.toml",
        "cache": ContentCache(folder / "own.sqlite"),
    }


async def of_the_graph(folder: Path, **settings: Any) -> None:
    """Ask the graph a follow-up question twice, with documents from a folder."""
    docs = folder / "docs"
    docs.mkdir()
    (docs / "log.md").write_text(DISAGREEING[0]["text"])
    (docs / "bills.md").write_text("Oil was paid for when Vennick lamp was first lit, in 1871.")
    with OpenAIServer(Talk()) as server:
        graph = create_self_correcting_rag(
            scripted_model(server),
            open_retrieval(docs=[str(docs)]),
            regeneration="paper",
            **settings,
        )
        first = await graph.ainvoke({"question": "When was it lit?", "history": LAMP})
        again = await graph.ainvoke({"question": "When was it lit?", "history": LAMP})
    assert first["answer"] == again["answer"]
    assert {first["checked"], again["checked"]} == {"fully"}


@entry_point
async def the_graph(folder: Path) -> None:
    await of_the_graph(folder, labeler="json")


@entry_point
async def the_graph_with_files_of_the_user(folder: Path) -> None:
    files = await asyncio.to_thread(files_of, folder)
    await of_the_graph(folder, labeler="cascade", duplicates="domain", **files)


@entry_point
async def the_graph_of_a_deployment(folder: Path) -> None:
    with OpenAIServer(World()) as server:
        os.environ |= {
            "CONFLICTSCORE_MODEL": "scripted",
            "CONFLICTSCORE_BASE_URL": server.base_url,
            "OPENAI_API_KEY": "none",
        }
        graph = await make_graph()
        state = await graph.ainvoke({"question": QUESTION, "documents": DISAGREEING})
    assert state["checked"] == "fully"


@entry_point
async def correct(folder: Path) -> None:
    with OpenAIServer(World()) as server:
        run = await acorrect(
            "It was lit in 1871.", DISAGREEING, QUESTION, model=scripted_model(server), **PAPER
        )
    assert run.checked == "fully"


@entry_point
async def correct_fast(folder: Path) -> None:
    with OpenAIServer(World()) as server:
        run = await acorrect(
            "It was lit in 1871.", DISAGREEING, model=scripted_model(server), effort="fast"
        )
    assert run.checked != "no"


@entry_point
async def an_agent(folder: Path) -> None:
    with OpenAIServer(AgentWorld()) as server:
        model = scripted_model(server)
        judged = ConflictScoreMiddleware(judge=model, **PAPER)
        agent: Any = create_agent(model, [search], middleware=[judged])
        state = await agent.ainvoke({"messages": [("user", QUESTION)]})
    assert state["messages"][-1].text == "It was lit in 1874."
    assert state["conflict"]["checked"] == "fully"


@entry_point
async def a_chat_model(folder: Path) -> None:
    files = await asyncio.to_thread(files_of, folder)
    with OpenAIServer(AgentWorld(tools=())) as server:
        files |= {"content_cache": files.pop("cache"), "labeler": "json", "regeneration": "paper"}
        chat = SelfCorrectingChatModel(scripted_model(server), Shelf(), **files)
        reply = await chat.ainvoke(QUESTION)
    assert reply.response_metadata["conflictscore"]["checked"] == "fully"


@entry_point
async def a_chat_model_with_tools(folder: Path) -> None:
    with OpenAIServer(AgentWorld()) as server:
        chat = SelfCorrectingChatModel(scripted_model(server), Shelf(), **PAPER)
        reply = await chat.bind_tools([search]).ainvoke(QUESTION)
    assert reply.tool_calls


@entry_point
async def a_function(folder: Path) -> None:
    files = await asyncio.to_thread(files_of, folder)
    with OpenAIServer(World()) as server:
        files |= {"labeler": "json", "regeneration": "paper"}

        @self_correct(judge=scripted_model(server), retriever=Shelf(), **files)
        async def answer(question: str, documents: Any) -> str:
            return "It was lit in 1871."

        text = await answer(QUESTION)
    assert text.run.checked == "fully"


@entry_point
async def the_service(folder: Path) -> None:
    with OpenAIServer(ChatWorld()) as upstream:
        context = run_context("scripted", Shelf(), base_url=upstream.base_url, **PAPER)
        policy = ServiceSettings(runs_file=folder / "runs", no_auth=True)

        def opened() -> Any:  # before the server runs its event loop
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
            await asyncio.to_thread(app.state.service.runs.close)
    assert (reply.status_code, listed.status_code) == (200, 200)
    assert run.status_code in (200, 202)


def tried(name: str, folder: Path) -> str | None:
    """The error that an entry point raised; None if it raised none."""
    os.environ["CONFLICTSCORE_CACHE_DIR"] = str(folder / "cache")
    with blockbuster_ctx(conflictscore) as watch:
        # held for the length of a dictionary's update, as asyncio and logging do themselves
        watch.functions["threading.Lock.acquire"].deactivate()
        watch.functions["threading.Lock.acquire_lock"].deactivate()
        try:
            asyncio.run(ENTRY_POINTS[name](folder))  # type: ignore[arg-type]
        except BaseException:  # noqa: BLE001 - the test shows it
            return traceback.format_exc()
    return None


def main() -> None:
    """Try every entry point."""
    for library in _LIBRARIES:
        importlib.import_module(library)
    for name in ENTRY_POINTS:
        child = os.fork()
        if child == 0:
            with tempfile.TemporaryDirectory() as folder:
                outcome = tried(name, Path(folder))
            sys.stdout.write(json.dumps([name, outcome]) + "\n")
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
