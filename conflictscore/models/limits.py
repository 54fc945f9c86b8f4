"""Limits the number of calls in flight to an endpoint."""

import asyncio
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Hashable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass

from conflictscore.threads import running_loop


@dataclass(eq=False)
class _Waiter:
    """A call waiting for a slot, which another thread or event loop may grant."""

    loop: asyncio.AbstractEventLoop
    place: asyncio.Future[None]
    has_place: bool = False


class ConcurrencyLimit:
    """A limit on calls in flight, shared by all graphs, runs, threads and event loops.

    The limit varies between 1 and ``calls``. It grows by one after every N answers, where N is the
    current limit. It halves when the endpoint refuses a call or times out. The limit follows TCP's
    rule (additive increase, multiplicative decrease; Chiu and Jain, 1989). Callers get slots in
    turn, so a caller with many calls does not delay the first call of another. Calls from the same
    caller are made in the order in which they arrive.
    """

    _by_endpoint: "dict[tuple[str, int], ConcurrencyLimit]" = {}  # noqa: RUF012 - process-wide

    def __init__(self, calls: int) -> None:
        self.calls = calls
        self._size = float(calls)
        self._shrunk_at, self._resumes_at, self._held = float("-inf"), 0.0, 0
        self._refusals = 0
        self._waiting: OrderedDict[Hashable, deque[_Waiter]] = OrderedDict()
        # reentrant, since a coroutine may be garbage-collected and release its slot at any time
        self._lock = threading.RLock()

    @classmethod
    def shared(cls, endpoint: str, calls: int) -> "ConcurrencyLimit":
        """Return an endpoint's limit, shared by all callers in the process with this maximum."""
        return cls._by_endpoint.setdefault((endpoint, calls), cls(calls))

    @property
    def allowed(self) -> int:
        """The number of calls that may be in flight now, from 1 to ``calls``."""
        return int(self._size)

    @property
    def refusals(self) -> int:
        """The number of refusals and timeouts since the last answer.

        Calls that were in flight together count only once.
        """
        return self._refusals

    def place(self, caller: Hashable = None) -> AbstractAsyncContextManager[None]:
        """Wait until a slot is free and the endpoint is not paused, then hold the slot."""
        return _Place(self, caller)

    def answered(self) -> None:
        """Report that a call was answered just now."""
        with self._lock:
            self._size = min(self.calls, self._size + 1 / self._size)
            self._refusals = 0

    def refused(self, began: float) -> None:
        """Report that a call sent at ``began`` (monotonic clock) was refused or timed out."""
        with self._lock:
            if began > self._shrunk_at:  # calls sent before the last decrease reveal nothing new
                self._size, self._shrunk_at = max(1.0, self._size / 2), time.monotonic()
                self._refusals += 1

    def pause(self, seconds: float) -> None:
        """Send no calls for this many seconds; calls in flight continue."""
        with self._lock:
            self._resumes_at = max(self._resumes_at, time.monotonic() + seconds)

    async def resumed(self) -> None:
        """Wait until the endpoint is not paused."""
        while (seconds_left := self._resumes_at - time.monotonic()) > 0:  # noqa: ASYNC110 - a fixed time
            await asyncio.sleep(seconds_left)

    async def acquire(self, caller: Hashable) -> None:
        """Take a free slot, or wait in the caller's line; nobody overtakes calls that wait."""
        loop = asyncio.get_running_loop()
        with self._lock:
            if not self._waiting and self._held < self.allowed:
                self._held += 1
                return
            waiter = _Waiter(loop, loop.create_future())
            self._waiting.setdefault(caller, deque()).append(waiter)
        try:
            await waiter.place
        except BaseException:  # also if the call is cancelled
            self._withdraw(caller, waiter)
            raise

    def _withdraw(self, caller: Hashable, waiter: _Waiter) -> None:
        """Remove a cancelled call from its line, or pass on the slot that it was just given."""
        with self._lock:
            line = self._waiting.get(caller, deque())
            if waiter.has_place:
                self.release()
            elif waiter in line:
                line.remove(waiter)
                if not line:
                    del self._waiting[caller]

    def release(self) -> None:
        """Free a slot, and give free slots to callers in turn; a served caller moves to the end."""
        with self._lock:
            self._held -= 1
            while self._waiting and self._held < self.allowed:
                caller, line = self._waiting.popitem(last=False)
                waiter = line.popleft()
                if line:
                    self._waiting[caller] = line
                waiter.has_place = _hand_place_to(waiter)
                self._held += waiter.has_place


class _Place:
    """The context of :meth:`ConcurrencyLimit.place`; a generator would cost every call more."""

    __slots__ = ("_caller", "_limit")

    def __init__(self, limit: ConcurrencyLimit, caller: Hashable) -> None:
        self._limit, self._caller = limit, caller

    async def __aenter__(self) -> None:
        await self._limit.acquire(self._caller)
        try:
            await self._limit.resumed()
        except BaseException:  # also if the call is cancelled
            self._limit.release()
            raise

    async def __aexit__(self, *exc_details: object) -> None:
        self._limit.release()


def _hand_place_to(waiter: _Waiter) -> bool:
    """Give a waiter a slot, which it must release. Return False if its event loop is closed."""
    if waiter.loop is running_loop():  # no need to wake it, which would cost a system call
        _settle(waiter)
        return True
    with suppress(RuntimeError):  # its loop is closed, so the call no longer waits
        waiter.loop.call_soon_threadsafe(_settle, waiter)
        return True
    return False


def _settle(waiter: _Waiter) -> None:
    if not waiter.place.done():
        waiter.place.set_result(None)
