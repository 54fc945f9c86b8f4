"""Errors of failing parallel work."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace

import pytest
from langgraph.errors import GraphInterrupt

from conflictscore.cpu_turns import Turns
from conflictscore.errors import BudgetError, ConfigurationError, ProviderError
from conflictscore.middleware.entrypoints import PassedOnError
from conflictscore.threads import (
    on_home_loop,
    on_own_loop,
    read_in_thread,
    run_once,
    together,
)
from tests.middleware.service.serving import until


async def run(*errors: Exception | None) -> None:
    """Run work in parallel, of which each piece may end in an error."""

    async def work(error: Exception | None) -> None:
        await asyncio.sleep(0)
        if error is not None:
            raise error

    async with together() as start:
        for error in errors:
            start(lambda error=error: work(error))  # type: ignore[misc]


INTERRUPT = GraphInterrupt(())
FOREIGN = PermissionError("over budget")
OURS = ProviderError("it failed", provider="test")
SETTING = ConfigurationError("wrong")
BUDGET = BudgetError(kind="calls", spent=1, limit=1)
PASSED_ON = PassedOnError(GraphInterrupt(()))


@pytest.mark.parametrize(
    ("errors", "raised"),
    [
        ([FOREIGN], FOREIGN),
        ([None, OURS, None], OURS),
        ([OURS, SETTING], OURS),
        ([OURS, FOREIGN, INTERRUPT], INTERRUPT),
        ([FOREIGN, PASSED_ON], PASSED_ON),
        ([SETTING, FOREIGN], FOREIGN),
        ([BUDGET, None], BUDGET),
        ([BUDGET, FOREIGN], FOREIGN),
    ],
    ids=repr,
)
async def test_one_error_comes_out_as_itself(
    errors: list[Exception | None], raised: Exception
) -> None:
    with pytest.raises(type(raised)) as caught:
        await run(*errors)
    assert caught.value is raised


async def test_an_error_keeps_its_own_cause() -> None:
    outer = ValueError("outer")
    outer.__cause__ = KeyError("inner")
    with pytest.raises(ValueError, match="outer") as caught:
        async with together() as start:
            start(lambda: run(outer))
    assert isinstance(caught.value.__cause__, KeyError)


async def test_a_coroutine_off_the_loop_awaits_at_home_and_ends_with_its_caller() -> None:
    home, seen = asyncio.get_running_loop(), []
    ended = asyncio.Event()

    async def here() -> str:
        seen.append(asyncio.get_running_loop())
        return "said"

    async def work() -> str:
        seen.append(asyncio.get_running_loop())
        return await on_home_loop(here)

    assert await on_own_loop(work()) == "said"
    assert seen[0] is not home
    assert seen[1] is home

    async def waits() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            home.call_soon_threadsafe(ended.set)

    task = asyncio.create_task(on_own_loop(on_home_loop(waits)))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(20):
        await ended.wait()


def test_what_is_shared_is_made_once_however_many_ask_at_first() -> None:
    made, together_now = list[int](), threading.Barrier(4)

    def make() -> int:
        made.append(1)
        time.sleep(0.05)
        return len(made)

    shared = run_once(make)

    def ask(_: int) -> int:
        together_now.wait(timeout=60)
        return shared()

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(ask, range(4))) == {1}


async def test_loops_for_long_texts_compute_in_turn_and_wait_at_once() -> None:
    computing, most, waiting = 0, 0, 0
    all_wait = asyncio.Event()
    home = asyncio.get_running_loop()

    def compute() -> None:
        nonlocal computing, most
        computing += 1
        most = max(most, computing)
        time.sleep(0.01)
        computing -= 1

    async def wait() -> None:
        nonlocal waiting
        waiting += 1
        if waiting == 3:
            all_wait.set()
        await all_wait.wait()

    async def work() -> None:
        for _ in range(3):
            compute()
            await asyncio.sleep(0)
        await on_home_loop(wait)
        compute()
        await read_in_thread(compute, 10**6)

    async with asyncio.timeout(60):
        await asyncio.gather(*(on_own_loop(work()) for _ in range(3)))
        await asyncio.gather(*(read_in_thread(compute, 10**6) for _ in range(3)))
    assert most == 1
    assert asyncio.get_running_loop() is home


def _waits(turns: Turns, threads: int) -> bool:
    return len(turns.waiting) == threads


def test_turns_come_in_the_order_in_which_threads_ask() -> None:
    turns, order, threads = Turns(), list[int](), list[threading.Thread]()
    turns.take()
    for number in range(4):
        work = partial(turns.run, partial(order.append, number))
        threads.append(threading.Thread(target=work, daemon=True))
        threads[-1].start()
        until(partial(_waits, turns, number + 1))
    with turns.short_request():
        turns.give()
        for thread in threads:
            thread.join(60)
    assert order == [0, 1, 2, 3]


@pytest.mark.parametrize(("others_cpu", "rest"), [(0.0, None), (0.5, 2.0), (0.1, 0.4)])
def test_a_turn_rests_only_for_the_threads_of_its_own_process(
    others_cpu: float, rest: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rests = list[float]()
    clocks = SimpleNamespace(
        monotonic=iter((0.0, 1.5)).__next__,
        thread_time=iter((0.0, 1.0)).__next__,
        process_time=iter((0.0, 1.0 + others_cpu)).__next__,
        sleep=rests.append,
    )
    monkeypatch.setattr("conflictscore.cpu_turns.time", clocks)
    turns = Turns()

    with turns.short_request():
        turns.run(list)

    assert rests == ([] if rest is None else [pytest.approx(rest)])


async def test_a_coroutine_off_the_loop_stays_on_its_loop() -> None:
    async def loop_here() -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    async def work() -> bool:
        return await on_own_loop(loop_here()) is asyncio.get_running_loop()

    assert await on_own_loop(work())
