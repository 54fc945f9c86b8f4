"""Work that goes on after its response: scoring what was observed, and the ends of runs."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

__all__ = ["Background"]

_log = logging.getLogger(__name__)

Job = Callable[[], Coroutine[Any, Any, None]]
"""Starts the work; to be started at most once."""


class Background:
    """So many jobs at once, and so many that wait.

    Args:
        at_once: The most jobs worked on at once.
        waiting: The most that wait; one more is not taken.
        ends: The most tasks that are kept going after their responses.
        told: Called with how many wait, whenever that changes.
    """

    def __init__(
        self, *, at_once: int, waiting: int, ends: int, told: Callable[[int], None]
    ) -> None:
        self._at_once, self._most_waiting, self._told = at_once, waiting, told
        self._most_ends = ends
        self._waiting: deque[tuple[Job, Callable[[], None]]] = deque()
        self._at_work: set[asyncio.Task[None]] = set()
        self._going_on: set[asyncio.Task[Any]] = set()

    def offer(self, job: Job, given_up: Callable[[], None]) -> bool:
        """Take a job, unless too many wait.

        Args:
            job: What is to be done. What it raises is logged.
            given_up: Called in place of it where the service stops before it is begun.
        """
        if len(self._waiting) >= self._most_waiting:
            return False
        self._waiting.append((job, given_up))
        self._start()
        return True

    def keep(self, task: "asyncio.Task[Any]") -> None:
        """Let a task that is under way come to its end."""
        self._going_on.add(task)
        task.add_done_callback(self._at_its_end)

    @property
    def has_room(self) -> bool:
        """Whether one more task may be kept."""
        return len(self._going_on) < self._most_ends

    async def close(self, grace: float) -> None:
        """Let the work finish for so many seconds; then stop it, and give up what waits."""
        ends = asyncio.get_running_loop().time() + grace
        while running := self._at_work | self._going_on:
            left = ends - asyncio.get_running_loop().time()
            if left <= 0:
                break
            await asyncio.wait(running, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        while self._waiting:
            _, given_up = self._waiting.popleft()
            given_up()
        self._told(0)
        stopped = self._at_work | self._going_on
        for task in stopped:
            task.cancel()
        await asyncio.gather(*stopped, return_exceptions=True)

    def _start(self) -> None:
        while self._waiting and len(self._at_work) < self._at_once:
            job, _ = self._waiting.popleft()
            task = asyncio.create_task(job())
            self._at_work.add(task)
            task.add_done_callback(self._ended)
        self._told(len(self._waiting))

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._at_work.discard(task)
        _log_fault(task)
        self._start()

    def _at_its_end(self, task: "asyncio.Task[Any]") -> None:
        self._going_on.discard(task)
        _log_fault(task)


def _log_fault(task: "asyncio.Task[Any]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.error("a run in the background ended with %s", type(error).__name__)
