"""A circuit breaker: a step all of whose calls fail for one reason makes no more of them."""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar

from conflictscore.errors import ConflictScoreError

__all__ = ["CircuitBreaker"]

_FAILURES = 3
"""Two calls may fail alike by chance."""


class CircuitBreaker:
    """Watches the calls of one step, such as labelling the pairs of an answer.

    One call that succeeds closes it for good. Once several calls have failed for the same reason,
    and none has succeeded, every further call fails for that reason without being made.
    """

    _watching: "ContextVar[CircuitBreaker | None]" = ContextVar(
        "conflictscore_breaker", default=None
    )

    def __init__(self) -> None:
        self._reasons = Counter[str]()
        self._proved = False
        self._error: ConflictScoreError | None = None
        self._asking_again = asyncio.Lock()

    @classmethod
    def current(cls) -> "CircuitBreaker":
        """The breaker of the step that calls, or one that watches this call alone."""
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
        """Raise the error for which no more calls are made, if there is one."""
        if self._error is not None:
            raise self._error.with_traceback(None)

    def succeeded(self) -> None:
        """Report a call with a reply that could be read."""
        self._proved, self._error = True, None

    def failed(self, error: ConflictScoreError) -> None:
        """Report a call that failed in the end."""
        # without its numbers, which differ from call to call
        self._reasons[re.sub(r"\d+", "#", str(error))] += 1
        alike = len(self._reasons) == 1 and self._reasons.total() >= _FAILURES
        if alike and not self._proved:
            self._error = self._error or error

    @asynccontextmanager
    async def again(self) -> AsyncIterator[None]:
        """Ask again inside, one call after the other until one has succeeded."""
        async with self._asking_again:
            self.check()
            if not self._proved:
                yield
                return
        yield
