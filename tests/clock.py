"""A clock that a test moves forward, so that a time budget ends without waiting.

Import the fixture where it is needed.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from weakref import WeakSet

import pytest


class Clock:
    """The clock of event loops and of the monotonic time: the machine's time plus skipped time.

    The machine's own time still counts, so a budget must be far above it.
    """

    def __init__(self) -> None:
        self._skipped = 0.0
        self._loops: WeakSet[asyncio.BaseEventLoop] = WeakSet()
        self._lock = threading.Lock()

    def skip(self, seconds: float) -> None:
        """Move the clock forward, from any thread; waiting event loops notice it at once."""
        with self._lock:
            self._skipped += seconds
            loops = [*self._loops]
        for loop in loops:
            with suppress(RuntimeError):  # it is closed
                loop.call_soon_threadsafe(lambda: None)

    def read_by(self, loop: asyncio.BaseEventLoop) -> float:
        """The time for an event loop, which :meth:`skip` wakes from then on."""
        with self._lock:
            self._loops.add(loop)
        return time.monotonic()

    def ahead_of(self, read: Callable[[], float]) -> Callable[[], float]:
        """A clock of the machine, plus the skipped time."""
        return lambda: read() + self._skipped


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock that replaces the machine's for this test."""
    clock = Clock()
    monkeypatch.setattr(time, "monotonic", clock.ahead_of(time.monotonic))
    monkeypatch.setattr(time, "perf_counter", clock.ahead_of(time.perf_counter))
    monkeypatch.setattr(asyncio.BaseEventLoop, "time", lambda loop: clock.read_by(loop))
    return clock
