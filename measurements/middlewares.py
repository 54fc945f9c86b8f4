"""Tests every middleware that the installed ``langchain`` offers together with this package's.

Each is tried before and after ours in the list, and each agent gives three answers: one is
checked and confirmed, one is changed, and one is not checked. The agent is called and streamed,
with and without ``async``. A cell shows the verdict in the last message, once if it is the same in
all four ways. The cell also names what a user would see as a fault:

- the verdict takes more than 600 bytes, or differs from the run in the state;
- a run stands in the state more than once;
- the streamed answer differs from the one in the state.

    python -m measurements.middlewares
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from tempfile import mkdtemp
from typing import Any

import click
from langchain.agents import create_agent, middleware
from langchain.agents.middleware import AgentMiddleware
from langchain_core.decisions import BaseDecisionModel, ChoiceAnswer, ClassifierResponse, NoulAnswer
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from conflictscore.middleware import ConflictScoreMiddleware
from measurements.hosts import AGREEING, row, search_of, verdict_of
from tests.fakes.openai_server import OpenAIServer
from tests.middleware.agents import QUESTION, AgentWorld
from tests.world import DISAGREEING, PAPER, scripted_model

Other = AgentMiddleware[Any, Any, Any]
_MOST_BYTES = 600
_RUN_FIELD = "final_report"  # a field that only whole runs have


class _Selecting(FakeListChatModel):
    """A model that always selects the tool ``search``."""

    def with_structured_output(self, schema: Any, **kwargs: Any) -> Any:
        return RunnableLambda(lambda _: {"tools": ["search"]})


class _Deciding(BaseDecisionModel):
    """A decision model that finds every call harmless and takes the first choice."""

    model: str = "scripted"

    @property
    def _provider(self) -> str:
        return "scripted"

    def _classify(self, state: Any, questions: dict[str, Any]) -> ClassifierResponse:
        answers: dict[str, Any] = {}
        for name, question in questions.items():
            if question.type == "noul":
                answers[name] = NoulAnswer(type="noul", noul=0.0)
            else:
                first = next(iter(question.criteria))
                answers[name] = ChoiceAnswer(
                    type="choice", choice=first, probabilities={first: 1.0}, confidence=1.0
                )
        return ClassifierResponse(model="scripted", answers=answers)


def _talker(text: str) -> FakeListChatModel:
    return FakeListChatModel(responses=[text] * 99)


OTHERS: dict[str, Callable[[Any, list[dict[str, str]]], Other]] = {
    "AutoModeMiddleware": lambda *_: middleware.AutoModeMiddleware(
        tools=["search"], classifier=_Deciding()
    ),
    "ContextEditingMiddleware": lambda *_: middleware.ContextEditingMiddleware(
        edits=[middleware.ClearToolUsesEdit(trigger=1, keep=0)]
    ),
    "FilesystemFileSearchMiddleware": lambda *_: middleware.FilesystemFileSearchMiddleware(
        root_path=mkdtemp()
    ),
    "HumanInTheLoopMiddleware": lambda *_: middleware.HumanInTheLoopMiddleware(
        interrupt_on={"search": True}
    ),
    "LLMToolEmulator": lambda _, documents: middleware.LLMToolEmulator(
        model=_talker(json.dumps(documents))
    ),
    "LLMToolSelectorMiddleware": lambda *_: middleware.LLMToolSelectorMiddleware(
        model=_Selecting(responses=["?"])
    ),
    "ModelCallLimitMiddleware": lambda *_: middleware.ModelCallLimitMiddleware(run_limit=2),
    "ModelFallbackMiddleware": lambda *_: middleware.ModelFallbackMiddleware(_talker("No.")),
    "ModelRefusalMiddleware": lambda *_: middleware.ModelRefusalMiddleware(),
    "ModelRetryMiddleware": lambda *_: middleware.ModelRetryMiddleware(),
    "ModelRouterMiddleware": lambda model, _: middleware.ModelRouterMiddleware(
        choices={"first": middleware.ModelChoice(model=model, criteria="all")},
        instructions="Choose.",
        classifier=_Deciding(),
    ),
    "PIIMiddleware": lambda *_: middleware.PIIMiddleware(
        "email", apply_to_output=True, apply_to_tool_results=True
    ),
    "ProviderToolSearchMiddleware": lambda *_: middleware.ProviderToolSearchMiddleware(),
    "ShellToolMiddleware": lambda *_: middleware.ShellToolMiddleware(),
    "SummarizationMiddleware": lambda *_: middleware.SummarizationMiddleware(
        model=_talker("A summary."), trigger=("messages", 3), keep=("messages", 1)
    ),
    "TodoListMiddleware": lambda *_: middleware.TodoListMiddleware(),
    "ToolCallLimitMiddleware": lambda *_: middleware.ToolCallLimitMiddleware(run_limit=1),
    "ToolErrorMiddleware": lambda *_: middleware.ToolErrorMiddleware(lambda *_: "It failed."),
    "ToolRetryMiddleware": lambda *_: middleware.ToolRetryMiddleware(),
}


def missing() -> list[str]:
    """Return the middlewares of the installed ``langchain`` that :data:`OTHERS` lacks."""
    offered = {
        name
        for name in middleware.__all__
        if isinstance(offer := getattr(middleware, name), type)
        and issubclass(offer, AgentMiddleware)
        and offer is not AgentMiddleware
    }
    return sorted(offered - OTHERS.keys())


_LOOP = asyncio.Runner()  # one event loop, since the client's connections belong to it


async def _astreamed(agent: Any, given: Any, thread: Any) -> list[Any]:
    return [each async for each in agent.astream(given, thread, stream_mode=["messages", "values"])]


def _called(agent: Any, given: Any, thread: Any) -> tuple[dict[str, Any], None]:
    return agent.invoke(given, thread), None


def _awaited(agent: Any, given: Any, thread: Any) -> tuple[dict[str, Any], None]:
    return _LOOP.run(agent.ainvoke(given, thread)), None


def _streamed(agent: Any, given: Any, thread: Any) -> tuple[dict[str, Any], list[BaseMessage]]:
    return _parted(list(agent.stream(given, thread, stream_mode=["messages", "values"])))


def _awaited_stream(
    agent: Any, given: Any, thread: Any
) -> tuple[dict[str, Any], list[BaseMessage]]:
    return _parted(_LOOP.run(_astreamed(agent, given, thread)))


def _parted(parts: list[Any]) -> tuple[dict[str, Any], list[BaseMessage]]:
    states = [part for mode, part in parts if mode == "values"]
    return states[-1], [part[0] for mode, part in parts if mode == "messages"]


WAYS: dict[str, Callable[..., tuple[dict[str, Any], list[BaseMessage] | None]]] = {
    "invoke": _called,
    "stream": _streamed,
    "ainvoke": _awaited,
    "astream": _awaited_stream,
}


def faults_of(state: Mapping[str, Any], streamed: list[BaseMessage] | None) -> list[str]:
    """Return what a user of the agent would call a fault in its state and its stream."""
    last = state["messages"][-1]
    verdict, run = last.response_metadata.get("conflictscore") or {}, state.get("conflict") or {}
    faults = []
    if (size := len(json.dumps(verdict).encode())) > _MOST_BYTES:
        faults.append(f"{size} bytes")
    if verdict.get("run_id") != run.get("run_id") or verdict.get("checked") != run.get("checked"):
        faults.append(f"the state's run says {run.get('checked')}")
    copies = json.dumps(state, default=str).count(_RUN_FIELD)
    if copies > 1:
        faults.append(f"{copies} copies of the run")
    if streamed is not None:
        said = "".join(str(m.text) for m in streamed if isinstance(m, AIMessage))
        if said.strip() != str(last.text).strip():
            faults.append(f"streamed {said!r} for {last.text!r}")
    return faults


def played(
    name: str, way: str, documents: list[dict[str, str]], *, first: bool, searches: bool
) -> str:
    """Ask an agent with this middleware the question; return the verdict and the faults."""
    world = AgentWorld(tools=("search",) if searches else ())
    with OpenAIServer(world) as server:
        model = scripted_model(server)
        ours, other = ConflictScoreMiddleware(cache=False, **PAPER), OTHERS[name](model, documents)
        agent: Any = create_agent(
            model,
            [search_of(documents)],
            middleware=[ours, other] if first else [other, ours],
            checkpointer=InMemorySaver(),
        )
        thread = {"configurable": {"thread_id": "1"}}
        state, streamed = WAYS[way](agent, QUESTION, thread)
        if state.get("__interrupt__") or agent.get_state(thread).next:
            approval: Any = Command(resume={"decisions": [{"type": "approve"}]})
            state, streamed = WAYS[way](agent, approval, thread)
    return "; ".join([verdict_of(state), *faults_of(state, streamed)])


def cell(name: str, documents: list[dict[str, str]], *, first: bool, searches: bool) -> str:
    """Return the verdicts of all ways, with the ways in which each one was seen."""
    seen: dict[str, list[str]] = {}
    for way in WAYS:
        try:
            shown = played(name, way, documents, first=first, searches=searches)
        except Exception as error:  # noqa: BLE001 - shown in the table
            shown = f"{type(error).__name__}: {error}"[:200]
        seen.setdefault(shown, []).append(way)
    if len(seen) == 1:
        return next(iter(seen))
    return " / ".join(f"{shown} ({', '.join(ways)})" for shown, ways in seen.items())


@click.command(help=__doc__)
@click.option("--only", default="", help="Try only middlewares whose names contain this text.")
def main(only: str) -> None:
    """See the module."""
    click.echo("| middleware | ours is | checked | flipped | unchecked |\n|---|---|---|---|---|")
    for name in OTHERS:
        for first in (True, False) if only in name else ():
            row(
                name,
                "first" if first else "last",
                cell(name, AGREEING, first=first, searches=True),
                cell(name, DISAGREEING, first=first, searches=True),
                cell(name, AGREEING, first=first, searches=False),
            )
    if missing():
        click.echo(f"\nnot tried: {', '.join(missing())}")


if __name__ == "__main__":
    main()
