"""Giving nodes their context, and a sync face.

LangGraph hands a node no context where the caller passes none, and an async node cannot be
invoked synchronously. Both are settled here, once, for every node.
"""

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable
from typing import Any, cast

from langchain_core.runnables import RunnableLambda
from langgraph.runtime import get_runtime

from conflictscore.models.faces import SYNCHRONOUS
from conflictscore.nodes.state import RagState, RunContext, RunRuntime

__all__ = ["bind"]

_Node = Callable[[RagState, RunRuntime], Awaitable[dict[str, Any]]]


def bind(node: _Node, default: RunContext) -> RunnableLambda[RagState, dict[str, Any]]:
    """Make a graph node of an async function.

    Args:
        node: Takes state and runtime, returns a state update.
        default: The context of a run that brings none of its own.
    """

    async def run_async(state: RagState) -> dict[str, Any]:
        runtime = get_runtime(RunContext)
        if cast("RunContext | None", runtime.context) is None:
            runtime = runtime.override(context=default)
        return await node(state, runtime)

    async def run_for_sync_caller(state: RagState) -> dict[str, Any]:
        SYNCHRONOUS.set(True)
        return await run_async(state)

    def run(state: RagState) -> dict[str, Any]:
        future = asyncio.run_coroutine_threadsafe(run_for_sync_caller(state), _loop())
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    return RunnableLambda(run, afunc=run_async, name=getattr(node, "__name__", None))


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
