"""Giving nodes their context, and a sync face.

LangGraph hands a node no context where the caller passes none, and an async node cannot be
invoked synchronously. Both are settled here, once, for every node.
"""

import atexit
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any, cast

from anyio.from_thread import BlockingPortal, start_blocking_portal
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
        return _portal().call(run_for_sync_caller, state)

    return RunnableLambda(run, afunc=run_async, name=getattr(node, "__name__", None))


@cache
def _portal() -> BlockingPortal:
    """One event loop in a thread of its own, for sync callers, inside a running loop too."""
    running = start_blocking_portal(name="conflictscore")
    atexit.register(running.__exit__, None, None, None)
    return running.__enter__()
