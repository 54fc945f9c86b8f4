"""Where LangChain hosts show the verdict of checked, changed and unchecked answers.

Each host runs as the real package around a scripted model. ``langgraph-supervisor``,
``langgraph-swarm`` and ``deepagents`` are tried if they are installed. The verdict is that of the
last message that a user of the host gets. A second table shows the bytes of a thread's checkpoints
over six turns, and the model calls per turn, with and without the middleware.

    python -m measurements.hosts
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import (
    ContextEditingMiddleware,
    ModelCallLimitMiddleware,
    ModelFallbackMiddleware,
    ModelRetryMiddleware,
    PIIMiddleware,
    SummarizationMiddleware,
    TodoListMiddleware,
    ToolCallLimitMiddleware,
    ToolRetryMiddleware,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from conflictscore.middleware import ConflictScoreMiddleware
from tests.fakes.openai_server import OpenAIServer
from tests.middleware.agents import QUESTION, AgentWorld
from tests.world import DISAGREEING, PAPER, scripted_model

Build = Callable[[BaseChatModel, BaseTool, ConflictScoreMiddleware], Any]
_TURNS = 6
_AGREEING = [DISAGREEING[0], {**DISAGREEING[1], "text": "They lit the lamp in 1871."}]


def search_of(documents: list[dict[str, str]]) -> BaseTool:
    """A search tool that always returns these documents."""

    @tool
    def search(query: str) -> list[dict[str, str]]:
        """Search for documents."""
        return documents

    return search


def with_middleware(*others: Any) -> Build:
    """An agent with other middleware besides ours."""
    return lambda model, search, ours: create_agent(model, [search], middleware=[ours, *others])


def parent(model: BaseChatModel, search: BaseTool, ours: ConflictScoreMiddleware) -> Any:
    """A graph of messages with the agent as a node."""
    agent = create_agent(model, [search], middleware=[ours])
    graph = StateGraph(MessagesState)
    graph.add_node("agent", agent)
    graph.add_edge(START, "agent")
    return graph.compile()


def supervisor(model: BaseChatModel, search: BaseTool, ours: ConflictScoreMiddleware) -> Any:
    """langgraph-supervisor over one agent, returning that agent's answer."""
    module = import_module("langgraph_supervisor")
    agent = create_agent(model, [search], middleware=[ours], name="researcher")
    transfer = _Transferring(responses=["unused"])
    return module.create_supervisor([agent], model=transfer, output_mode="last_message").compile()


def swarm(model: BaseChatModel, search: BaseTool, ours: ConflictScoreMiddleware) -> Any:
    """A langgraph-swarm of one agent."""
    module = import_module("langgraph_swarm")
    agent = create_agent(model, [search], middleware=[ours], name="researcher")
    return module.create_swarm([agent], default_active_agent="researcher").compile()


def deep_agent(model: BaseChatModel, search: BaseTool, ours: ConflictScoreMiddleware) -> Any:
    """A deepagents agent, with its own middleware around ours."""
    module = import_module("deepagents")
    return module.create_deep_agent(model=model, tools=[search], middleware=[ours])


class _Transferring(FakeListChatModel):
    """A supervisor's model: it hands over once, and then repeats the agent's answer."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        from langchain_core.outputs import ChatGeneration, ChatResult

        answers = [
            each
            for each in messages
            if isinstance(each, AIMessage) and each.response_metadata.get("conflictscore")
        ]
        if answers:
            message = AIMessage(str(answers[-1].text))
        else:
            call = {"name": "transfer_to_researcher", "args": {}, "id": "1", "type": "tool_call"}
            message = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=message)])


def _summaries() -> SummarizationMiddleware:
    model = FakeListChatModel(responses=["A summary."] * 99)
    return SummarizationMiddleware(model=model, trigger=("messages", 6), keep=("messages", 3))


HOSTS: dict[str, Build] = {
    "create_agent": with_middleware(),
    "SummarizationMiddleware": with_middleware(_summaries()),
    "ContextEditingMiddleware": with_middleware(ContextEditingMiddleware()),
    "PIIMiddleware": with_middleware(PIIMiddleware("email", apply_to_output=True)),
    "ModelRetryMiddleware": with_middleware(ModelRetryMiddleware()),
    "ModelFallbackMiddleware": with_middleware(
        ModelFallbackMiddleware(FakeListChatModel(responses=["No."]))
    ),
    "ModelCallLimitMiddleware": with_middleware(ModelCallLimitMiddleware(run_limit=9)),
    "ToolCallLimitMiddleware": with_middleware(ToolCallLimitMiddleware(run_limit=9)),
    "ToolRetryMiddleware": with_middleware(ToolRetryMiddleware()),
    "TodoListMiddleware": with_middleware(TodoListMiddleware()),
    "parent graph of messages": parent,
    "langgraph-supervisor": supervisor,
    "langgraph-swarm": swarm,
    "deepagents": deep_agent,
}


def verdict_of(state: dict[str, Any]) -> str:
    """The verdict of the last message, or of the last message of an inner agent."""
    verdicts = [each.response_metadata.get("conflictscore") for each in state["messages"]]
    latest = next((each for each in reversed(verdicts) if each), None)
    if latest is None:
        return "none"
    where = "" if verdicts[-1] else "in an earlier message: "
    flipped = ", flipped" if latest["flipped"] else ""
    return f"{where}{latest['checked']}{flipped}"


def played(build: Build, documents: list[dict[str, str]], *, searches: bool) -> str:
    """The verdict that a host shows for a question."""
    # the script counts tool messages, and a hand-over counts as one
    searched = ("search", "search") if build is supervisor else ("search",)
    world = AgentWorld(tools=searched if searches else ())
    with OpenAIServer(world) as server:
        model = scripted_model(server)
        ours = ConflictScoreMiddleware(cache=False, **PAPER)
        try:
            graph = build(model, search_of(documents), ours)
        except ModuleNotFoundError as error:
            return f"not installed ({error.name})"
        return verdict_of(graph.invoke(QUESTION))


def cost_of_turns(*, ours: bool, documents: list[dict[str, str]]) -> tuple[int, float]:
    """Bytes of a thread's checkpoints after six turns, and model calls per turn."""
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


def main() -> None:
    """Print both tables."""
    print("| host | checked | flipped | unchecked |\n|---|---|---|---|")
    for name, build in HOSTS.items():
        cells = [
            played(build, _AGREEING, searches=True),
            played(build, DISAGREEING, searches=True),
            played(build, _AGREEING, searches=False),
        ]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print("\n| six turns | KiB of checkpoints | calls a turn |\n|---|---|---|")
    for name, ours, documents in (
        ("without the middleware", False, _AGREEING),
        ("undisputed", True, _AGREEING),
        ("disputed", True, DISAGREEING),
    ):
        size, calls = cost_of_turns(ours=ours, documents=documents)
        print(f"| {name} | {size / 1024:.0f} | {calls:.1f} |", flush=True)


if __name__ == "__main__":
    main()
