"""Waiting for work on behalf of somebody who may go away."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from fastapi import Request

from conflictscore.middleware.service.faults import RefusedError
from conflictscore.middleware.service.front import CLIENT_GONE

__all__ = ["stop", "while_there"]

T = TypeVar("T")


async def while_there(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """What the work comes to; it is stopped once the client is gone.

    Args:
        request: Whose body was read to its end.
        work: What the client waits for.

    Raises:
        RefusedError: The client is gone; nobody will read this.
    """
    task, gone = asyncio.create_task(work), asyncio.create_task(_gone(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise RefusedError(CLIENT_GONE, "the client went away")
        return task.result()
    finally:
        await stop(gone)
        await stop(task)


async def stop(task: "asyncio.Task[Any]") -> None:
    """Cancel a task, and wait until it has put its things away."""
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.exception()  # whoever wanted to know has asked


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
