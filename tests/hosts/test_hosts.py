"""The graph and the agent under LangGraph's own server, and the graph inside another graph."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.fakes.openai_server import OpenAIServer
from tests.middleware.agents import AgentWorld
from tests.middleware.service.serving import until
from tests.world import DISAGREEING

ROOT = Path(__file__).parents[2]
QUESTION = "When was the lamp lit?"
AGENT = """
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

from conflictscore.middleware import ConflictScoreMiddleware
from tests.middleware.agents import search

agent = create_agent(ChatOpenAI(model="scripted"), [search], middleware=[ConflictScoreMiddleware()])
"""


@contextmanager
def developed(
    folder: Path, server: OpenAIServer, module: str = AGENT, agents: Sequence[str] = ("agent",)
) -> Iterator[httpx2.Client]:
    """``langgraph dev`` as a user starts it, with the shipped settings and a module of agents."""
    settings = json.loads((ROOT / "langgraph.json").read_text())
    settings["graphs"] |= {name: f"./agent.py:{name}" for name in agents}
    (folder / "langgraph.json").write_text(json.dumps(settings))
    (folder / "agent.py").write_text(module)
    (folder / "conflictscore").symlink_to(ROOT / "conflictscore")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "CONFLICTSCORE_MODEL": "scripted",
        "CONFLICTSCORE_BASE_URL": server.base_url,
        "CONFLICTSCORE_CACHE_DIR": str(folder / "cache"),
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": server.base_url,
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGSMITH_TRACING": "false",
    }
    command = [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [*command, "--port", str(port)], cwd=folder, env=env, stdout=log, stderr=log
        )
    try:
        with httpx2.Client(
            base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=200
        ) as client:
            until(lambda: is_up(client) or process.poll() is not None, 300)
            assert process.poll() is None, (folder / "log").read_text()
            yield client
    finally:
        process.terminate()
        process.wait(60)


def is_up(client: httpx2.Client) -> bool:
    try:
        return client.get("/ok").status_code == 200
    except httpx2.TransportError:
        return False


def run(client: httpx2.Client, graph: str, given: dict[str, Any]) -> dict[str, Any]:
    reply = client.post("/runs/wait", json={"assistant_id": graph, "input": given})
    state: dict[str, Any] = reply.json()
    assert "__error__" not in state, state
    return state


@pytest.mark.timeout(600)
def test_langgraph_dev_runs_graph_and_agent_without_allow_blocking(tmp_path: Path) -> None:
    world = AgentWorld()
    with OpenAIServer(world) as server, developed(tmp_path, server) as client:
        [found] = client.post("/assistants/search", json={"graph_id": "self_correcting_rag"}).json()
        schemas = client.get(f"/assistants/{found['assistant_id']}/schemas")
        loop = run(client, "self_correcting_rag", {"question": QUESTION, "documents": DISAGREEING})
        agent = run(client, "agent", {"messages": [{"role": "user", "content": QUESTION}]})

    assert "question" in schemas.json()["input_schema"]["properties"]
    assert (loop["checked"], agent["conflict"]["checked"]) == ("fully", "fully")
    assert agent["messages"][-1]["content"]
