"""Work that goes on after its response: scoring what was observed, and the ends of runs."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from conflictscore.labelers.cascade import Cascade
from conflictscore.labelers.protocol import Labeler, TableLabeler
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, EvidenceLabel

__all__ = ["Background", "PacedLabeler", "paced"]

_log = logging.getLogger(__name__)

Job = Callable[[], Coroutine[Any, Any, None]]
"""Starts the work; called at most once."""


class Background:
    """A limited number of jobs at once, and of jobs that wait.

    Args:
        at_once: The most jobs worked on at once.
        waiting: The most that wait; one more is not taken.
        ends: The most tasks that are kept going after their responses.
        on_waiting: Called with the number of waiting jobs whenever it changes.
    """

    def __init__(
        self, *, at_once: int, waiting: int, ends: int, on_waiting: Callable[[int], None]
    ) -> None:
        self._at_once, self._most_waiting, self._on_waiting = at_once, waiting, on_waiting
        self._most_ends = ends
        self._waiting: deque[tuple[Job, Callable[[], None]]] = deque()
        self._at_work: set[asyncio.Task[None]] = set()
        self._ends: set[asyncio.Task[Any]] = set()

    def offer(self, job: Job, given_up: Callable[[], None]) -> bool:
        """Take a job, unless too many wait.

        Args:
            job: The work. What it raises is logged.
            given_up: Called instead of it where the service stops before it is begun.
        """
        if len(self._waiting) >= self._most_waiting:
            return False
        self._waiting.append((job, given_up))
        self._start()
        return True

    def keep(self, task: "asyncio.Task[Any]") -> None:
        """Let a task that is under way finish."""
        self._ends.add(task)
        task.add_done_callback(self._ended)

    @property
    def has_room(self) -> bool:
        """Whether one more task may be kept."""
        return len(self._ends) < self._most_ends

    async def close(self, grace: float) -> None:
        """Give the work some seconds to finish; then stop it, and give up what waits."""
        ends = asyncio.get_running_loop().time() + grace
        while running := self._at_work | self._ends:
            left = ends - asyncio.get_running_loop().time()
            if left <= 0:
                break
            await asyncio.wait(running, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        while self._waiting:
            _, given_up = self._waiting.popleft()
            given_up()
        self._on_waiting(0)
        stopped = self._at_work | self._ends
        for task in stopped:
            task.cancel()
        await asyncio.gather(*stopped, return_exceptions=True)

    def _start(self) -> None:
        while self._waiting and len(self._at_work) < self._at_once:
            job, _ = self._waiting.popleft()
            task = asyncio.create_task(job())
            self._at_work.add(task)
            task.add_done_callback(self._ended)
        self._on_waiting(len(self._waiting))

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        self._at_work.discard(task)
        self._ends.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a run in the background ended with %s", type(error).__name__)
        self._start()


def paced(labeler: Labeler, gap: float) -> Labeler:
    """The labeler, paced where it calls pair by pair; one that batches makes few calls.

    Of a cascade, each labeler is paced.
    """
    if isinstance(labeler, Cascade):
        return labeler.with_each(lambda one: paced(one, gap))
    return labeler if isinstance(labeler, TableLabeler) else PacedLabeler(labeler, gap)


class PacedLabeler:
    """Another labeler, with a gap of at least some seconds between the starts of its calls.

    Every call needs the processor for a moment before it goes out, and there are dozens a run. All
    at once they would hold up the requests that somebody is waiting for.
    """

    def __init__(self, labeler: Labeler, gap: float) -> None:
        self._labeler, self._gap = labeler, gap
        self._next = 0.0

    @property
    def name(self) -> str:
        """The name of the other labeler."""
        return self._labeler.name

    @property
    def identity(self) -> Mapping[str, Any] | None:
        """The identity of the other labeler."""
        return self._labeler.identity

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        """Judge one pair when its turn has come."""
        now = asyncio.get_running_loop().time()
        turn = max(now, self._next)
        self._next = turn + self._gap
        await asyncio.sleep(turn - now)
        return await self._labeler.label(claim, document, meter)
