"""Work side by side: blocking work off the event loop, and tasks that end together."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar

from conflictscore.errors import BudgetError, ConflictScoreError

__all__ = ["Work", "errand", "in_thread", "together"]

Work = Callable[[], Coroutine[Any, Any, None]]

Out = TypeVar("Out")


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
