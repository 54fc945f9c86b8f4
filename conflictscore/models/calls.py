"""One call of a model: made in its turn, and repeated if that may help."""

import asyncio
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from langchain_core.runnables import Runnable, RunnableConfig

from conflictscore.errors import ConflictScoreError
from conflictscore.models.clients import clean_reply
from conflictscore.models.failures import Retries, transient_error
from conflictscore.models.limits import ConcurrencyLimit
from conflictscore.threads import in_thread, on_home_loop

In = TypeVar("In")
Out = TypeVar("Out")

SYNCHRONOUS: ContextVar[bool] = ContextVar("conflictscore_synchronous", default=False)
"""Whether the graph was invoked synchronously."""


async def call(
    runnable: Runnable[In, Out], value: In, config: RunnableConfig | None = None, **parameters: Any
) -> Out:
    """Call a runnable synchronously or asynchronously, as its caller was called.

    An async client belongs to the event loop that it was first used in. A model or retriever that
    a caller uses in a loop of their own, and hands to a graph that they then invoke synchronously,
    would meet a second loop. So a synchronous run calls ``invoke``, in a worker thread; and so does
    an asynchronous run whose client belongs to a loop of the past, as after ``asyncio.run``.
    """
    if not SYNCHRONOUS.get():
        try:
            return await on_home_loop(lambda: runnable.ainvoke(value, config, **parameters))
        except RuntimeError as error:
            if "event loop" not in str(error).casefold():
                raise
    return await in_thread(lambda: runnable.invoke(value, config, **parameters))


async def dispatch(
    send: Callable[[], Awaitable[Out]],
    *,
    limit: ConcurrencyLimit,
    caller: Hashable,
    admit: Callable[[], None] | None,
    retries: Retries | None,
    waiting: Callable[[Exception], None] = lambda error: None,
) -> Out:
    """Make a call when it is its turn, and retry it if that may help; raises the last error.

    A call that waits for its next attempt holds no place. Nobody sends anything to a provider that
    says when to come back until then. Callers take turns; ``admit`` is called before each attempt,
    and ``waiting``, with the error, before each wait.
    """
    attempt, first_sent, breaker = 0, None, CircuitBreaker.current()
    while True:
        await breaker.decided()
        async with limit.place(caller):
            if breaker.in_doubt:
                continue  # the call that decides needs a place
            attempt += 1
            breaker.check()
            if admit:
                admit()
            began = time.monotonic()
            first_sent = began if first_sent is None else first_sent
            try:
                reply: Out = clean_reply(await send())
            except Exception as error:
                trouble = transient_error(error)
                if trouble is None:
                    raise
                if trouble.kind in {"refused", "late"}:
                    limit.refused(began)
                spent = time.monotonic() - first_sent
                wait = retries.wait(trouble, attempt, spent) if retries else None
                if wait is None:
                    raise
                if trouble.after is not None and trouble.kind == "refused":
                    limit.pause(wait)
                waiting(error)
            else:
                limit.answered()
                return reply
        await asyncio.sleep(wait)


# A step all of whose calls fail for one reason makes no more of them.

_FAILURES = 3
"""Two calls may fail alike by chance."""


class CircuitBreaker:
    """Watches the calls of one step, such as labelling the pairs of an answer.

    One call that succeeds closes it for good. Once several calls have failed for the same reason,
    and none has succeeded, every further call fails for that reason without being made. Where
    several first replies cannot be read, no other call is made while they are asked again.
    """

    _watching: "ContextVar[CircuitBreaker | None]" = ContextVar(
        "conflictscore_breaker", default=None
    )

    def __init__(self) -> None:
        self._doubts, self._failures = Counter[str](), Counter[str]()
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
        self._failures[_reason(error)] += 1
        if self._all_alike(self._failures):
            self._error = self._error or error

    @property
    def in_doubt(self) -> bool:
        """Whether a call that is asked again is to decide first if any other is made."""
        alike = self._error is None and self._all_alike(self._doubts)
        return alike and self._asking_again.locked()

    async def decided(self) -> None:
        """Wait until it is no longer in doubt."""
        while self.in_doubt:
            async with self._asking_again:
                pass

    def _all_alike(self, reasons: Counter[str]) -> bool:
        return not self._proved and len(reasons) == 1 and reasons.total() >= _FAILURES

    @asynccontextmanager
    async def again(self, error: ConflictScoreError) -> AsyncIterator[None]:
        """Ask again after a reply that could not be read, one call at a time until one can be.

        Nothing inside waits for what this call decides.
        """
        self._doubts[_reason(error)] += 1
        async with self._asking_again:
            self.check()
            if not self._proved:
                with CircuitBreaker().watching():
                    yield
                return
        yield


def _reason(error: ConflictScoreError) -> str:
    """Why a call failed, without its numbers, which differ from call to call."""
    return re.sub(r"\d+", "#", str(error))
