"""Giving nodes their context, a sync face and a clock.

LangGraph hands a node no context where the caller passes none, and an async node cannot be
invoked synchronously. Both are settled here, once, for every node, and each one's time is taken.
"""

import asyncio
import os
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar, cast

from langchain_core.runnables import RunnableLambda
from langgraph.runtime import get_runtime

from conflictscore.models.calls import SYNCHRONOUS
from conflictscore.nodes.state import RagState, RunContext, RunRuntime, timed

__all__ = ["bind", "run_for_sync_caller"]

T = TypeVar("T")

_Node = Callable[[RagState, RunRuntime], Awaitable[dict[str, Any]]]


def bind(node: _Node, default: RunContext) -> RunnableLambda[RagState, dict[str, Any]]:
    """Make a graph node of an async function.

    Args:
        node: Takes state and runtime, returns a state update.
        default: The context of a run that brings none of its own.
    """
    name = getattr(node, "__name__", "node")

    async def run_async(state: RagState) -> dict[str, Any]:
        runtime = get_runtime(RunContext)
        if cast("RunContext | None", runtime.context) is None:
            runtime = runtime.override(context=default)
        started = time.perf_counter()
        update = await node(state, runtime)
        return update | {"timings": timed(state, name, time.perf_counter() - started)}

    def run(state: RagState) -> dict[str, Any]:
        return run_for_sync_caller(run_async(state))

    return RunnableLambda(run, afunc=run_async, name=name)


def run_for_sync_caller(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in which models and retrievers are called by their synchronous face."""

    async def synchronously() -> T:
        SYNCHRONOUS.set(True)
        return await work

    future = asyncio.run_coroutine_threadsafe(synchronously(), _loop())
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


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
