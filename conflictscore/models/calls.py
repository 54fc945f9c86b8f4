"""One call of a model: shared with equal calls, made in its turn, and repeated if that may help."""

import asyncio
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Hashable,
    Iterator,
)
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from langchain_core.runnables import Runnable, RunnableConfig

from conflictscore.models.breaker import CircuitBreaker
from conflictscore.models.clients import clean_reply
from conflictscore.models.failures import Retries, transient_error
from conflictscore.models.limits import CallGate, ConcurrencyLimit
from conflictscore.threads import in_thread, on_home_loop

__all__ = ["SYNCHRONOUS", "begin", "call", "dispatch", "single_flight"]

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
    an asynchronous run whose client turns out to belong to a loop of the past.
    """
    try:
        return await begin(runnable, value, config, **parameters)
    except RuntimeError as error:
        if not _met_second_loop(error):
            raise
    with _synchronously():
        return await begin(runnable, value, config, **parameters)


def begin(
    runnable: Runnable[In, Out], value: In, config: RunnableConfig | None = None, **parameters: Any
) -> Coroutine[Any, Any, Out]:
    """Begin what :func:`call` does, without its second attempt: :func:`dispatch` makes that."""
    if SYNCHRONOUS.get():
        return in_thread(lambda: runnable.invoke(value, config, **parameters))
    return on_home_loop(lambda: runnable.ainvoke(value, config, **parameters))


def _met_second_loop(error: RuntimeError) -> bool:
    return not SYNCHRONOUS.get() and "event loop" in str(error).casefold()


@contextmanager
def _synchronously() -> Iterator[None]:
    token = SYNCHRONOUS.set(True)
    try:
        yield
    finally:
        SYNCHRONOUS.reset(token)


async def dispatch(
    send: Callable[[], Awaitable[Out]],
    *,
    limit: ConcurrencyLimit,
    caller: Hashable,
    kind: Hashable,
    gate: CallGate | None,
    retries: Retries | None,
    again: bool = False,
    waiting: Callable[[Exception], None] = lambda error: None,
) -> Out:
    """Make a call when it is its turn, and retry it if that may help.

    A call that waits for its next attempt holds no place. Nobody sends anything to a provider that
    says when to come back until then.

    Args:
        send: Makes one attempt, by :func:`begin`.
        limit: The places at the endpoint.
        caller: Takes turns with other callers for a place.
        kind: Calls of one kind take about as long as each other.
        gate: Further limits, if any.
        retries: The retry policy; None if the client retries by itself.
        again: Whether the first reply could not be read.
        waiting: Called with the error before each wait.

    Raises:
        Exception: That of the last attempt.
    """
    attempt, first_sent, breaker = 0, None, CircuitBreaker.current()
    while True:
        attempt += 1
        if not again and breaker.in_doubt:
            await breaker.decided()
        async with limit.place(caller):
            if not again and breaker.in_doubt:
                attempt -= 1
                continue  # the call that decides needs a place
            breaker.check()
            if gate:
                await gate.enter()
            began = time.monotonic()
            first_sent = began if first_sent is None else first_sent
            try:
                try:
                    reply: Out = clean_reply(await send())
                except RuntimeError as error:
                    if not _met_second_loop(error):
                        raise
                    with _synchronously():
                        reply = clean_reply(await send())
            except Exception as error:
                wait = _wait_after(error, limit, retries, attempt, began, began - first_sent)
                if wait is None:
                    raise
                waiting(error)
            else:
                limit.answered(kind, began)
                return reply
        await asyncio.sleep(wait)


def _wait_after(
    error: Exception,
    limit: ConcurrencyLimit,
    retries: Retries | None,
    attempt: int,
    began: float,
    before: float,
) -> float | None:
    """Seconds until the next attempt, None if there is none; also slows the endpoint down."""
    trouble = transient_error(error)
    if trouble is None:
        return None
    pause = limit.refused(began) if trouble.kind in {"refused", "late"} else 0.0
    if retries is None:
        return None
    wait = retries.wait(trouble, attempt, before + time.monotonic() - began)
    if wait is not None and trouble.kind == "refused":
        limit.pause(pause if trouble.after is None else wait)
    return wait


@dataclass
class _Flight:
    task: asyncio.Task[Any]
    waiting: int = 0


_Flights = dict[Hashable, _Flight]
_flights: WeakKeyDictionary[asyncio.AbstractEventLoop, _Flights] = WeakKeyDictionary()
"""Calls in flight by event loop, since a task can be awaited only in its own loop."""


@asynccontextmanager
async def single_flight(
    key: Hashable | None, work: Callable[[], Coroutine[Any, Any, Out]]
) -> AsyncIterator[tuple[Awaitable[Out], bool]]:
    """Do some work, or join the same work if it is in progress in this event loop.

    It goes on until it is done or the last waiter is cancelled, and is over by the time that this
    cancellation goes on. Nobody joins work whose ``key`` is None.

    Yields:
        An awaitable, and whether the work is done for this caller. All waiters get the same object
        or error.
    """
    if key is None:
        yield work(), True
        return
    flights = _flights.setdefault(asyncio.get_running_loop(), {})
    flight = flights.get(key)
    first = flight is None
    if flight is None:
        flight = flights[key] = _Flight(asyncio.create_task(work()))
        flight.task.add_done_callback(lambda task: _land(flights, key, task))
    flight.waiting += 1
    try:
        yield asyncio.shield(flight.task), first
    except asyncio.CancelledError:
        if flight.waiting == 1:
            _land(flights, key, flight.task)  # who asks from here on needs work of their own
            flight.task.cancel()
            await asyncio.wait([flight.task])
        raise
    finally:
        flight.waiting -= 1


def _land(flights: _Flights, key: Hashable, task: asyncio.Task[Any]) -> None:
    if key in flights and flights[key].task is task:
        del flights[key]
