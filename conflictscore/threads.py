"""Work side by side: blocking work off the event loop, tasks that end together, or in time."""

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, NamedTuple, TypeVar

from conflictscore.errors import BudgetError, ConflictScoreError, ProviderError

__all__ = ["Work", "deadline", "errand", "in_thread", "in_time", "together", "usable_cores"]

Work = Callable[[], Coroutine[Any, Any, None]]

Out = TypeVar("Out")


def usable_cores() -> int:
    """The cores that this process may use, which may be fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


async def in_thread(work: Callable[[], Out]) -> Out:
    """Run in a daemon thread, with the caller's context; a cancelled caller continues at once.

    Not in the loop's own executor: a loop that ends waits for that one's threads, and a server
    that does not answer would hold up the end of a run, after Ctrl-C too.
    """
    done: asyncio.Future[Out] = asyncio.get_running_loop().create_future()
    work_in_context = errand(partial(copy_context().run, work), done)

    def run() -> None:
        with suppress(BaseException):  # it is raised where it is awaited
            work_in_context()

    threading.Thread(target=run, name="conflictscore call", daemon=True).start()
    return await done


def errand(work: Callable[[], Out], done: "asyncio.Future[Out]") -> Callable[[], None]:
    """Work for a thread other than the event loop's, whose result the loop waits for.

    Args:
        work: What is to be done. Ctrl-C and what else ends a thread is raised there as well.
        done: Is told of the result in its own loop, unless nobody waits any more.
    """

    def run() -> None:
        ended: BaseException | None = None
        try:
            result = work()
        except (StopIteration, SystemExit, KeyboardInterrupt) as error:
            # a future takes no StopIteration, and the others would end the loop that awaits it
            said = RuntimeError(f"{type(error).__name__}: {error}".rstrip(": "))
            said.__cause__ = ended = error
            settle = partial(done.set_exception, said)
        except BaseException as error:  # noqa: BLE001 - it is raised where it is awaited
            ended, settle = error, partial(done.set_exception, error)
        else:
            settle = partial(done.set_result, result)
        with suppress(RuntimeError):  # nobody waits any more: the loop is closed
            done.get_loop().call_soon_threadsafe(lambda: None if done.done() else settle())
        if ended is not None and not isinstance(ended, Exception):
            raise ended

    return run


class _Deadline(NamedTuple):
    ends: float
    """On the monotonic clock."""
    budget: float
    """Seconds that were given to it all."""


_deadline: ContextVar[_Deadline | None] = ContextVar("conflictscore_deadline", default=None)


@contextmanager
def deadline(left: float | None, budget: float | None) -> Iterator[None]:
    """Give what is done inside, also in tasks and threads that it starts, so many seconds.

    Args:
        left: The seconds; None for no limit.
        budget: The seconds that the whole run may take, for errors.
    """
    known = None if left is None else _Deadline(time.monotonic() + left, budget or left)
    token = _deadline.set(known)
    try:
        yield
    finally:
        _deadline.reset(token)


@asynccontextmanager
async def in_time(who: str) -> AsyncIterator[None]:
    """Wait inside no longer than until the deadline; without one, as long as it takes.

    Args:
        who: Who is waited for, for the error.

    Raises:
        ProviderError: The time is up, before or while it was waited.
    """
    known = _deadline.get()
    if known is None:
        yield
        return
    late = f"{who} gave no answer within the {known.budget:g} s that the run may take"
    if (left := known.ends - time.monotonic()) <= 0:
        raise ProviderError(late, provider=who)
    limit = asyncio.timeout(left)
    try:
        async with limit:
            yield
    except TimeoutError:
        if not limit.expired():
            raise
        raise ProviderError(late, provider=who) from None


@asynccontextmanager
async def together() -> AsyncIterator[Callable[[Work], object]]:
    """Tasks that end together: where one stops with an error of ours, all stop with the first.

    A used up budget stops nobody else: what is in flight has been paid for, and every other call
    comes to the same end by itself. It is raised once all have ended.

    Yields:
        What starts a task.
    """
    stops: list[BudgetError] = []

    async def ended(work: Work) -> None:
        try:
            await work()
        except BudgetError as stop:
            stops.append(stop)

    try:
        async with asyncio.TaskGroup() as tasks:
            yield lambda work: tasks.create_task(ended(work))
    except* ConflictScoreError as errors:  # what no single one can help, such as a setting
        raise errors.exceptions[0] from None
    if stops:
        raise stops[0]
