"""Hosts of several agents, built from real packages and scripted models.

Each function takes the scripted model, a search tool and this package's middleware, and returns a
graph that can be asked. The agent that searches has the middleware.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Annotated, Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, InjectedToolCallId, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, Send

from conflictscore.middleware import ConflictScoreMiddleware, carry_verdict
from tests.middleware.agents import QUESTION
from tests.world import PAPER

Build = Callable[[BaseChatModel, BaseTool, ConflictScoreMiddleware], Any]


class Calling(FakeListChatModel):
    """Makes the given calls, one step after the other, and then repeats its last answer.

    The first of ``responses`` precedes the answer. A model for second answers, if there is one,
    gives the second answer.
    """

    steps: list[list[dict[str, Any]]]
    second: BaseChatModel | None = None

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        """Return the model itself, which knows its calls."""
        return self

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        answered = any(isinstance(each, AIMessage) and each.text for each in messages)
        if self.second is not None and answered and isinstance(messages[-1], HumanMessage):
            answer = self.second.invoke(messages)
            return ChatResult(generations=[ChatGeneration(message=answer)])
        asked = max(n for n, each in enumerate(messages) if isinstance(each, HumanMessage))
        made = sum(bool(getattr(each, "tool_calls", None)) for each in messages[asked:])
        if made < len(self.steps):
            calls = [
                {"args": {}, "type": "tool_call", **call, "id": f"{len(messages)}-{number}"}
                for number, call in enumerate(self.steps[made])
            ]
            message = AIMessage("", tool_calls=calls)
        else:
            message = AIMessage(f"{self.responses[0]}{_last_answer(messages)}")
        return ChatResult(generations=[ChatGeneration(message=message)])


def _last_answer(messages: Sequence[BaseMessage]) -> str:
    """Return the text of the last agent's answer, or of the last tool's result."""
    return next(
        str(each.text)
        for each in reversed(messages)
        if isinstance(each, AIMessage | ToolMessage)
        and each.text
        and "transferr" not in str(each.text).casefold()
    )


def calling(*steps: list[dict[str, Any]], lead: str = "") -> Calling:
    """Return a model that makes these calls and then repeats the answer after ``lead``."""
    return Calling(responses=[lead], steps=list(steps))


def transferring(name: str = "researcher", lead: str = "") -> Calling:
    """Return a model that hands over to an agent, and then repeats its answer."""
    return calling([{"name": f"transfer_to_{name}"}], lead=lead)


def researcher(model: BaseChatModel, search: BaseTool, ours: ConflictScoreMiddleware) -> Any:
    """Return the agent that searches."""
    return create_agent(model, [search], middleware=[ours], name="researcher")


def parent(model: BaseChatModel, search: BaseTool, ours: ConflictScoreMiddleware) -> Any:
    """Build a message graph in which the agent is a node."""
    graph = StateGraph(MessagesState)
    graph.add_node("agent", researcher(model, search, ours))
    graph.add_edge(START, "agent")
    return graph.compile()


def fan_out(model: BaseChatModel, search: BaseTool, ours: ConflictScoreMiddleware) -> Any:
    """Build a graph that sends the question to the agent twice, and joins the answers."""
    graph = StateGraph(MessagesState)
    graph.add_node("agent", researcher(model, search, ours))
    graph.add_node("join", lambda state: {"messages": [AIMessage(_joined(state))]})
    graph.add_node("verdict", carry_verdict)
    graph.add_conditional_edges(
        START,
        lambda state: [Send("agent", {"messages": state["messages"]}) for _ in range(2)],
        ["agent"],
    )
    graph.add_edge("agent", "join")
    graph.add_edge("join", "verdict")
    return graph.compile()


def _joined(state: Mapping[str, Any]) -> str:
    answers = [str(each.text) for each in state["messages"] if isinstance(each, AIMessage)]
    return " And: ".join(text for text in answers if text)


def handing_over(model: BaseChatModel, search: BaseTool, ours: ConflictScoreMiddleware) -> Any:
    """Build a graph whose first agent hands over to the second with ``Command(graph=PARENT)``."""

    @tool
    def transfer_to_researcher(call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Hand over to the researcher."""
        call = {"name": "transfer_to_researcher", "args": {}, "id": call_id, "type": "tool_call"}
        messages = [
            AIMessage("", tool_calls=[call]),
            ToolMessage("Transferred to the researcher.", tool_call_id=call_id),
        ]
        return Command(goto="researcher", graph=Command.PARENT, update={"messages": messages})

    triage = create_agent(transferring(), [transfer_to_researcher], name="triage")
    graph = StateGraph(MessagesState)
    graph.add_node("triage", triage, destinations=("researcher",))
    graph.add_node("researcher", researcher(model, search, ours))
    graph.add_edge(START, "triage")
    return graph.compile()


def supervising(mode: str = "last_message", lead: str = "", *, forwards: bool = False) -> Build:
    """Return the builder of a langgraph-supervisor with one agent."""

    def build(model: BaseChatModel, search: BaseTool, ours: ConflictScoreMiddleware) -> Any:
        module = import_module("langgraph_supervisor")
        if not forwards:
            return module.create_supervisor(
                [researcher(model, search, ours)],
                model=transferring(lead=lead),
                output_mode=mode,
                post_model_hook=carry_verdict,
            ).compile()
        forward = import_module("langgraph_supervisor.handoff").create_forward_message_tool()
        steps = (
            [{"name": "transfer_to_researcher"}],
            [{"name": "forward_message", "args": {"from_agent": "researcher"}}],
        )
        inner = module.create_supervisor(
            [researcher(model, search, ours)], model=calling(*steps), tools=[forward]
        )
        graph = StateGraph(MessagesState)
        graph.add_node("supervisor", inner.compile())
        graph.add_node("verdict", carry_verdict)
        graph.add_edge(START, "supervisor")
        graph.add_edge("supervisor", "verdict")
        return graph.compile()

    return build


def swarm(model: BaseChatModel, search: BaseTool, ours: ConflictScoreMiddleware) -> Any:
    """Build a langgraph-swarm whose first agent hands over to the agent that searches."""
    module = import_module("langgraph_swarm")
    hand_over = module.create_handoff_tool(agent_name="researcher")
    triage = create_agent(transferring(), [hand_over], name="triage")
    agents = [triage, researcher(model, search, ours)]
    return module.create_swarm(agents, default_active_agent="triage").compile()


def subagent(model: BaseChatModel, search: BaseTool, ours: ConflictScoreMiddleware) -> Any:
    """Build an agent whose only tool is another agent; both check their answers."""
    agent: Any = create_agent(model, [search], middleware=[ours])

    @tool("search")
    def ask_researcher(query: str) -> str:
        """Ask a researcher."""
        return str(agent.invoke(QUESTION)["messages"][-1].text)

    outer = ConflictScoreMiddleware(cache=False, **PAPER)
    return create_agent(model, [ask_researcher], middleware=[outer])


def deep_agent(model: BaseChatModel, search: BaseTool, ours: ConflictScoreMiddleware) -> Any:
    """Build a deepagents agent, which adds its own middleware around this package's."""
    module = import_module("deepagents")
    return module.create_deep_agent(model=model, tools=[search], middleware=[ours])


def deep_tasks(count: int) -> Build:
    """Return the builder of a deepagents agent that asks its researcher ``count`` times at once."""

    def build(model: BaseChatModel, search: BaseTool, ours: ConflictScoreMiddleware) -> Any:
        module = import_module("deepagents")
        question = QUESTION["messages"][0]["content"]
        args = {"description": question, "subagent_type": "researcher"}
        about = {"name": "researcher", "description": "Searches.", "tools": [search]}
        outer = ConflictScoreMiddleware(cache=False, judge=model, **PAPER)
        steps = [[{"name": "task", "args": args}] * count]
        return module.create_deep_agent(
            model=Calling(responses=[""], steps=steps, second=model),
            subagents=[{**about, "model": model, "system_prompt": "Search.", "middleware": [ours]}],
            middleware=[outer],
        )

    return build


GRAPHS: dict[str, Build] = {
    "parent graph of messages": parent,
    "Send to two agents, and a node that joins them": fan_out,
    "hand-over by Command": handing_over,
    "langgraph-supervisor, last_message": supervising(),
    "langgraph-supervisor, full_history": supervising("full_history"),
    "langgraph-supervisor, in other words": supervising(lead="In short: "),
    "langgraph-supervisor, forwarded": supervising(forwards=True),
    "langgraph-swarm": swarm,
    "agent as a tool of an agent": subagent,
    "deepagents": deep_agent,
    "deepagents, a task": deep_tasks(1),
    "deepagents, two tasks at once": deep_tasks(2),
}
HANDING_OVER: frozenset[Build] = frozenset(
    build
    for name, build in GRAPHS.items()
    if any(word in name for word in ("hand-over", "supervisor", "swarm"))
)
"""The hosts whose first agent hands over to a second agent, which searches."""
