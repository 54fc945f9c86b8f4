"""Retries: by whom, when, how often, and when not."""

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from conflictscore.errors import ConfigurationError, ConflictScoreError, ProviderError
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.ledger import Ledger, attach
from conflictscore.models.limits import ConcurrencyLimit
from conflictscore.models.retries import Retries, TransientError
from conflictscore.models.spec import from_chat_model, open_model
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, script, then
from tests.models.calling import ask, calling, failure

REFUSED, FAILED = TransientError("refused", again=True), TransientError("failed", again=True)
LATE = TransientError("late", again=True)
SOON = "0.1"


def trying(server: OpenAIServer, rule: Retries, **settings: Any) -> LanguageModel:
    return replace(calling(server, **settings), retries=rule)


class TestRule:
    def test_waits_are_doubled_up_to_eight_seconds_and_vary(self) -> None:
        waits = [[Retries(attempts=99).wait(FAILED, n, 0) for _ in range(50)] for n in range(1, 8)]
        for n, (most, of_attempt) in enumerate(zip([0.5, 1, 2, 4, 8, 8, 8], waits, strict=True)):
            seconds = [wait for wait in of_attempt if wait is not None]
            assert len(seconds) == 50, n
            assert most * 0.75 <= min(seconds) < max(seconds) <= most

    @pytest.mark.parametrize("trouble", [FAILED, LATE])
    def test_failures_are_counted(self, trouble: TransientError) -> None:
        assert Retries(attempts=3).wait(trouble, 2, 0) is not None
        assert Retries(attempts=3).wait(trouble, 3, 0) is None

    def test_refusals_are_not_counted_but_end_with_the_patience(self) -> None:
        assert Retries(attempts=1, patience=100).wait(REFUSED, 1000, 91) is not None
        assert Retries(attempts=1, patience=100).wait(REFUSED, 1000, 96) is None

    def test_a_call_that_stood_in_line_for_long_has_its_attempts_nevertheless(self) -> None:
        assert Retries(attempts=3, patience=100).wait(REFUSED, 2, 5000) is not None
        assert Retries(attempts=3, patience=100).wait(FAILED, 2, 5000) is not None
        assert Retries(attempts=3, patience=100).wait(LATE, 2, 5000) is None

    def test_a_wait_that_is_asked_for_is_kept_and_one_beyond_the_patience_is_not_begun(
        self,
    ) -> None:
        asked = REFUSED._replace(after=60.0)
        wait = Retries(patience=100).wait(asked, 1, 0)
        assert wait is not None
        assert 60 <= wait <= 66
        assert Retries(patience=59).wait(asked, 1, 0) is None

    def test_refusals_of_other_callers_lengthen_the_wait_but_use_up_no_attempt(self) -> None:
        rule = Retries(attempts=3)
        wait = rule.wait(REFUSED, 1, 0, refusals=4)
        assert wait is not None
        assert 3 <= wait <= 4
        assert rule.wait(REFUSED._replace(after=2.0), 1, 0, refusals=4) == pytest.approx(
            2.1, abs=0.1
        )
        assert rule.wait(REFUSED, 2, 5000, refusals=9) is not None

    def test_who_asks_not_to_be_asked_again_is_not(self) -> None:
        assert Retries().wait(REFUSED._replace(again=False), 1, 0) is None


class TestOneLayer:
    async def test_a_model_of_ones_own_is_tried_again_by_its_own_client_alone(self) -> None:
        with OpenAIServer(then(Fault(500, retry_after=SOON))) as server:
            chat = ChatOpenAI(
                model="any", api_key=SecretStr("any"), base_url=server.base_url, max_retries=2
            )
            await failure(from_chat_model(chat))
        assert len(server.requests) == 3

    async def test_a_model_that_we_open_is_tried_again_by_us(self) -> None:
        faults = [Fault(500, retry_after=SOON)] * 2 + [Fault(429, retry_after=SOON)] * 9
        with OpenAIServer(script(*faults, "hello")) as server:
            assert await ask(open_model("any", base_url=server.base_url)) == "hello"
        assert len(server.requests) == 12


class TestRefusals:
    async def test_a_provider_that_refuses_for_long_costs_no_reply(self) -> None:
        faults = [Fault(429, retry_after=SOON)] * 30
        with OpenAIServer(script(*faults, "hello")) as server:
            assert await ask(trying(server, Retries(attempts=2))) == "hello"
        assert len(server.requests) == 31

    async def test_one_that_asks_for_an_hour_is_not_waited_for(self) -> None:
        with OpenAIServer(then(Fault(429, retry_after="3600"))) as server:
            model = trying(server, Retries())
            await failure(model)
            await failure(model)  # and no other call waits for it either
        assert len(server.requests) == 2

    @pytest.mark.parametrize("wait", ["0.3", "0", "0.001", None])
    async def test_nothing_is_sent_while_it_asks_to_wait_or_has_one_slot_left(
        self, wait: str | None
    ) -> None:
        came: list[float] = []

        def answer(request: ChatRequest) -> str | Fault:
            came.append(time.monotonic())
            return Fault(429, retry_after=wait) if len(came) == 1 else "hello"

        with OpenAIServer(answer) as server:
            model = trying(server, Retries(), limit=ConcurrencyLimit(1))
            await asyncio.gather(ask(model, prompt="one"), ask(model, prompt="other"))
        assert len(came) == 3
        assert came[1] - came[0] >= 0.3

    async def test_a_refusal_leaves_fewer_places(self) -> None:
        limit = ConcurrencyLimit(10)
        with OpenAIServer(script(Fault(429, retry_after=SOON), "hello")) as server:
            await ask(trying(server, Retries(), limit=limit))
        assert limit.allowed == 5


class TestNeverAgain:
    @pytest.mark.parametrize(
        ("fault", "kind"),
        [
            (Fault(400), ProviderError),
            (Fault(401), ConfigurationError),
            (Fault(403), ConfigurationError),
            (Fault(404), ConfigurationError),
            (Fault(429, code="insufficient_quota"), ConfigurationError),
        ],
        ids=lambda value: str(getattr(value, "status", "")),
    )
    async def test_what_another_request_would_meet_again(
        self, fault: Fault, kind: type[ConflictScoreError]
    ) -> None:
        limit = ConcurrencyLimit(10)
        with OpenAIServer(then(fault)) as server:
            error = await failure(trying(server, Retries(), limit=limit))
        assert isinstance(error, kind)
        assert len(server.requests) == 1
        assert limit.allowed == 10


async def test_one_that_never_answers_is_given_up_on_after_so_many_attempts() -> None:
    with OpenAIServer(then(Fault.hang(3600))) as server:
        error = await failure(trying(server, Retries(attempts=2), timeout=0.5))
    assert isinstance(error, ProviderError)
    assert "did not answer in time" in str(error)
    assert len(server.requests) == 2


async def test_who_waits_to_try_again_holds_no_place() -> None:
    numbers = count()

    def answer(request: ChatRequest) -> str | Fault:
        return Fault(500, retry_after="0.3") if next(numbers) == 0 else "hello"

    with OpenAIServer(answer) as server:
        model = trying(server, Retries(), limit=ConcurrencyLimit(1))
        await asyncio.gather(ask(model, prompt="fails first"), ask(model, prompt="other"))
    assert [r.prompt for r in server.requests] == ["fails first", "other", "fails first"]


async def test_every_attempt_asks_the_budget() -> None:
    ledger = Ledger(max_calls=2)
    with OpenAIServer(then(Fault(500, retry_after=SOON))) as server:
        error = await failure(attach(trying(server, Retries()), ledger))
    assert error.exit_code == 3
    assert len(server.requests) == 2


async def test_an_interrupted_table_leaves_no_task_and_no_connection_behind() -> None:
    arrived, over = threading.Semaphore(0), threading.Event()

    def hold(request: ChatRequest) -> str:
        arrived.release()
        over.wait(30)
        return "too late"

    async def gone(connections: Callable[[], int]) -> None:
        while connections():  # noqa: ASYNC110 - connections belong to another thread
            await asyncio.sleep(0.01)

    with OpenAIServer(hold) as server:
        model = trying(server, Retries(), limit=ConcurrencyLimit(8))
        calls = asyncio.gather(*(ask(model, prompt=f"pair {n}") for n in range(60)))
        for _ in range(8):
            assert await asyncio.to_thread(arrived.acquire, timeout=30)
        calls.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calls
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        over.set()  # a kept connection would be read from now, and stay
        await asyncio.wait_for(gone(lambda: len(server._connections)), 30)
        assert len(server.requests) == 8
        async with asyncio.timeout(30), model.limit.place():
            pass
