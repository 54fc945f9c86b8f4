"""Stops a step from making further calls when all of them fail for the same reason."""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar

from conflictscore.errors import ConflictScoreError

_FAILURES = 3
"""Failures needed to stop, since two calls may fail alike by chance."""


class CircuitBreaker:
    """Watches the calls of one step, such as labelling the pairs of an answer.

    If several calls have failed for the same reason and none has succeeded, every further call
    fails for that reason without being made. A single success disables this for good. While several
    unreadable first replies are requested again, no other call is made.
    """

    _watching: "ContextVar[CircuitBreaker | None]" = ContextVar(
        "conflictscore_breaker", default=None
    )

    def __init__(self) -> None:
        self._doubts, self._failures = Counter[str](), Counter[str]()
        self._proved = False
        self._error: ConflictScoreError | None = None
        self._asking_again = asyncio.Lock()
        self._unsettled = 0

    @classmethod
    def current(cls) -> "CircuitBreaker":
        """The current step's breaker, or a new one for this call only."""
        return cls._watching.get() or cls()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch the calls made inside, also in tasks started there."""
        token = self._watching.set(self)
        try:
            yield
        finally:
            self._watching.reset(token)

    def check(self) -> None:
        """Raise the error that stops further calls, if there is one."""
        if self._error is not None:
            raise self._error.with_traceback(None)

    def succeeded(self) -> None:
        """Report a call with a readable reply."""
        self._proved, self._error = True, None

    def failed(self, error: ConflictScoreError) -> None:
        """Report a call that failed after all attempts."""
        self._failures[_reason(error)] += 1
        if self._all_alike(self._failures):
            self._error = self._error or error

    @property
    def in_doubt(self) -> bool:
        """Whether repeated requests must finish before other calls are made.

        The lock does not show this: it is free for a moment when one of several such requests ends.
        """
        alike = self._error is None and self._all_alike(self._doubts)
        return alike and self._unsettled > 0

    async def decided(self) -> None:
        """Wait until such requests have finished."""
        while self.in_doubt:
            async with self._asking_again:
                pass

    def _all_alike(self, reasons: Counter[str]) -> bool:
        return not self._proved and len(reasons) == 1 and reasons.total() >= _FAILURES

    @asynccontextmanager
    async def again(self, error: ConflictScoreError) -> AsyncIterator[None]:
        """Request an unreadable reply again, one call at a time until one is readable.

        Calls made inside do not wait for this decision.
        """
        self._doubts[_reason(error)] += 1
        self._unsettled += 1
        try:
            async with self._asking_again:
                self.check()
                if not self._proved:
                    with CircuitBreaker().watching():
                        yield
                    return
            yield
        finally:
            self._unsettled -= 1


def _reason(error: ConflictScoreError) -> str:
    """Why a call failed, with numbers removed, since they differ between calls."""
    return re.sub(r"\d+", "#", str(error))
