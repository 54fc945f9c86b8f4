"""Forwarded requests queue together with all other calls of the endpoint."""

import asyncio
from dataclasses import replace

import pytest

from conflictscore.errors import BudgetError
from conflictscore.middleware.service.refusals import RefusedError
from conflictscore.middleware.service.upstream import Upstream
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.ledger import Ledger, attach
from conflictscore.models.limits import ConcurrencyLimit
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer
from tests.models.calling import calling

BODY = {"messages": [{"role": "user", "content": "When was it lit?"}]}


def bound(server: OpenAIServer, calls: int) -> LanguageModel:
    return replace(calling(server), limit=ConcurrencyLimit(calls))


def say(request: ChatRequest) -> str:
    return "In 1871."


async def test_no_more_are_in_flight_than_the_endpoint_has_places() -> None:
    with OpenAIServer(say) as server:
        upstream = Upstream(bound(server, 2), timeout=30)
        replies = await asyncio.gather(*(upstream.complete(BODY) for _ in range(6)))
        assert server.in_flight_peak <= 2
    assert {reply["choices"][0]["message"]["content"] for reply in replies} == {"In 1871."}


async def test_a_refusal_is_handed_back_at_once_and_makes_the_places_fewer() -> None:
    with OpenAIServer(lambda request: Fault(429, message="slow down")) as server:
        model = bound(server, 10)
        with pytest.raises(RefusedError):
            await Upstream(model, timeout=30).complete(BODY)
        assert len(server.requests) == 1
    assert model.limit.allowed == 5


async def test_a_model_with_a_budget_keeps_to_it_here_too() -> None:
    with OpenAIServer(say) as server:
        upstream = Upstream(attach(bound(server, 2), Ledger(max_calls=1)), timeout=30)
        await upstream.complete(BODY)
        with pytest.raises(BudgetError):
            await upstream.complete(BODY)
        assert len(server.requests) == 1
