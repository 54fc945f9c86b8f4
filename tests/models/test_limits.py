"""The limit on calls in flight is kept, shared by all, fair, and adaptive."""

import asyncio
import gc
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from conflictscore.models.limits import ConcurrencyLimit
from tests.fakes.openai_server import ChatRequest, OpenAIServer
from tests.models.calling import ask, calling


async def test_so_many_calls_are_in_flight_as_allowed_and_not_one_more() -> None:
    pair = threading.Barrier(2, timeout=30)

    def in_pairs(_: ChatRequest) -> str:
        pair.wait()
        return "hello"

    with OpenAIServer(in_pairs) as server:
        model = calling(server, limit=ConcurrencyLimit(2))
        assert await asyncio.gather(*(ask(model) for _ in range(8))) == ["hello"] * 8
    assert server.in_flight_peak == 2


async def test_what_fails_inside_gives_its_place_back() -> None:
    limit = ConcurrencyLimit(1)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            async with limit.place():
                _ = 1 // 0
    async with asyncio.timeout(30), limit.place():
        pass


class TestTurns:
    async def test_callers_take_turns_however_many_calls_each_has_to_make(self) -> None:
        limit, served = ConcurrencyLimit(1), list[str]()

        async def take(caller: str) -> None:
            async with limit.place(caller):
                served.append(caller)
                await asyncio.sleep(0)

        await asyncio.gather(*(take(caller) for caller in ["many"] * 6 + ["two"] * 2 + ["one"]))
        assert served == ["many", "many", "two", "one", "many", "two", "many", "many", "many"]

    async def test_who_is_cancelled_while_waiting_loses_nobody_elses_turn(self) -> None:
        limit = ConcurrencyLimit(1)

        async def take() -> None:
            async with limit.place("caller"):
                pass

        async with limit.place():
            tasks = [asyncio.create_task(take()) for _ in range(3)]
            await asyncio.sleep(0)
            tasks[0].cancel()
            tasks[2].cancel()
        tasks[1].cancel("its place was given to it just now")
        assert all(isinstance(e, asyncio.CancelledError) for e in await gathered(tasks))
        async with asyncio.timeout(30), limit.place("caller"):
            pass


async def gathered(tasks: list[asyncio.Task[None]]) -> list[BaseException | None]:
    return await asyncio.gather(*tasks, return_exceptions=True)


async def crowd(limit: ConcurrencyLimit, inside: list[int], peaks: list[int]) -> None:
    async def one() -> None:
        async with limit.place():
            inside.append(1)
            peaks.append(len(inside))
            await asyncio.sleep(0)
            inside.pop()

    await asyncio.gather(*(one() for _ in range(20)))


class TestLoops:
    def test_loops_in_several_threads_share_the_bound(self) -> None:
        limit, inside, peaks = ConcurrencyLimit(3), list[int](), list[int]()
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda _: asyncio.run(crowd(limit, inside, peaks)), range(12)))
        assert len(peaks) == 12 * 20
        assert max(peaks) == 3
        assert not inside

    def test_a_place_goes_past_a_loop_that_is_closed(self) -> None:
        limit, tasks = ConcurrencyLimit(1), list[object]()
        holder, gone = asyncio.new_event_loop(), asyncio.new_event_loop()
        place = limit.place()
        holder.run_until_complete(place.__aenter__())

        async def wait() -> None:
            async with limit.place():
                pass

        async def begin() -> None:
            tasks.append(asyncio.get_running_loop().create_task(wait()))
            await asyncio.sleep(0)

        gone.run_until_complete(begin())
        gone.close()  # while a task still waits
        holder.run_until_complete(place.__aexit__(None, None, None))
        tasks.clear()
        gc.collect()  # the task is destroyed, and must not release a place that it never had
        peaks = list[int]()
        holder.run_until_complete(asyncio.wait_for(crowd(limit, [], peaks), 30))
        holder.close()
        assert max(peaks) == 1


class TestAdapting:
    def test_refusals_halve_it_once_for_all_calls_in_flight_and_answers_give_places_back(
        self,
    ) -> None:
        limit, began = ConcurrencyLimit(16), time.monotonic()
        for _ in range(16):
            limit.refused(began)
        assert limit.allowed == 8
        for _ in range(9):
            limit.answered()
        assert limit.allowed == 9
        for _ in range(9):
            limit.refused(time.monotonic() + 1)
        assert limit.allowed == 1
        for _ in range(1000):
            limit.answered()
        assert limit.allowed == 16

    async def test_places_that_came_back_are_given_to_those_who_wait(self) -> None:
        limit, inside = ConcurrencyLimit(2), list[int]()
        limit.refused(time.monotonic())
        assert limit.allowed == 1
        both = asyncio.Event()

        async def take() -> None:
            async with limit.place():
                inside.append(1)
                if len(inside) == 3:
                    both.set()
                await both.wait()

        async with limit.place():
            tasks = [asyncio.create_task(take()) for _ in range(2)]
            await asyncio.sleep(0)
            inside.append(1)
            for _ in range(10):
                limit.answered()
        async with asyncio.timeout(30):
            await asyncio.gather(*tasks)

    async def test_nothing_is_sent_while_it_pauses(self) -> None:
        limit, began = ConcurrencyLimit(4), time.monotonic()
        limit.pause(0.1)
        limit.pause(0.2)
        limit.pause(0.0)
        async with limit.place():
            assert time.monotonic() - began >= 0.2
