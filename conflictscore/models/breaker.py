"""Stops the calls of a step if all calls so far have failed for the same reason.

Limits without a stated reason were chosen by hand.
"""

import asyncio
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager
from contextvars import ContextVar

from conflictscore.errors import ConflictScoreError

_FAILURES = 3
"""Number of failures after which a step is stopped. Two calls may fail for the same reason by
chance.
"""


class CircuitBreaker:
    """Watches the calls of one step, such as labelling the pairs of an answer.

    If several calls have failed for the same reason and none has succeeded, no further call is
    sent: each raises the first error. After one success, the breaker never stops a call, since the
    key, the model and the format are then known to work, and later failures are retried and
    recorded call by call. If the first replies are all unreadable for the same reason, their
    requests are repeated before any other call is made.
    """

    _watching: "ContextVar[CircuitBreaker | None]" = ContextVar(
        "conflictscore_breaker", default=None
    )

    def __init__(self) -> None:
        self._doubts: dict[str, int] = defaultdict(int)
        self._failures: dict[str, int] = defaultdict(int)
        self._proved = False
        self._error: ConflictScoreError | None = None
        self._asking_again = asyncio.Lock()  # a doubtful endpoint gets one test call at a time
        self._unsettled = 0

    @classmethod
    def current(cls) -> "CircuitBreaker":
        """Return the current step's breaker; outside a step, a new breaker for a single call."""
        return cls._watching.get() or cls()

    def watching(self) -> AbstractContextManager[None]:
        """Watch the calls made inside the context, including calls in tasks started there."""
        return _Watching(self, self._watching)

    def watch_task(self) -> None:
        """Watch all further calls of the current task, including calls in tasks that it starts."""
        self._watching.set(self)

    def check(self) -> None:
        """Raise the error that stops further calls, if there is one."""
        if self._error is not None:
            # raised again and again, the error would otherwise collect the frames of all callers
            raise self._error.with_traceback(None)

    def succeeded(self) -> None:
        """Record that a call returned a readable reply."""
        self._proved, self._error = True, None

    def failed(self, error: ConflictScoreError) -> None:
        """Record that all attempts at a call have failed."""
        self._failures[_reason(error)] += 1
        if self._all_alike(self._failures):
            self._error = self._error or error

    @property
    def in_doubt(self) -> bool:
        """Whether repeated requests must finish before other calls are made.

        The lock alone does not show whether repeated requests have finished, since it is briefly
        free between two of them.
        """
        alike = self._error is None and self._all_alike(self._doubts)
        return alike and self._unsettled > 0

    async def decided(self) -> None:
        """Wait until the repeated requests have finished."""
        while self.in_doubt:
            async with self._asking_again:
                pass

    def _all_alike(self, counts: Mapping[str, int]) -> bool:
        # a wrong key, address or model fails every call alike; different reasons have no such cause
        if self._proved or len(counts) != 1:
            return False
        return sum(counts.values()) >= _FAILURES

    @asynccontextmanager
    async def again(self, error: ConflictScoreError) -> AsyncIterator[None]:
        """Return a context in which to repeat the request that got an unreadable reply.

        Until the first readable reply, repeated requests run one at a time. Calls made inside the
        context never wait in :meth:`decided`.
        """
        self._doubts[_reason(error)] += 1
        self._unsettled += 1
        try:
            async with self._asking_again:
                self.check()
                if not self._proved:  # otherwise no call waits for the endpoint to prove itself
                    # The caller reports the outcome to this breaker. The inner breaker only keeps
                    # the repeated request from waiting for itself.
                    with CircuitBreaker().watching():
                        yield
                    return
            yield
        finally:
            self._unsettled -= 1


class _Watching:
    """The context of :meth:`CircuitBreaker.watching`; a generator would cost every pair more."""

    __slots__ = ("_breaker", "_current", "_token")

    def __init__(
        self, breaker: CircuitBreaker, current: "ContextVar[CircuitBreaker | None]"
    ) -> None:
        self._breaker, self._current = breaker, current

    def __enter__(self) -> None:
        self._token = self._current.set(self._breaker)

    def __exit__(self, *exc_details: object) -> None:
        self._current.reset(self._token)


def _reason(error: ConflictScoreError) -> str:
    """Return the reason for a failure, without numbers (they differ from call to call)."""
    return re.sub(r"\d+", "#", str(error))
