"""Makes a call to a model: waits for its turn, and retries it if that may help.

Limits without a stated reason were chosen by hand.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from contextvars import ContextVar
from typing import Any, TypeVar

from langchain_core.runnables import Runnable, RunnableConfig

from conflictscore.models.breaker import CircuitBreaker
from conflictscore.models.clients import clean_reply
from conflictscore.models.limits import ConcurrencyLimit
from conflictscore.models.retries import Retries, TransientError, transient_error
from conflictscore.threads import in_thread, on_home_loop

In = TypeVar("In")
Out = TypeVar("Out")

_PATIENT_ATTEMPTS = 3
"""From this attempt on, a refused call makes all calls to the endpoint wait. Earlier refusals may
only mean that too many calls were in flight, and the limit has been lowered since.
"""
SYNCHRONOUS: ContextVar[bool] = ContextVar("conflictscore_synchronous", default=False)
"""Whether the graph was invoked synchronously."""


async def call(
    runnable: Runnable[In, Out],
    runnable_input: In,
    config: RunnableConfig | None = None,
    **parameters: Any,
) -> Out:
    """Call a runnable synchronously in a synchronous run, otherwise asynchronously.

    An async client belongs to the event loop of its first use. A caller may use a model or
    retriever in their own loop and later invoke a graph synchronously. An async call would then use
    the client in a second loop. So a synchronous run calls ``invoke`` in a worker thread. An
    asynchronous run does the same if the client belongs to a closed loop, as after ``asyncio.run``.
    A run that reads long texts has a loop of its own, so the client is called on its caller's loop.
    """
    if not SYNCHRONOUS.get():
        try:
            return await on_home_loop(
                lambda: runnable.ainvoke(runnable_input, config, **parameters)
            )
        except RuntimeError as error:
            # asyncio and the clients raise plain RuntimeErrors here, which differ only in their
            # messages
            if "event loop" not in str(error).casefold():
                raise
    return await in_thread(lambda: runnable.invoke(runnable_input, config, **parameters))


async def dispatch(
    send: Callable[[], Awaitable[Out]],
    *,
    limit: ConcurrencyLimit,
    caller: Hashable,
    admit: Callable[[], None] | None,
    retries: Retries | None,
    waiting: Callable[[Exception], None] = lambda error: None,
) -> Out:
    """Wait until a call may start, then make it; retry if that may help, else raise the last error.

    A call that waits for its next attempt holds no slot. If a provider says when to try again, no
    call is sent to it before that time. Callers get slots in turn. ``admit`` is called before each
    attempt. ``waiting`` is called with the error before each wait.
    """
    attempt, first_sent, breaker = 0, None, CircuitBreaker.current()
    while True:
        await breaker.decided()
        async with limit.place(caller):
            if breaker.in_doubt:
                continue  # release the slot for the repeated requests
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
                # a lost connection or a server error does not mean that there were too many calls
                if trouble.kind in {"refused", "late"}:
                    limit.refused(began)
                seconds_spent = time.monotonic() - first_sent
                # only refused calls may be repeated any number of times
                refusals = limit.refusals if trouble.kind == "refused" else 0
                wait = retries.wait(trouble, attempt, seconds_spent, refusals) if retries else None
                if wait is None:
                    raise
                if _is_let_rest(trouble, attempt, limit):
                    limit.pause(wait)
                waiting(error)
            else:
                limit.answered()
                return reply
        await asyncio.sleep(wait)


def _is_let_rest(trouble: TransientError, attempt: int, limit: ConcurrencyLimit) -> bool:
    """Return whether a failed call makes all calls to its provider wait as well.

    All calls wait if the refusal says when to try again, if one call has been refused repeatedly,
    or if only one call at a time is allowed.
    """
    if trouble.kind != "refused":
        return False
    return trouble.after is not None or attempt >= _PATIENT_ATTEMPTS or limit.allowed == 1
