"""Tests where agent frameworks and clients show the verdict on an answer.

Each host is a real package that runs with a scripted model. Each host gives three answers: one is
checked and confirmed, one is changed, and one is not checked. ``langgraph-supervisor``,
``langgraph-swarm`` and ``deepagents`` are tried if they are installed;
:mod:`measurements.middlewares` tries the middleware of ``langchain``. The verdict is read from the
last message that the host's user gets. Clients of the service run as in
:mod:`measurements.clients`. The verdict of a client is read from a header, from a field, or from
the run with the response's id. The last table shows the size of a thread's checkpoints after six
turns, and the model calls per turn, with and without the middleware.

    python -m measurements.hosts --python VENV/bin/python --node FOLDER
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import convert_to_messages
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.pregel.remote import RemoteGraph

from conflictscore.middleware import ConflictScoreMiddleware
from measurements.clients import CLIENTS, Client, asked_with
from measurements.host_graphs import GRAPHS, HANDING_OVER, Build
from tests.fakes.openai_server import OpenAIServer
from tests.hosts.test_hosts import developed, run
from tests.middleware.agents import QUESTION, AgentWorld
from tests.world import DISAGREEING, PAPER, scripted_model

_TURNS = 6  # turns of the conversation for which checkpoints and calls are measured
AGREEING = [DISAGREEING[0], {**DISAGREEING[1], "text": "They lit the lamp in 1871."}]
_CLIENTS = (
    "openai, chat.completions",
    "ai, openai() generateText",
    "pydantic-ai, openai-chat",
    "pydantic-ai, structured output",
    "instructor, response_model",
)
_SERVED_AGENTS = """
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

from conflictscore.middleware import ConflictScoreMiddleware
from measurements.hosts import AGREEING, search_of
from tests.world import DISAGREEING, PAPER


def agent_with(documents):
    ours = ConflictScoreMiddleware(cache=False, **PAPER)
    return create_agent(ChatOpenAI(model="scripted"), [search_of(documents)], middleware=[ours])


agreeing, disagreeing = agent_with(AGREEING), agent_with(DISAGREEING)
idle = create_agent(ChatOpenAI(model="scripted"), middleware=[ConflictScoreMiddleware()])
"""


def search_of(documents: list[dict[str, str]]) -> BaseTool:
    """Return a search tool that always returns these documents."""

    @tool
    def search(query: str) -> list[dict[str, str]]:
        """Search for documents."""
        return documents

    return search


def alone(model: BaseChatModel, search: BaseTool, ours: ConflictScoreMiddleware) -> Any:
    """Build an agent with this package's middleware alone."""
    return create_agent(model, [search], middleware=[ours])


HOSTS: dict[str, Build] = {"create_agent": alone, **GRAPHS}


def verdict_of(state: dict[str, Any]) -> str:
    """Return the last verdict in the messages, and whether an earlier message carries it."""
    messages = convert_to_messages(state["messages"])  # a remote graph returns plain JSON
    verdicts = [each.response_metadata.get("conflictscore") for each in messages]
    latest = next((each for each in reversed(verdicts) if each), None)
    if latest is None:
        return "none"
    where = "" if verdicts[-1] else "in an earlier message: "
    flipped = ", flipped" if latest["flipped"] else ""
    return f"{where}{latest['checked']}{flipped}"


def played(build: Build, documents: list[dict[str, str]], *, searches: bool) -> str:
    """Ask a host the question, and return the verdict that the host shows."""
    # the script counts tool messages, including the one by which an agent hands over to another
    searched = ("search", "search") if build in HANDING_OVER else ("search",)
    world = AgentWorld(tools=searched if searches else ())
    with OpenAIServer(world) as server:
        model = scripted_model(server)
        ours = ConflictScoreMiddleware(cache=False, **PAPER)
        try:
            graph = build(model, search_of(documents), ours)
        except ModuleNotFoundError as error:
            return f"not installed ({error.name})"
        return verdict_of(graph.invoke(QUESTION))


@contextmanager
def langgraph_dev() -> Iterator[dict[str, Callable[[str], dict[str, Any]]]]:
    """Serve agents with ``langgraph dev``, and yield the ways to call them, by name.

    Each way is a function that asks the agent of a given name the question, and returns its state.
    """
    with (
        TemporaryDirectory() as folder,
        OpenAIServer(AgentWorld()) as server,
        developed(
            Path(folder), server, _SERVED_AGENTS, ("agreeing", "disagreeing", "idle")
        ) as client,
    ):
        url = str(client.base_url)

        def remote(name: str) -> RemoteGraph:
            return RemoteGraph(name, url=url)

        def in_parent(name: str) -> dict[str, Any]:
            graph = StateGraph(MessagesState)
            graph.add_node("agent", remote(name))
            graph.add_edge(START, "agent")
            compiled: Any = graph.compile()
            state: dict[str, Any] = compiled.invoke(QUESTION)
            return state

        yield {
            "langgraph dev": lambda name: run(client, name, QUESTION),
            "RemoteGraph": lambda name: remote(name).invoke(QUESTION),
            "RemoteGraph in a parent graph": in_parent,
        }


def read_by(client: Client, documents: list[dict[str, str]], python: str, node: Path | None) -> str:
    """Return the verdict that a client of the service reads, and the places where it is found."""
    tried = asked_with(client, documents, python, node)
    if tried.works != "yes":
        return tried.works if tried.works == "not there" else f"error: {tried.text}"
    verdicts = {place.rpartition(": ")[2] for place in tried.places}
    places = [place.rpartition(": ")[0].removeprefix("response ") for place in tried.places]
    flipped = ", flipped" if tried.is_corrected else ""
    return f"{'/'.join(sorted(verdicts)) or 'none'}{flipped} ({'; '.join(places)})"


def cost_of_turns(*, ours: bool, documents: list[dict[str, str]]) -> tuple[int, float]:
    """Return the bytes of a thread's checkpoints after six turns, and the model calls per turn."""
    world, saver = AgentWorld(), InMemorySaver()
    with OpenAIServer(world) as server:
        middleware = [ConflictScoreMiddleware(cache=False)] if ours else []
        agent: Any = create_agent(
            scripted_model(server),
            [search_of(documents)],
            middleware=middleware,
            checkpointer=saver,
        )
        thread: Any = {"configurable": {"thread_id": "1"}}
        for _ in range(_TURNS):
            agent.invoke(QUESTION, thread)
        blobs = sum(len(value[1]) for value in saver.blobs.values())
        return blobs, len(server.requests) / _TURNS


@click.command(help=__doc__)
@click.option(
    "--python", default=sys.executable, help="A Python interpreter that has the clients' packages."
)
@click.option(
    "--node",
    type=click.Path(path_type=Path),
    help="A folder with node_modules, for clients in JavaScript.",
)
@click.option(
    "--only",
    help="Try only hosts whose names contain this text; `cost` prints only the last table.",
)
def main(python: str, node: Path | None, only: str | None) -> None:
    """See the module."""
    if only != "cost":
        print_hosts(python, node, only or "")
    if only in (None, "cost"):
        print_costs()


def print_hosts(python: str, node: Path | None, only: str) -> None:
    """Print the verdicts that each host shows."""
    click.echo("| host | checked | flipped | unchecked |\n|---|---|---|---|")
    for name, build in HOSTS.items():
        if only in name:
            row(
                name,
                played(build, AGREEING, searches=True),
                played(build, DISAGREEING, searches=True),
                played(build, AGREEING, searches=False),
            )
    if only in "langgraph dev, RemoteGraph in a parent graph":
        with langgraph_dev() as ways:
            for name, call in ways.items():
                cells = (verdict_of(call(agent)) for agent in ("agreeing", "disagreeing", "idle"))
                row(name, *cells)
    for client in CLIENTS:
        if client.name in _CLIENTS and only in client.name:
            cells = (read_by(client, found, python, node) for found in (AGREEING, DISAGREEING, []))
            row(f"service, {client.name}", *cells)


def print_costs() -> None:
    """Print the size of a thread's checkpoints, and the model calls per turn."""
    click.echo("\n| six turns | KiB of checkpoints | calls a turn |\n|---|---|---|")
    for name, ours, documents in (
        ("without the middleware", False, AGREEING),
        ("undisputed", True, AGREEING),
        ("disputed", True, DISAGREEING),
    ):
        size, calls = cost_of_turns(ours=ours, documents=documents)
        row(name, f"{size / 1024:.0f}", f"{calls:.1f}")


def row(*cells: str) -> None:
    """Print a row of a table."""
    click.echo(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
