"""Calling a runnable by the face that its caller used.

An async client belongs to the event loop that it was first used in. A model or retriever that a
caller uses in a loop of their own, and hands to a graph that they then invoke synchronously, would
meet a second loop. So a synchronous run calls the synchronous face, in a worker thread; and so does
an asynchronous run whose client turns out to belong to a loop of the past.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar, copy_context
from functools import partial
from typing import TypeVar

from langchain_core.runnables import Runnable, RunnableConfig

__all__ = ["SYNCHRONOUS", "call"]

In = TypeVar("In")
Out = TypeVar("Out")

SYNCHRONOUS: ContextVar[bool] = ContextVar("conflictscore_synchronous", default=False)
"""Whether the graph was invoked synchronously."""


async def call(runnable: Runnable[In, Out], value: In, config: RunnableConfig | None = None) -> Out:
    """``ainvoke`` in an asynchronous run; ``invoke``, in a thread, in a synchronous one."""
    if not SYNCHRONOUS.get():
        try:
            return await runnable.ainvoke(value, config)
        except RuntimeError as error:
            if "event loop" not in str(error).casefold():
                raise
    return await _in_thread(lambda: runnable.invoke(value, config))


async def _in_thread(work: Callable[[], Out]) -> Out:
    """Run in a daemon thread: a pool's threads would keep the process alive after Ctrl-C."""
    loop, context = asyncio.get_running_loop(), copy_context()
    done: asyncio.Future[Out] = loop.create_future()

    def run() -> None:
        try:
            result = context.run(work)
        except BaseException as error:  # noqa: BLE001 - it is raised where it is awaited
            settle = partial(done.set_exception, error)
        else:
            settle = partial(done.set_result, result)
        with suppress(RuntimeError):  # nobody waits any more: the loop is closed
            loop.call_soon_threadsafe(lambda: None if done.done() else settle())

    threading.Thread(target=run, name="conflictscore call", daemon=True).start()
    return await done
