"""Work that continues after its response: scoring observed answers."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from conflictscore.labelers.cascade import Cascade
from conflictscore.labelers.protocol import Labeler, StagedLabeler, TableLabeler
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, EvidenceLabel

__all__ = ["Background", "PacedLabeler", "paced"]

_log = logging.getLogger(__name__)

Job = Callable[[], Coroutine[Any, Any, None]]
"""Starts the work; called at most once."""


class Background:
    """A bounded queue of jobs.

    Args:
        at_once: The most jobs that run at once.
        waiting: The most that wait; one more is not taken.
        on_waiting: Called with the number of waiting jobs whenever it changes.
    """

    def __init__(self, *, at_once: int, waiting: int, on_waiting: Callable[[int], None]) -> None:
        self._at_once, self._most_waiting, self._on_waiting = at_once, waiting, on_waiting
        self._waiting: deque[tuple[Job, Callable[[], None]]] = deque()
        self._running: set[asyncio.Task[None]] = set()

    def offer(self, job: Job, given_up: Callable[[], None]) -> bool:
        """Take a job, unless too many wait.

        Args:
            job: The work. Its errors are logged.
            given_up: Called instead where the service stops before the job starts.
        """
        if len(self._waiting) >= self._most_waiting:
            return False
        self._waiting.append((job, given_up))
        self._start()
        return True

    async def close(self, grace: float) -> None:
        """Let jobs finish for some seconds; then cancel them, and give up those that wait."""
        ends = asyncio.get_running_loop().time() + grace
        while self._running:  # a job that ends starts the next
            left = ends - asyncio.get_running_loop().time()
            if left <= 0:
                break
            await asyncio.wait(self._running, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        while self._waiting:
            _, given_up = self._waiting.popleft()
            given_up()
        self._on_waiting(0)
        stopped = set(self._running)
        for task in stopped:
            task.cancel()
        await asyncio.gather(*stopped, return_exceptions=True)

    def _start(self) -> None:
        while self._waiting and len(self._running) < self._at_once:
            job, _ = self._waiting.popleft()
            task = asyncio.create_task(job())
            self._running.add(task)
            task.add_done_callback(self._ended)
        self._on_waiting(len(self._waiting))

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a run in the background ended with %s", type(error).__name__)
        self._start()


def paced(labeler: Labeler, gap: float) -> Labeler:
    """Pace a labeler that makes a call for each pair; one that batches makes few calls.

    Of a cascade, each labeler is paced.
    """
    if isinstance(labeler, Cascade):
        return labeler.with_each(lambda one: paced(one, gap))
    return (
        labeler if isinstance(labeler, TableLabeler | StagedLabeler) else PacedLabeler(labeler, gap)
    )


class PacedLabeler:
    """Another labeler with a gap of at least ``gap`` seconds between the starts of its calls.

    Preparing a call takes processor time, and a run has dozens of them. All at once they would
    delay the requests that a user is waiting for.
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
        """Label one pair after the gap."""
        now = asyncio.get_running_loop().time()
        turn = max(now, self._next)
        self._next = turn + self._gap
        await asyncio.sleep(turn - now)
        return await self._labeler.label(claim, document, meter)
