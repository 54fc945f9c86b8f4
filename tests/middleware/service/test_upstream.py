"""Forwarded requests queue together with all other calls of the endpoint."""

import asyncio
import json
from dataclasses import replace

import httpx2
import pytest
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from conflictscore.errors import BudgetError
from conflictscore.middleware.service.refusals import RefusedError
from conflictscore.middleware.service.upstream import Readiness, Upstream
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.ledger import Ledger, attach
from conflictscore.models.limits import ConcurrencyLimit
from conflictscore.models.spec import from_chat_model
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


def in_a_choice(code: int) -> Fault:
    """A whole completion without text, whose choice says why there is none."""
    choice = {
        "message": {"role": "assistant", "content": ""},
        "finish_reason": "error",
        "error": {"code": code, "message": "slow down"},
    }
    return Fault.raw(json.dumps({"choices": [choice]}).encode())


def anywhere(code: int) -> list[Fault]:
    """The same refusal with its status in the head, in the body, and in a choice."""
    error = {"code": code, "message": "slow down"}
    return [
        Fault(code, message="slow down"),
        Fault.raw(json.dumps({"error": error}).encode()),
        in_a_choice(code),
    ]


PLACES = ("status", "body", "choice")


@pytest.mark.parametrize("refusal", anywhere(429), ids=PLACES)
async def test_a_refusal_is_handed_back_at_once_and_makes_the_places_fewer(refusal: Fault) -> None:
    with OpenAIServer(lambda request: refusal) as server:
        model = bound(server, 10)
        with pytest.raises(RefusedError, match="slow down") as refused:
            await Upstream(model, timeout=30).complete(BODY)
        assert len(server.requests) == 1
    assert refused.value.status == 429
    assert model.limit.allowed == 5


@pytest.mark.parametrize("fault", anywhere(400), ids=PLACES)
async def test_a_bad_request_is_the_callers_wherever_its_status_is(fault: Fault) -> None:
    with (
        OpenAIServer(lambda request: fault) as server,
        pytest.raises(RefusedError, match="slow down") as refused,
    ):
        await Upstream(bound(server, 2), timeout=30).complete(BODY)
    assert refused.value.status == 400


@pytest.mark.parametrize(
    "body", [b"not json", b"null", b"[1]", b'{"data": 5}', b'{"data": [1]}', b"\xff"]
)
async def test_an_unreadable_list_of_models_counts_as_none(body: bytes) -> None:
    listing = httpx2.Response(200, content=body, headers={"content-type": "application/json"})
    transport = httpx2.MockTransport(lambda request: listing)
    async with httpx2.AsyncClient(transport=transport) as client:
        chat = ChatOpenAI(model="m", api_key=SecretStr("k"), http_async_client=client)
        model = from_chat_model(chat)
        states = await Readiness(model, model).states()
    assert states == {"upstream": "ok", "judge": "ok"}


async def test_a_model_with_a_budget_keeps_to_it_here_too() -> None:
    with OpenAIServer(say) as server:
        upstream = Upstream(attach(bound(server, 2), Ledger(max_calls=1)), timeout=30)
        await upstream.complete(BODY)
        with pytest.raises(BudgetError):
            await upstream.complete(BODY)
        assert len(server.requests) == 1
