"""A synchronous caller's thread: it waits for the loop, and runs work that belongs in it."""

import threading
from contextvars import ContextVar

import pytest

from conflictscore.graph.binding import in_callers_thread, run_for_sync_caller

whose = ContextVar("whose", default="nobody's")


def test_the_waiting_thread_does_what_is_asked_of_it_in_its_own_context() -> None:
    async def work() -> tuple[int, str]:
        assert threading.get_ident() != caller
        whose.set("the loop's")
        return await in_callers_thread(lambda: (threading.get_ident(), whose.get()))

    caller = threading.get_ident()
    whose.set("the caller's")
    assert run_for_sync_caller(work()) == (caller, "the caller's")


def test_ctrl_c_there_ends_the_caller_and_the_work_that_it_waited_for() -> None:
    ended = threading.Event()

    def interrupted() -> None:
        raise KeyboardInterrupt

    async def work() -> None:
        try:
            await in_callers_thread(interrupted)
        finally:
            ended.set()

    with pytest.raises(KeyboardInterrupt):
        run_for_sync_caller(work())
    assert ended.wait(timeout=60)


def test_a_function_called_there_may_itself_wait_for_a_loop() -> None:
    async def inner() -> str:
        return await in_callers_thread(lambda: "done")

    async def outer() -> str:
        return await in_callers_thread(lambda: run_for_sync_caller(inner()))

    assert run_for_sync_caller(outer()) == "done"
