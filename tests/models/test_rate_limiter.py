"""So much a minute: who waits, for how long, and what a correction does."""

import asyncio
import time

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from conflictscore.errors import ConfigurationError
from conflictscore.models.ledger import Ledger, attach
from conflictscore.models.limits import CallGate, RateLimiter
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from tests.fakes.openai_server import OpenAIServer, Reply, then
from tests.models.calling import calling

PROMPTS = PromptSet.load()


async def seconds_until(pace: RateLimiter, *amounts: float) -> list[float]:
    began, went = time.monotonic(), list[float]()
    for amount in amounts:
        await pace.wait(amount)
        went.append(time.monotonic() - began)
    return went


async def test_a_call_waits_for_the_amounts_of_those_before_it() -> None:
    first, second, third = await seconds_until(RateLimiter(600), 1, 2, 1)
    assert first < second
    assert second >= 0.1
    assert third >= 0.3


async def test_what_is_taken_already_is_waited_for_too() -> None:
    [first] = await seconds_until(RateLimiter(600, taken=2), 1)
    assert first >= 0.2


async def test_time_that_passes_unused_is_not_saved_up() -> None:
    pace = RateLimiter(600)
    await asyncio.sleep(0.3)
    assert (await seconds_until(pace, 1, 1, 1))[-1] >= 0.2


async def test_what_turned_out_to_be_more_is_waited_for_by_the_next() -> None:
    pace = RateLimiter(600)
    await pace.wait(1)
    pace.correct(2)
    assert (await seconds_until(pace, 1))[0] >= 0.29


async def test_what_turned_out_to_be_less_lets_the_next_go_at_once() -> None:
    pace = RateLimiter(1)
    await pace.wait(60)  # worth an hour
    pace.correct(-60)
    async with asyncio.timeout(30):
        await pace.wait(1)


async def test_one_who_is_cancelled_lets_nobody_go_sooner() -> None:
    pace, began = RateLimiter(600, taken=1), time.monotonic()
    waiting = [asyncio.create_task(pace.wait(1)) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    await asyncio.gather(*waiting[1:])
    assert time.monotonic() - began >= 0.3


class TestTokens:
    async def test_a_gate_counts_the_prompt_before_and_the_whole_call_after(self) -> None:
        pace, began = RateLimiter(60_000), time.monotonic()
        gate = CallGate("any", lambda: None, tokens=pace)
        expected = await gate.enter([HumanMessage("one two three"), AIMessage("four")])
        assert 3 < expected < 12
        gate.settle(expected, 300)
        await gate.enter([HumanMessage("hi")])
        assert time.monotonic() - began >= 0.29

    async def test_a_call_that_does_not_say_what_it_took_is_left_as_it_was_expected(self) -> None:
        gate = CallGate("any", lambda: None, tokens=RateLimiter(60_000))
        expected = await gate.enter([HumanMessage("hi " * 200)])
        began = time.monotonic()
        gate.settle(expected, 0)
        await gate.enter([HumanMessage("hi")])
        assert time.monotonic() - began >= expected / 1000 * 0.8

    async def test_the_next_call_to_an_endpoint_waits_for_the_reply_of_another_model(self) -> None:
        ledger = Ledger()
        reply = Reply("hello", input_tokens=100, output_tokens=200)
        with OpenAIServer(then(reply)) as server:
            models = [
                attach(calling(server, name=name), ledger, token_limit=60_000)
                for name in ("generator", "judge")
            ]
            began = time.monotonic()
            for model in models:
                await model.ask("hi", str, prompts=PROMPTS, meter=UsageMeter(), max_tokens=9)
        assert time.monotonic() - began >= 0.29

    @pytest.mark.parametrize("limit", [0.0, -1.0])
    def test_a_limit_is_above_zero(self, limit: float) -> None:
        with pytest.raises(ConfigurationError, match=r"token_limit is .*; give tokens a minute"):
            Ledger().pace("anywhere", limit, "tokens")
