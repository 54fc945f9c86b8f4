"""Work that continues after its response: scoring observed answers."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

__all__ = ["Background"]

_log = logging.getLogger(__name__)


class Background:
    """A queue of jobs of which so many run at once, and so many wait."""

    def __init__(self, *, at_once: int, waiting: int, on_waiting: Callable[[int], None]) -> None:
        self._places, self._on_waiting = asyncio.Semaphore(at_once), on_waiting
        self._waiting, self._most_waiting, self._at_once = 0, waiting, at_once
        self._tasks: dict[asyncio.Task[None], None] = {}

    def offer(
        self, job: Callable[[], Coroutine[Any, Any, None]], given_up: Callable[[], None]
    ) -> bool:
        """Take a job, unless too many wait; ``given_up`` is called where it never starts."""
        if len(self._tasks) >= self._at_once + self._most_waiting:
            return False
        task = asyncio.create_task(self._work(job, given_up))
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)
        return True

    async def close(self, grace: float) -> None:
        """Let jobs finish for some seconds; then cancel them, and give up those that wait."""
        if tasks := [*self._tasks]:
            _, late = await asyncio.wait(tasks, timeout=grace)
            for task in filter(late.__contains__, tasks):
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _work(
        self, job: Callable[[], Coroutine[Any, Any, None]], given_up: Callable[[], None]
    ) -> None:
        self._wait(1)
        try:
            await self._places.acquire()
        except asyncio.CancelledError:
            given_up()
            raise
        finally:
            self._wait(-1)
        try:
            await job()
        except Exception as error:  # noqa: BLE001 - nobody waits for it
            _log.error("a run in the background ended with %s", type(error).__name__)
        finally:
            self._places.release()

    def _wait(self, more: int) -> None:
        self._waiting += more
        self._on_waiting(self._waiting)
