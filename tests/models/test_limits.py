"""The bound on calls in flight: kept, shared by all, taken in turns, and adapting."""

import asyncio
import gc
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from conflictscore.models.limits import ConcurrencyLimit
from conflictscore.models.usage import UsageMeter
from tests.fakes.openai_server import ChatRequest, OpenAIServer
from tests.models.calling import PROMPTS, ask, calling


async def test_so_many_calls_are_in_flight_as_allowed_and_not_one_more() -> None:
    pair = threading.Barrier(2, timeout=30)

    def in_pairs(_: ChatRequest) -> str:
        pair.wait()
        return "hello"

    with OpenAIServer(in_pairs) as server:
        model = calling(server, limit=ConcurrencyLimit(2))
        assert await asyncio.gather(*(ask(model) for _ in range(8))) == ["hello"] * 8
    assert server.in_flight_peak == 2


async def test_the_limit_of_an_endpoint_holds_for_all_its_models_together() -> None:
    with OpenAIServer(lambda _: "hello") as server:
        models = [
            calling(server, limit=ConcurrencyLimit.shared(server.base_url, 1)) for _ in range(6)
        ]
        await asyncio.gather(*map(ask, models))
    assert server.in_flight_peak == 1
    assert models[0].limit is models[5].limit


def test_another_endpoint_or_another_bound_is_another_limit() -> None:
    limit = ConcurrencyLimit.shared("http://one.test/v1", 3)
    assert ConcurrencyLimit.shared("http://one.test/v1", 3) is limit
    assert ConcurrencyLimit.shared("http://two.test/v1", 3) is not limit
    assert ConcurrencyLimit.shared("http://one.test/v1", 4) is not limit


async def test_who_waits_gets_the_place_in_the_order_of_asking() -> None:
    limit, served = ConcurrencyLimit(1), []

    async def take(name: int) -> None:
        async with limit.place():
            served.append(name)
            await asyncio.sleep(0)

    await asyncio.gather(*(take(name) for name in range(5)))
    assert served == [0, 1, 2, 3, 4]


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

    async def test_a_question_with_sixty_calls_lets_anothers_first_one_through(self) -> None:
        first_label, question_is_there = threading.Event(), threading.Event()

        def answer(request: ChatRequest) -> str:
            first_label.set()
            assert question_is_there.wait(30)
            return "hello"

        async def one(prompt: str, meter: UsageMeter) -> str:
            return await model.ask(prompt, str, prompts=PROMPTS, meter=meter, max_tokens=9)

        with OpenAIServer(answer) as server:
            model, labelling = calling(server, limit=ConcurrencyLimit(4)), UsageMeter()
            labels = [asyncio.create_task(one(f"label {n}", labelling)) for n in range(60)]
            assert await asyncio.to_thread(first_label.wait, 30)
            question = asyncio.create_task(one("question", UsageMeter()))
            await asyncio.sleep(0)
            question_is_there.set()
            await asyncio.gather(question, *labels)
        order = [request.prompt for request in server.requests]
        assert order.index("question") <= 2 * 4  # after those in flight, and a turn of the other's
        assert len(order) == 61

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
        gone.close()  # with a task that still waits
        holder.run_until_complete(place.__aexit__(None, None, None))
        tasks.clear()
        gc.collect()  # the task is destroyed, and must not give back a place that it never had
        peaks = list[int]()
        holder.run_until_complete(asyncio.wait_for(crowd(limit, [], peaks), 30))
        holder.close()
        assert max(peaks) == 1

    def test_a_loop_that_is_over_is_not_kept(self) -> None:
        limit, loops = ConcurrencyLimit(1), []

        async def run() -> None:
            loops.append(weakref.ref(asyncio.get_running_loop()))
            await crowd(limit, [], [])

        asyncio.run(run())
        gc.collect()
        assert loops[0]() is None


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
