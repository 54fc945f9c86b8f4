"""Helpers for concurrent work: threads for blocking calls, groups of tasks, and deadlines."""

import asyncio
import os
import threading
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Iterator,
)
from concurrent.futures import ThreadPoolExecutor
from contextlib import (
    AbstractAsyncContextManager,
    asynccontextmanager,
    contextmanager,
    nullcontext,
    suppress,
)
from contextvars import ContextVar, copy_context
from functools import cache, partial, wraps
from typing import Any, ParamSpec, TypeVar

from conflictscore.cpu_turns import TURNS, TurnSelector
from conflictscore.errors import BudgetError, ConflictScoreError, FailureKind, ProviderError

Work = Callable[[], Coroutine[Any, Any, None]]

Item = TypeVar("Item")
Out = TypeVar("Out")
P = ParamSpec("P")


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the event loop that runs in this thread, or None if no loop runs here."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def on_event_loop() -> bool:
    """Return whether an event loop runs in this thread; if so, file access must not block it."""
    return running_loop() is not None


LONG_CHARS = 20_000
"""A text with more characters, or a request body with more bytes, is not read on an event loop that
serves other work. A shorter text blocks the loop too briefly to matter."""


_home: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("conflictscore_home", default=None)


async def on_own_loop(work: Coroutine[Any, Any, Out]) -> Out:
    """Run a coroutine that reads long texts on a separate event loop in a different thread.

    The caller's loop is not blocked. Objects that belong to the caller's loop, such as async
    clients, must be awaited through :func:`on_home_loop`. A cancelled caller does not wait for the
    coroutine. A coroutine that already runs on a separate loop stays there. Separate loops compute
    in turn (:class:`~conflictscore.cpu_turns.Turns`).
    """
    if on_separate_loop():
        return await work
    context = copy_context()
    context.run(_home.set, asyncio.get_running_loop())
    selector = TurnSelector()
    own = asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector))
    loop = own.get_loop()
    task = loop.create_task(work, context=context)

    def run() -> Out:
        try:
            with own:
                return loop.run_until_complete(task)
        finally:
            selector.give()  # this thread ends, so the turn must go to another one

    try:
        return await in_thread(run)
    except asyncio.CancelledError:
        with suppress(RuntimeError):  # already ended
            loop.call_soon_threadsafe(task.cancel)
        raise


def on_separate_loop() -> bool:
    """Return whether the running event loop is a loop of :func:`on_own_loop`."""
    return _home.get() not in (None, asyncio.get_running_loop())


async def read_in_thread(work: Callable[[], Out], chars: int) -> Out:
    """Run a function that reads texts of ``chars`` characters, without blocking the event loop.

    Functions that read long texts run in turn (:class:`~conflictscore.cpu_turns.Turns`). On a loop
    of :func:`on_own_loop`, the function runs at once, since the loop already has the turn.
    """
    if on_separate_loop():
        return work()
    return await in_thread(work if chars <= LONG_CHARS else partial(TURNS.run, work))


async def on_home_loop(work: Callable[[], Awaitable[Out]]) -> Out:
    """Await on the event loop that called :func:`on_own_loop`, or on this loop if none did."""
    home = _home.get()
    if home is None or home is asyncio.get_running_loop():
        return await work()

    async def awaited() -> Out:
        return await work()

    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(awaited(), home))


async def in_thread(work: Callable[[], Out]) -> Out:
    """Run a function in a daemon thread, with the context variables of the caller.

    A cancelled caller stops waiting at once, while the function keeps running. The event loop's
    default executor is unsuitable: a closing loop waits for the executor's threads, so a server
    that does not answer would block the end of a run, even after Ctrl-C.
    """
    done: asyncio.Future[Out] = asyncio.get_running_loop().create_future()
    work_in_context = thread_callback(partial(copy_context().run, work), done)

    def run() -> None:
        with suppress(BaseException):  # the error is raised to the caller, who awaits the future
            work_in_context()

    threading.Thread(target=run, name="conflictscore call", daemon=True).start()
    return await done


def off_loop(function: Callable[P, Out]) -> Callable[P, Out]:
    """Make a blocking function run in a different thread if it is called in an event loop's thread.

    Use it for synchronous entry points that open files. The caller waits in any case, but hosts
    such as ``langgraph dev`` refuse file access in the thread of their event loop.
    """

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> Out:
        if not on_event_loop():
            return function(*args, **kwargs)
        with ThreadPoolExecutor(1, "conflictscore opening") as threads:
            return threads.submit(copy_context().run, partial(function, *args, **kwargs)).result()

    return called


def run_once(work: Callable[[], Out]) -> Callable[[], Out]:
    """Return a function that does the work once, and then always returns the same object.

    All threads may call it.
    """
    done, lock = cache(work), threading.Lock()

    def shared() -> Out:
        with lock:  # several threads may make the first call at once
            return done()

    return shared


def thread_callback(work: Callable[[], Out], done: "asyncio.Future[Out]") -> Callable[[], None]:
    """Return a function, for use in any thread, that sets a future to the outcome of ``work``.

    KeyboardInterrupt and SystemExit are raised in that thread as well, since it may be the main
    thread, which they must end.
    """

    def run() -> None:
        ended: BaseException | None = None
        try:
            settle = partial(done.set_result, work())
        except BaseException as error:  # noqa: BLE001 - whoever awaits the future gets the error
            ended = said = error
            if isinstance(error, StopIteration | SystemExit | KeyboardInterrupt):
                # a future cannot hold StopIteration, and the other two would end the awaiting loop
                said = RuntimeError(f"{type(error).__name__}: {error}".rstrip(": "))
                said.__cause__ = error
            settle = partial(done.set_exception, said)
        # call_soon_threadsafe raises RuntimeError if the loop is already closed
        with suppress(RuntimeError):
            done.get_loop().call_soon_threadsafe(lambda: None if done.done() else settle())
        if ended is not None and not isinstance(ended, Exception):
            raise ended

    return run


_deadline: ContextVar[tuple[float, float] | None] = ContextVar(
    "conflictscore_deadline", default=None
)
"""The deadline on the monotonic clock, and the time limit of the whole run in seconds."""


@contextmanager
def deadline(left: float | None, budget: float | None) -> Iterator[None]:
    """Set a deadline for the block, and for tasks and threads started in it.

    The deadline is ``left`` seconds from now. ``budget`` is the time limit of the whole run in
    seconds, which error messages mention.
    """
    token = _deadline.set(None if left is None else (time.monotonic() + left, budget or left))
    try:
        yield
    finally:
        _deadline.reset(token)


def in_time(who: str, waits: Collection[str] = ()) -> AbstractAsyncContextManager[None]:
    """Stop the block at the current deadline, if there is one.

    ``who`` names the model or search in the error. The last entry of ``waits`` says why the call
    was waiting to be retried.

    Raises:
        ProviderError: The deadline has passed.
    """
    end_and_budget = _deadline.get()
    if end_and_budget is None:  # most calls have no deadline, and need no generator
        return nullcontext()
    return _until(*end_and_budget, who, waits)


@asynccontextmanager
async def _until(
    ends: float, budget: float, who: str, waits: Collection[str]
) -> AsyncIterator[None]:
    late = f"{who} timed out: the run may take {budget:g} s"
    if (left := ends - time.monotonic()) <= 0:
        raise ProviderError(late, provider=who, failure=FailureKind.TIMED_OUT)
    limit = asyncio.timeout(left)
    try:
        async with limit:
            yield
    except TimeoutError:
        if not limit.expired():
            raise
        why = f"; it was waiting to retry, since {tuple(waits)[-1]}" if waits else ""
        raise ProviderError(f"{late}{why}", provider=who, failure=FailureKind.TIMED_OUT) from None


@asynccontextmanager
async def together() -> AsyncIterator[
    Callable[[Callable[[], Awaitable[Any]]], "asyncio.Task[Any]"]
]:
    """Open a task group that raises a plain error instead of an exception group.

    If several tasks fail, the most important error is raised. An interrupt of LangGraph comes
    first, then an error of a different library, then an error of this package. A used-up budget
    does not cancel other tasks, since calls in flight are already paid for and further calls fail
    by themselves. The budget error is raised after all tasks have ended.
    """
    stops: list[BudgetError] = []
    failed: BaseException | None = None

    async def ended(work: Callable[[], Awaitable[Any]]) -> Any:
        try:
            return await work()
        except BudgetError as stop:
            stops.append(stop)

    try:
        async with asyncio.TaskGroup() as tasks:
            yield lambda work: tasks.create_task(ended(work))
    except BaseExceptionGroup as group:
        failed = min(_leaves(group), key=_rank)
    if failed is not None:  # outside the handler, the error keeps its cause and context
        raise failed
    if stops:
        raise stops[0]


async def at_once(works: Iterable[Callable[[], Awaitable[Out]]]) -> tuple[Out, ...]:
    """Run coroutines :func:`together`, and return their results in order."""
    async with together() as start:
        tasks = [start(work) for work in works]
    return tuple(task.result() for task in tasks)


async def each(
    items: Iterable[Item], work: Callable[[Item], Awaitable[object]], at_once: int
) -> None:
    """Process every item, at most ``at_once`` at the same time, with :func:`together`.

    Items are taken from the iterable one at a time, since there may be millions.
    """
    waiting = iter(items)

    async def worker() -> None:
        for item in waiting:
            await work(item)

    async with together() as start:
        for _ in range(at_once):
            start(worker)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    parts = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    yield from (leaf for part in parts for leaf in _leaves(part)) if parts else (error,)


def _rank(error: BaseException) -> int:
    from langgraph.errors import GraphBubbleUp  # the import takes seconds if no graph has run yet

    carried = getattr(error, "error", error)  # in a graph, the error of an answerer is wrapped
    if isinstance(carried, GraphBubbleUp):
        return 0
    return 2 if isinstance(error, ConflictScoreError) else 1
