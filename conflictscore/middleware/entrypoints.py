"""Code that all entry points share: it runs the loop, passes on events, and handles failures."""

import logging
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
from conflictscore.records import Gap, Run

_log = logging.getLogger(__name__)

HIDDEN: RunnableConfig = {"tags": ["nostream"]}
"""Config that keeps a call's tokens out of LangGraph's ``messages`` stream."""

OnEvent = Callable[[Mapping[str, Any]], None]


class PassedOnError(Exception):
    """Wraps an answerer's error, so that the caller gets the original error from the graph.

    Without this wrapper, the loop would take the error for a failed check and keep the first
    answer.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


def listener(on_event: OnEvent | None) -> OnEvent | None:
    """Return a function that passes on events, or None if events have no recipient.

    The function calls ``on_event``, and writes to the ``custom`` stream of the calling graph, if
    there is one. A run inside a node of another graph does not belong to that graph, so its events
    must be forwarded.
    """
    try:
        stream = get_stream_writer()
    except (RuntimeError, KeyError, AttributeError):  # not in a runnable, or not in a graph
        return on_event

    def tell(event: Mapping[str, Any]) -> None:
        stream(event)
        if on_event is not None:
            on_event(event)

    return tell


async def correct(context: RunContext, start: RagInput) -> Run:
    """Run the loop; if it ends with a PassedOnError, raise the original error."""
    graph = shared_graph()
    try:
        with running_with(graph, context):
            return run_of(await graph.ainvoke(start))
    except PassedOnError as passing:
        error = passing.error
    raise error  # outside the handler, the error keeps its own cause and context


def with_later_gaps(run: Run, *gaps: Gap) -> Run:
    """Return a run with gaps that only the entry point knows, such as an answer that was cut off.

    The loop has already logged the main gap that it knew of. If one of the new gaps is now the main
    gap, the new gap is logged too.
    """
    before, run = run.examined, run.with_gaps(*gaps)
    gap = run.examined.main_gap if run.examined else None
    if before is not None and gap is not None and gap != before.main_gap:
        how = "only in part" if run.checked == "partly" else "not"
        # the short version, since the answer must not be logged
        _log.warning("run %s: the answer was %s checked: %s", run.run_id, how, gap.in_short)
    return run


def check_choices(on_failure: object, sources: object, require: object = None) -> None:
    """Raise an InputError for an unknown policy, or if ``sources`` is not a list of names."""
    check_require(require)
    if on_failure not in get_args(FailurePolicy):
        raise InputError(f"on_failure is {on_failure!r}; give 'pass_through' or 'raise'")
    names = list(sources) if isinstance(sources, Collection) else [sources]
    if sources is not None and (
        isinstance(sources, str) or not all(isinstance(name, str) for name in names)
    ):
        raise InputError(f"sources is {sources!r}; give a list of tool names")


def reason_or_raise(error: Exception, on_failure: FailurePolicy) -> str:
    """Return the reason why an answer was not checked, or raise an error that must not be hidden.

    A search that finds nothing is not a failure. Errors about invalid keys and settings are always
    raised. Exceptions meant for LangGraph, such as interrupts, are always raised too.
    """
    if isinstance(error, NoDocumentsError):
        return str(error)
    if isinstance(error, InputError | GraphBubbleUp) or on_failure == "raise":
        raise error
    return brief_reason(error)
