"""Limits that calls wait for: concurrency at the endpoint, and the budget of the run."""

import asyncio
import threading
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from langchain_core.rate_limiters import BaseRateLimiter

__all__ = ["CallGate", "ConcurrencyLimit", "CongestionWindow"]

_GENTLY, _HARD = 0.8, 0.5
_REST_S = 2.0
"""Between two gentle decreases at least, so that stray refusals do not add up to a standstill."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S, _DOUBLINGS = 0.5, 15.0, 5
_SLOW = 2.0
"""Answers that take this many times as long as usual, on average, are a sign of congestion."""
_SLOWEST = 4.0
"""Cap on one response time, so that a single straggler is not taken for a trend."""
_SMOOTHING = 0.1
_LEARNING = 20
"""Answers of a kind after which it is known how long one takes."""
_MEMORY = 100


@dataclass(eq=False)
class _Waiter:
    loop: asyncio.AbstractEventLoop
    place: asyncio.Future[None]
    has_place: bool = False


class ConcurrencyLimit:
    """A bound on calls in flight that all graphs, runs, threads and event loops share.

    It adapts between ``least`` and ``calls``: places become fewer while the endpoint refuses calls
    or slows down, and return while it answers. Callers take turns, so that one with many calls to
    make does not keep another's first call waiting; each one's calls go in the order of asking.
    """

    _by_endpoint: "dict[tuple[str, int], ConcurrencyLimit]" = {}  # noqa: RUF012 - process-wide

    def __init__(self, calls: int, *, least: int = 1) -> None:
        self.calls = calls
        self._window = CongestionWindow(calls, least)
        self._held = 0
        self._resumes_at = 0.0
        self._waiting: OrderedDict[Hashable, deque[_Waiter]] = OrderedDict()
        # a coroutine that is collected with its loop gives its place back whatever goes on here
        self._lock = threading.RLock()

    @classmethod
    def shared(cls, endpoint: str, calls: int, *, least: int = 1) -> "ConcurrencyLimit":
        """The process-wide limit of an endpoint."""
        return cls._by_endpoint.setdefault((endpoint, calls), cls(calls, least=least))

    @property
    def allowed(self) -> int:
        """The calls that may be in flight now, 1 to ``calls``."""
        return self._window.allowed

    @asynccontextmanager
    async def place(self, caller: Hashable = None) -> AsyncIterator[None]:
        """Wait for a place, and until the endpoint may be asked again; then hold the place."""
        await self._acquire(caller)
        try:
            while (left := self._resumes_at - time.monotonic()) > 0:  # noqa: ASYNC110 - a known time
                await asyncio.sleep(left)
            yield
        finally:
            self._release()

    def answered(self, kind: Hashable, began: float) -> None:
        """A call of this kind, sent at a time of the monotonic clock, was answered just now."""
        with self._lock:
            self._window.answered(kind, began, time.monotonic())

    def refused(self, began: float) -> float:
        """A call was refused just now, or not answered in time.

        Returns:
            Seconds for which nothing should be sent.
        """
        with self._lock:
            return self._window.refused(began, time.monotonic())

    def pause(self, seconds: float) -> None:
        """Send nothing more for so long; what is in flight goes on."""
        with self._lock:
            self._resumes_at = max(self._resumes_at, time.monotonic() + seconds)

    async def _acquire(self, caller: Hashable) -> None:
        loop = asyncio.get_running_loop()
        with self._lock:
            if not self._waiting and self._held < self._window.allowed:
                self._held += 1
                return
            waiter = _Waiter(loop, loop.create_future())
            self._waiting.setdefault(caller, deque()).append(waiter)
        try:
            await waiter.place
        except BaseException:
            self._withdraw(caller, waiter)
            raise

    def _withdraw(self, caller: Hashable, waiter: _Waiter) -> None:
        with self._lock:
            line = self._waiting.get(caller, deque())
            if waiter.has_place:
                self._release()
            elif waiter in line:
                line.remove(waiter)
                if not line:
                    del self._waiting[caller]

    def _release(self) -> None:
        with self._lock:
            self._held -= 1
            while self._waiting and self._held < self._window.allowed:
                caller, line = self._waiting.popitem(last=False)
                waiter = line.popleft()
                if line:
                    self._waiting[caller] = line
                waiter.has_place = _hand_place_to(waiter)
                self._held += waiter.has_place


def _hand_place_to(waiter: _Waiter) -> bool:
    """Whether it will learn that it has a place, which it then has to give back."""

    def settle() -> None:
        if not waiter.place.done():
            waiter.place.set_result(None)

    try:
        if asyncio._get_running_loop() is waiter.loop:  # which need not be woken for it
            waiter.loop.call_soon(settle)
        else:
            waiter.loop.call_soon_threadsafe(settle)
    except RuntimeError:  # its loop is closed, and nobody waits there any more
        return False
    return True


@dataclass
class _UsualTime:
    seconds: float = 0.0
    answers: int = 0


class CongestionWindow:
    """How many calls an endpoint takes well, from ``least`` to ``most``, where it starts.

    One more while it answers, a part fewer when not: the rule is TCP's (additive increase,
    multiplicative decrease; Chiu and Jain, 1989). A refusal, a call without an answer and answers
    that take much longer than calls of their kind used to are signs of congestion. Calls sent
    before the last such sign say nothing new and are ignored. Not safe for threads by itself.
    """

    def __init__(self, most: int, least: int = 1) -> None:
        self._most, self._least = most, least
        self._size = float(most)
        self._shrunk_at = self._refused_at = float("-inf")
        self._rounds = 0
        self._slowness = 1.0
        self._usual: dict[Hashable, _UsualTime] = {}

    @property
    def allowed(self) -> int:
        """Calls that may be in flight now."""
        return int(self._size)

    def answered(self, kind: Hashable, began: float, now: float) -> None:
        """A call was answered; ``began`` and ``now`` are seconds of a steady clock.

        Calls of one ``kind`` are expected to take about as long as each other.
        """
        self._rounds = 0
        if self._is_slow(kind, now - began) and began > self._shrunk_at:
            self._slowness = 1.0
            self._shrink_gently(now)
        else:
            self._size = min(self._most, self._size + 1 / self._size)

    def refused(self, began: float, now: float) -> float:
        """A call was refused, or not answered in time.

        Returns:
            Seconds for which nothing should be sent: 0 unless one round of calls after the other
            is refused with no answer between them.
        """
        if began <= max(self._shrunk_at, self._refused_at):
            return 0.0
        self._refused_at = now
        self._rounds += 1
        if self._rounds == 1:
            self._shrink_gently(now)
            return 0.0
        self._shrink(_HARD, now)
        doubled = _FIRST_PAUSE_S * 2.0 ** min(self._rounds - 1, _DOUBLINGS)
        return min(_LONGEST_PAUSE_S, doubled)

    def _shrink_gently(self, now: float) -> None:
        if now - self._shrunk_at >= _REST_S:
            self._shrink(_GENTLY, now)

    def _shrink(self, by: float, now: float) -> None:
        self._size = max(self._least, self._size * by)
        self._shrunk_at = now

    def _is_slow(self, kind: Hashable, seconds: float) -> bool:
        usual = self._usual.setdefault(kind, _UsualTime())
        known = usual.answers >= _LEARNING and usual.seconds > 0
        if known:
            times = min(_SLOWEST, seconds / usual.seconds)
            self._slowness += _SMOOTHING * (times - self._slowness)
        usual.answers = min(_MEMORY, usual.answers + 1)
        usual.seconds += (seconds - usual.seconds) / usual.answers
        return known and self._slowness > _SLOW


@dataclass(frozen=True)
class CallGate:
    """Holds every attempt at a call until it may be sent."""

    admit: Callable[[], None]
    """Called last, when the wait is over; raises if no call may be made."""
    own: BaseRateLimiter | None = None
    """Rate limiter that the chat model came with."""

    async def enter(self) -> None:
        """Wait for one's turn."""
        if self.own is not None:
            await self.own.aacquire()
        self.admit()
