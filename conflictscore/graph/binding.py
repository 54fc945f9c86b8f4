"""Binds nodes to their context, makes them callable synchronously, and times them.

A graph keeps the context that it was built with. A graph can therefore run independently, or as a
node in another graph, without needing that graph's context.
"""

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from inspect import signature
from queue import SimpleQueue
from typing import Any, TypeVar, cast

from langchain_core.runnables import RunnableLambda
from langgraph.config import get_stream_writer
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from conflictscore.loop.state import (
    RagState,
    RecordsByField,
    RunContext,
    RunRuntime,
    StateOfRecords,
)
from conflictscore.loop.time_budget import time_left, timed
from conflictscore.models.calls import SYNCHRONOUS
from conflictscore.threads import LONG_CHARS, deadline, on_home_loop, on_own_loop, thread_callback

_log = logging.getLogger(__name__)

T = TypeVar("T")
# Fields of the state whose length shows whether a step may take long.
_TEXTS = ("question", "documents", "history", "messages", "draft_answer", "draft")
_WITHOUT_PARTS = frozenset((str, int, float, bool, type(None)))
_LAST = "record"
"""The name of the last step of a run."""
_MOST_RUNS = 128
"""Number of unfinished runs whose records are held, which bounds the memory; chosen by hand. The
records of any other run are built from its state again, which only takes time."""
Node = Callable[[RagState, RunRuntime], Coroutine[Any, Any, dict[str, Any]]]
"""An async function of state and runtime that returns a state update."""


_running: ContextVar[tuple[object, RunContext] | None] = ContextVar(
    "conflictscore_running", default=None
)
"""The graph that :func:`running_with` runs, and its context for that run."""


@contextmanager
def running_with(
    graph: CompiledStateGraph[Any, Any, Any, Any], context: RunContext
) -> Iterator[None]:
    """Give the graph this context inside the block; other graphs keep their own context."""
    token = _running.set((graph.builder, context))
    try:
        yield
    finally:
        _running.reset(token)


@dataclass(frozen=True)
class Binding:
    """Makes the nodes and routes of a graph.

    If ``default`` is None, each run needs its own context.
    """

    graph: StateGraph[Any, Any, Any, Any]
    default: RunContext | None
    # a lambda, since the class is defined below
    _records: "_RecordsOfRuns" = field(default_factory=lambda: _RecordsOfRuns())

    @property
    def context(self) -> RunContext:
        """The context of the current run."""
        graph, running = _running.get() or (None, None)
        context = running if graph is self.graph else self.default
        if context is None:
            raise RuntimeError("this graph was built without a context; use running_with")
        return context

    def node(self, node: Node) -> RunnableLambda[RagState, dict[str, Any]]:
        """Turn an async function into a graph node."""
        name = getattr(node, "__name__", "node")

        async def run_async(state: RagState) -> dict[str, Any]:
            start, context = time.perf_counter(), self.context
            runtime = RunRuntime(context, _announcing(get_stream_writer(), context.on_event))
            seconds_left = time_left(state, context)
            with (
                deadline(seconds_left, context.settings.budget_seconds),
                self._records.shared(state, is_last=name == _LAST) as made,
            ):
                working = node(cast("RagState", StateOfRecords(state, made)), runtime)
                # A foreign labeler must run where its client was made. With a labeler of this
                # package, a step with long texts gets its own event loop and does not block the
                # caller's.
                if not _is_own(context.labeler):
                    update = await on_home_loop(lambda: working)
                else:
                    update = await (
                        on_own_loop(working) if are_long(map(state.get, _TEXTS)) else working
                    )
            # the node itself may have added the time of work that was done before it started
            state_after = cast("RagState", {**state, **update})
            return update | {"timings": timed(state_after, name, time.perf_counter() - start)}

        def run(state: RagState) -> dict[str, Any]:
            return run_for_sync_caller(run_async(state))

        # LangChain would work this out in each step of a run
        run_async.__dict__["__signature__"] = signature(run_async)
        step = RunnableLambda(run, afunc=run_async, name=name)
        # LangChain would otherwise search the node's source code for runnables; it contains none
        step.__dict__["deps"] = []
        return step

    def fill_input(
        self,
        graph: CompiledStateGraph[Any, Any, Any, Any],
        fill: Callable[[dict[str, Any], RunContext], dict[str, Any]],
    ) -> None:
        """Add missing fields to an input mapping before it enters the graph's state.

        On a checkpointer's thread, a field that the input omits would keep its value from an
        earlier question. Nodes could not tell that this value was outdated.
        """

        def filled(run_input: Any) -> Any:
            return (
                fill(dict(run_input), self.context) if isinstance(run_input, Mapping) else run_input
            )

        # LangGraph calls this mapper with the input, before it writes the input to the state
        graph.nodes[START].mapper = filled

    def route(self, path: Callable[[RagState, RunContext], str]) -> Callable[..., str]:
        """Turn a function of state and context into LangGraph's routing function.

        The routing function does not annotate its state, because LangGraph would evaluate all
        annotations of that type for each route. LangGraph passes the state to it anyway.
        """

        def chosen(state: Any) -> str:
            return path(state, self.context)

        return chosen


class _RecordsOfRuns:
    """Holds the records that the steps of unfinished runs have built, so that later steps use them.

    The records of a run are dropped after its last step or a failed step. If a run ends between two
    steps, its records stay until many other runs have begun.
    """

    def __init__(self) -> None:
        self._by_run: dict[str, RecordsByField] = {}
        self._changing = threading.Lock()

    @contextmanager
    def shared(self, state: RagState, *, is_last: bool) -> Iterator[RecordsByField]:
        """Yield the records of a run; a run without an id shares none."""
        run_id = state.get("run_id")
        if not run_id:
            yield {}
            return
        with self._changing:
            made = self._by_run.setdefault(run_id, {})
            if len(self._by_run) > _MOST_RUNS:
                del self._by_run[next(iter(self._by_run))]
        try:
            yield made
        except BaseException:
            is_last = True
            raise
        finally:
            if is_last:
                with self._changing:
                    self._by_run.pop(run_id, None)


def are_long(values: Iterable[object]) -> bool:
    """Return whether the texts in these values are so long that reading them blocks a loop."""
    room = LONG_CHARS
    wholes: list[object] = [whole for whole in values if whole is not None]
    while wholes and room > 0:
        whole = wholes.pop()
        if isinstance(whole, str):
            room -= len(whole)
            continue
        if isinstance(whole, (dict, Mapping)):  # a dictionary is recognised faster
            parts = list(whole.values())
        elif isinstance(whole, list | tuple):
            parts = list(whole)
        else:
            # messages and documents are objects that hold their texts in attributes
            parts = list(getattr(whole, "__dict__", {}).values())
        # count every part, so that the search also ends in a very long list of empty parts
        room -= len(parts) + sum(map(len, [part for part in parts if type(part) is str]))
        wholes += [part for part in parts if type(part) not in _WITHOUT_PARTS]
    return room <= 0


def _is_own(labeler: object) -> bool:
    """Return whether a labeler comes from this package and can therefore run on any event loop.

    Other labelers may hold a client that is bound to the caller's event loop.
    """
    inner_labelers = [
        part for part in getattr(labeler, "__dict__", {}).values() if hasattr(part, "label")
    ]
    return type(labeler).__module__.startswith("conflictscore.") and all(
        map(_is_own, inner_labelers)
    )


def _announcing(
    writer: Callable[[Any], None], on_event: Callable[[Mapping[str, Any]], None] | None
) -> Callable[[Any], None]:
    """Return a function that passes events to ``on_event``, or to the graph's stream without it."""
    if on_event is None:
        return writer

    def announce(event: Any) -> None:
        try:
            on_event(event)
        except Exception:  # noqa: BLE001 - a failing callback must not end the run
            _log.warning("on_event failed at %s", event.get("event"), exc_info=True)

    return announce


def run_for_sync_caller(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in which models and retrievers are called synchronously.

    While the caller's thread waits, that thread runs what :func:`in_callers_thread` passes to it.
    """
    callbacks: _Callbacks = SimpleQueue()

    async def synchronously() -> T:
        SYNCHRONOUS.set(True)
        _callbacks.set(callbacks)
        return await work

    future = asyncio.run_coroutine_threadsafe(synchronously(), _loop())
    future.add_done_callback(lambda _: callbacks.put(None))
    try:
        while (callback := callbacks.get()) is not None:
            callback()
        return future.result()
    except BaseException:  # Ctrl-C, too, must stop the calls that are still running
        future.cancel()
        raise


async def in_callers_thread(work: Callable[[], T]) -> T:
    """Run ``work`` in the thread that waits for this coroutine, with that thread's context.

    Raises:
        LookupError: No thread is waiting, because the coroutine was not run by
            :func:`run_for_sync_caller`.
    """
    outcome: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    _callbacks.get().put(thread_callback(work, outcome))
    return await outcome


_Callbacks = SimpleQueue[Callable[[], None] | None]
_callbacks: ContextVar[_Callbacks] = ContextVar("conflictscore_callbacks")
_loops: dict[int, asyncio.AbstractEventLoop] = {}
# two threads that need the loop at the same time must not start two
_starting = threading.Lock()


def _loop() -> asyncio.AbstractEventLoop:
    """Return the event loop for synchronous callers, which runs in a daemon thread.

    Callers may be inside another running loop. Each process has its own loop, since a forked child
    inherits its parent's memory but not its threads.
    """
    with _starting:
        loop = _loops.get(os.getpid())
        if loop is None:
            loop = _loops[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="conflictscore", daemon=True).start()
        return loop
