"""Blocking work off the event loop."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

__all__ = ["in_thread"]

Out = TypeVar("Out")


async def in_thread(work: Callable[[], Out]) -> Out:
    """Run in a daemon thread; a caller that is cancelled goes on at once, without the result.

    Not in the loop's own executor: a loop that ends waits for that one's threads, and a name
    server that does not answer would hold up the end of a run.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Out] = loop.create_future()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - it is raised where it is awaited
            settle = partial(done.set_exception, error)
        else:
            settle = partial(done.set_result, result)
        with suppress(RuntimeError):  # nobody waits any more: the loop is closed
            loop.call_soon_threadsafe(lambda: None if done.done() else settle())

    threading.Thread(target=run, name="conflictscore page", daemon=True).start()
    return await done
