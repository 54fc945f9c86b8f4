"""Giving nodes their context, a sync face and a clock, and whole graphs a caller who waits.

LangGraph hands a node no context where the caller passes none, and an async node cannot be
invoked synchronously. Both are settled here, once, for every node, and each one's time is taken.
"""

import asyncio
import os
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar
from queue import SimpleQueue
from typing import Any, TypeVar, cast

from langchain_core.runnables import RunnableLambda
from langgraph.runtime import Runtime, get_runtime

from conflictscore.models.calls import SYNCHRONOUS
from conflictscore.models.clients import for_purpose
from conflictscore.nodes.state import RagState, RunContext, RunRuntime, time_left, timed
from conflictscore.threads import deadline, thread_callback

__all__ = ["Node", "bind", "in_callers_thread", "route", "run_for_sync_caller"]

T = TypeVar("T")
Node = Callable[[RagState, RunRuntime], Awaitable[dict[str, Any]]]
"""An async function of state and runtime that returns a state update."""


def bind(node: Node, default: RunContext) -> RunnableLambda[RagState, dict[str, Any]]:
    """Make a graph node of an async function.

    Args:
        node: Takes state and runtime, returns a state update.
        default: The context of a run that brings none of its own.
    """
    name = getattr(node, "__name__", "node")

    async def run_async(state: RagState) -> dict[str, Any]:
        started, runtime = time.perf_counter(), _runtime(default)
        left, budget = time_left(state, runtime.context), runtime.context.budget_seconds
        with for_purpose(step=name), deadline(left, budget):
            update = await node(state, runtime)
        known = cast("RagState", {**state, **update})
        return update | {"timings": timed(known, name, time.perf_counter() - started)}

    def run(state: RagState) -> dict[str, Any]:
        return run_for_sync_caller(run_async(state))

    return RunnableLambda(run, afunc=run_async, name=name)


def route(path: Callable[[RagState, RunContext], str], default: RunContext) -> Callable[..., str]:
    """Make what chooses the next node of a function of state and context."""

    def chosen(state: RagState) -> str:
        return path(state, _runtime(default).context)

    return chosen


def _runtime(default: RunContext) -> Runtime[RunContext]:
    runtime = get_runtime(RunContext)
    # a graph around this one has a context of its own, of any type
    if not isinstance(cast("object", runtime.context), RunContext):
        return runtime.override(context=default)
    return runtime


def run_for_sync_caller(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in which models and retrievers are called by their synchronous face.

    The caller's thread waits, and meanwhile does what :func:`in_callers_thread` asks of it.
    """
    errands: SimpleQueue[Callable[[], None] | None] = SimpleQueue()

    async def synchronously() -> T:
        SYNCHRONOUS.set(True)
        _errands.set(errands)
        return await work

    future = asyncio.run_coroutine_threadsafe(synchronously(), _loop())
    future.add_done_callback(lambda _: errands.put(None))
    try:
        while (asked := errands.get()) is not None:
            asked()
        return future.result()
    except BaseException:
        future.cancel()
        raise


async def in_callers_thread(work: Callable[[], T]) -> T:
    """Have the thread that waits for this coroutine do something, in its own context.

    Raises:
        LookupError: No thread waits; the coroutine was not run by :func:`run_for_sync_caller`.
    """
    done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    _errands.get().put(thread_callback(work, done))
    return await done


_errands: ContextVar[SimpleQueue[Callable[[], None] | None]] = ContextVar("conflictscore_errands")
_loops: dict[int, asyncio.AbstractEventLoop] = {}
_starting = threading.Lock()


def _loop() -> asyncio.AbstractEventLoop:
    """One event loop in a daemon thread of its own, for sync callers, inside a running loop too.

    There is one a process: a forked child has the parent's memory but not its threads.
    """
    with _starting:
        loop = _loops.get(os.getpid())
        if loop is None:
            loop = _loops[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="conflictscore", daemon=True).start()
        return loop
