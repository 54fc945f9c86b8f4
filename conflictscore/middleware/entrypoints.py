"""Shared parts of the entry points: the run, its failures, and which tokens are streamed."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, get_args

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer
from langgraph.errors import GraphBubbleUp

from conflictscore.errors import InputError, NoDocumentsError, brief_reason
from conflictscore.graph.binding import running_with
from conflictscore.graph.self_correction import shared_graph
from conflictscore.loop.state import RagInput, RunContext
from conflictscore.middleware.requirement import FailurePolicy, check_require
from conflictscore.nodes.record import run_of
from conflictscore.records import Run

HIDDEN: RunnableConfig = {"tags": ["nostream"]}
"""Keeps the tokens of what is called out of LangGraph's ``messages`` stream."""

OnEvent = Callable[[Mapping[str, Any]], None]


class PassedOnError(Exception):
    """Carries an answerer's error through the graph to the caller, unchanged."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


def listener(on_event: OnEvent | None) -> OnEvent | None:
    """Tells events to a caller, and to the ``custom`` stream of the graph that calls, if any.

    A run within another graph's node is no part of that graph: its events do not get there alone.
    """
    try:
        stream = get_stream_writer()
    except (RuntimeError, KeyError, AttributeError):  # in no runnable, or in one of no graph
        return on_event

    def tell(event: Mapping[str, Any]) -> None:
        stream(event)
        if on_event is not None:
            on_event(event)

    return tell


async def correct(context: RunContext, start: RagInput) -> Run:
    """Run the loop over the context's answerer; a PassedOnError comes out as its error."""
    graph = shared_graph()
    try:
        with running_with(graph, context):
            return run_of(await graph.ainvoke(start))
    except PassedOnError as passing:
        error = passing.error
    raise error


def check_choices(on_failure: object, sources: object, require: object = None) -> None:
    """Refuse unknown policies, and sources that are no list of names, by an InputError."""
    check_require(require)
    if on_failure not in get_args(FailurePolicy):
        raise InputError(f"on_failure is {on_failure!r}; give 'pass_through' or 'raise'")
    names = list(sources) if isinstance(sources, Collection) else [sources]
    if sources is not None and (
        isinstance(sources, str) or not all(isinstance(name, str) for name in names)
    ):
        raise InputError(f"sources is {sources!r}; give a list of names of tools")


def reason_or_raise(error: Exception, on_failure: FailurePolicy) -> str:
    """The reason to give with an answer that was left as it is, or the error itself.

    Finding nothing is not a failure. A wrong key or setting always ends the call, and so does what
    is meant for LangGraph, such as an interrupt.
    """
    if isinstance(error, NoDocumentsError):
        return str(error)
    if isinstance(error, InputError | GraphBubbleUp) or on_failure == "raise":
        raise error
    return brief_reason(error)
