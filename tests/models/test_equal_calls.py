"""Identical calls in flight: one request, a reply for everyone, no shared cancellation."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conflictscore.errors import ProviderError
from conflictscore.models.calls import SYNCHRONOUS
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.limits import ConcurrencyLimit
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import Usage
from conflictscore.storage.cache import ContentCache
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply
from tests.models.calling import calling

PROMPTS = PromptSet.load()
SCHEMA = {
    "title": "dating",
    "type": "object",
    "properties": {"year": {"type": "integer"}},
    "required": ["year"],
    "additionalProperties": False,
}


class Held:
    """Answers nothing until it is let go, and knows when the first request is there."""

    def __init__(self, outcome: Reply | Fault) -> None:
        self.outcome = outcome
        self._asked, self._released = threading.Event(), threading.Event()

    def __call__(self, request: ChatRequest) -> Reply | Fault:
        self._asked.set()
        assert self._released.wait(30)
        return self.outcome

    async def asked(self) -> None:
        assert await asyncio.to_thread(self._asked.wait, 30)
        for _ in range(20):  # all who were to join have by now
            await asyncio.sleep(0)

    def let_go(self) -> None:
        self._released.set()


LETTER = Reply('{"year": 1871}', logprobs={"A": -0.1, "B": -3.0}, input_tokens=9, output_tokens=2)


@pytest.fixture
def cache(tmp_path: Path) -> ContentCache:
    return ContentCache(tmp_path / "replies.sqlite")


@pytest.fixture
def held() -> Iterator[Held]:
    answer = Held(LETTER)
    yield answer
    answer.let_go()


async def text(model: LanguageModel, meter: UsageMeter, most: int = 9) -> object:
    return await model.ask("hi", str, prompts=PROMPTS, meter=meter, max_tokens=most)


async def json_object(model: LanguageModel, meter: UsageMeter) -> object:
    return await model.ask_json("hi", SCHEMA, dict, prompts=PROMPTS, meter=meter, max_tokens=9)


async def letter(model: LanguageModel, meter: UsageMeter) -> object:
    return await model.ask_letter("hi", ("A", "B"), dict, prompts=PROMPTS, meter=meter)


async def requests_for(
    model: LanguageModel, held: Held, server: OpenAIServer, *questions: Any
) -> tuple[int, list[Any], list[Usage]]:
    meters = [UsageMeter() for _ in questions]
    tasks = [
        asyncio.create_task(question(model, meter))
        for question, meter in zip(questions, meters, strict=True)
    ]
    await held.asked()
    held.let_go()
    replies = await asyncio.gather(*tasks)
    return len(server.requests), replies, [meter.usage for meter in meters]


@pytest.mark.parametrize("question", [text, json_object, letter])
@pytest.mark.parametrize("synchronous", [False, True], ids=["async", "sync"])
async def test_five_who_ask_the_same_get_the_reply_to_one_request(
    question: Any, synchronous: bool, cache: ContentCache, held: Held
) -> None:
    token = SYNCHRONOUS.set(synchronous)
    try:
        with OpenAIServer(held) as server:
            model = calling(server, cache=cache, limit=ConcurrencyLimit(8))
            requests, replies, usages = await requests_for(model, held, server, *[question] * 5)
    finally:
        SYNCHRONOUS.reset(token)
    assert requests == 1
    assert all(reply == replies[0] for reply in replies)
    made = Usage(calls=1, input_tokens=9, output_tokens=2)
    assert sum(usages, Usage()) == made + made.kept() + made.kept() + made.kept() + made.kept()


async def test_two_models_that_are_the_same_share_a_request(
    cache: ContentCache, held: Held
) -> None:
    with OpenAIServer(held) as server:
        one, other = (calling(server, cache=cache) for _ in range(2))
        tasks = [asyncio.create_task(text(model, UsageMeter())) for model in (one, other)]
        await held.asked()
        held.let_go()
        await asyncio.gather(*tasks)
    assert len(server.requests) == 1


async def test_what_differs_in_any_way_is_asked_for_apart(cache: ContentCache, held: Held) -> None:
    async def longer(model: LanguageModel, meter: UsageMeter) -> object:
        return await text(model, meter, most=10)

    async def with_stop(model: LanguageModel, meter: UsageMeter) -> object:
        return await model.ask(
            "hi", str, prompts=PROMPTS, meter=meter, max_tokens=9, parameters={"stop": ["x"]}
        )

    with OpenAIServer(held) as server:
        model = calling(server, cache=cache, limit=ConcurrencyLimit(8))
        questions = [text, longer, with_stop, with_stop, json_object, letter]
        requests, _, _ = await requests_for(model, held, server, *questions)
    assert requests == 6


@pytest.mark.parametrize(
    "change", [{"cache": None}, {"deterministic": False}, {"parameters": None}], ids=str
)
async def test_what_no_cache_would_serve_is_asked_for_every_time(
    change: dict[str, Any], cache: ContentCache, held: Held
) -> None:
    with OpenAIServer(held) as server:
        model = calling(server, **{"cache": cache, **change})
        requests, _, _ = await requests_for(model, held, server, text, text)
    assert requests == 2


@pytest.mark.parametrize("gone", [0, 1], ids=["who asked first", "who joined"])
async def test_one_who_goes_takes_the_reply_from_nobody(
    gone: int, cache: ContentCache, held: Held
) -> None:
    with OpenAIServer(held) as server:
        model = calling(server, cache=cache)
        tasks = [asyncio.create_task(text(model, UsageMeter())) for _ in range(3)]
        await held.asked()
        tasks[gone].cancel()
        with pytest.raises(asyncio.CancelledError):
            await tasks[gone]
        held.let_go()
        left = [task for task in tasks if task is not tasks[gone]]
        assert await asyncio.gather(*left) == ['{"year": 1871}'] * 2
    assert len(server.requests) == 1


async def test_when_all_are_gone_so_is_the_request_and_who_asks_then_is_served(
    cache: ContentCache, held: Held
) -> None:
    with OpenAIServer(held) as server:
        model = calling(server, cache=cache, limit=ConcurrencyLimit(1))
        tasks = [asyncio.create_task(text(model, UsageMeter())) for _ in range(3)]
        await held.asked()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        held.let_go()
        assert await asyncio.wait_for(text(model, UsageMeter()), 30) == '{"year": 1871}'
    assert len(server.requests) == 2


async def test_a_failure_is_everyones_and_the_next_one_asks_anew(
    cache: ContentCache, held: Held
) -> None:
    held.outcome = Fault(400)
    with OpenAIServer(held) as server:
        model = calling(server, cache=cache)
        tasks = [asyncio.create_task(text(model, UsageMeter())) for _ in range(3)]
        await held.asked()
        held.let_go()
        errors = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(error) for error in errors] == [ProviderError] * 3
        assert len(server.requests) == 1
        held.outcome = LETTER
        await text(model, UsageMeter())
    assert len(server.requests) == 2
