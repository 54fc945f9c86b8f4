"""The bound on calls in flight: kept, shared, and one for each event loop."""

import asyncio
import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from conflictscore.models.language_model import LanguageModel
from conflictscore.models.limits import ConcurrencyLimit
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from tests.fakes.openai_server import ChatRequest, OpenAIServer
from tests.models.calling import calling

PROMPTS = PromptSet.load()


async def ask(model: LanguageModel) -> str:
    return await model.ask("hi", str, prompts=PROMPTS, meter=UsageMeter(), max_tokens=9)


async def test_so_many_calls_are_in_flight_as_allowed_and_not_one_more() -> None:
    pair = threading.Barrier(2, timeout=30)

    def in_pairs(_: ChatRequest) -> str:
        pair.wait()
        return "hello"

    with OpenAIServer(in_pairs) as server:
        model = calling(server, limit=ConcurrencyLimit(2))
        assert await asyncio.gather(*(ask(model) for _ in range(8))) == ["hello"] * 8
    assert server.in_flight_peak == 2


async def test_a_call_waits_until_there_is_a_place_for_it() -> None:
    limit = ConcurrencyLimit(1)
    with OpenAIServer(lambda _: "hello") as server:
        async with limit:
            waiting = asyncio.create_task(ask(calling(server, limit=limit)))
            unbound = calling(server)
            for _ in range(5):  # time enough for a call that does not wait
                await ask(unbound)
            assert len(server.requests) == 5
        assert await asyncio.wait_for(waiting, 30) == "hello"
    assert len(server.requests) == 6


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
        async with limit:
            served.append(name)
            await asyncio.sleep(0)

    await asyncio.gather(*(take(name) for name in range(5)))
    assert served == [0, 1, 2, 3, 4]


async def test_what_fails_inside_gives_its_place_back() -> None:
    limit = ConcurrencyLimit(1)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            async with limit:
                _ = 1 // 0
    async with asyncio.timeout(30), limit:
        pass


async def crowd(limit: ConcurrencyLimit) -> int:
    inside = peak = 0

    async def one() -> None:
        nonlocal inside, peak
        async with limit:
            inside += 1
            peak = max(peak, inside)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(one() for _ in range(20)))
    return peak


def test_loops_in_several_threads_each_get_the_bound() -> None:
    limit = ConcurrencyLimit(3)
    with ThreadPoolExecutor(4) as threads:
        peaks = list(threads.map(lambda _: asyncio.run(crowd(limit)), range(12)))
    assert peaks == [3] * 12


def test_a_loop_that_is_over_is_not_kept() -> None:
    limit, loops = ConcurrencyLimit(1), []

    async def run() -> None:
        loops.append(weakref.ref(asyncio.get_running_loop()))
        await crowd(limit)

    asyncio.run(run())
    gc.collect()
    assert loops[0]() is None
