"""Counting what calls cost, stopping at the budget, and keeping to a pace."""

import asyncio
import json
import logging
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler, CallbackManager

from conflictscore import create_self_correcting_rag
from conflictscore.errors import BudgetError, ConfigurationError
from conflictscore.loop.state import RagInput
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.ledger import Ledger, attach
from conflictscore.models.limits import ConcurrencyLimit
from conflictscore.models.prices import Price, PriceTable
from conflictscore.records import Usage
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply
from tests.models.calling import ask, ask_json, ask_letter, calling, face
from tests.world import DISAGREEING, PAPER, World

PRICES = PriceTable({"test-model": Price(input=1000.0, output=10_000.0, source="test")})

START: RagInput = {"question": "When was it lit?", "documents": DISAGREEING}


def answer(request: ChatRequest) -> Reply:
    text = '{"year": 1871}' if "response_format" in request.body else "A"
    return Reply(text, logprobs={"A": -0.1}, input_tokens=10, output_tokens=1)


def calls(usage: dict[str, Usage]) -> int:
    return sum(used.calls for used in usage.values())


class TestCounting:
    @pytest.mark.parametrize("question", [ask, ask_json, ask_letter])
    @pytest.mark.parametrize("synchronous", [False, True], ids=["async", "sync"])
    async def test_every_kind_of_call_counts_once(
        self, question: Callable[[LanguageModel], Awaitable[object]], synchronous: bool
    ) -> None:
        ledger = Ledger()
        with OpenAIServer(answer) as server, face(synchronous):
            await question(attach(calling(server), ledger))
        assert ledger.spent == {"test-model": Usage(calls=1, input_tokens=10, output_tokens=1)}

    async def test_models_are_counted_apart_and_on_top_of_what_was_spent_before(self) -> None:
        before = {"test-model": Usage(calls=5, input_tokens=50, output_tokens=5)}
        ledger = Ledger(spent=before)
        with OpenAIServer(answer) as server:
            await ask(attach(calling(server), ledger))
            await ask(attach(calling(server, name="judge"), ledger))
        assert ledger.spent == {
            "test-model": Usage(calls=6, input_tokens=60, output_tokens=6),
            "judge": Usage(calls=1, input_tokens=10, output_tokens=1),
        }
        assert before["test-model"].calls == 5

    async def test_one_name_at_two_endpoints_has_no_published_price(self) -> None:
        ledger = Ledger(prices=PriceTable.load())
        with OpenAIServer(answer) as server:
            await ask(attach(calling(server, name="gpt-4o", endpoint="local"), ledger))
            assert ledger.money == 0
            await ask(attach(calling(server, name="gpt-4o"), ledger))
        assert ledger.money is None

    async def test_a_models_own_callbacks_are_kept(self) -> None:
        heard: list[str] = []

        class Listener(BaseCallbackHandler):
            def on_llm_end(self, *_: Any, **__: Any) -> None:
                heard.append("end")

        with OpenAIServer(answer) as server:
            for callbacks in ([Listener()], CallbackManager([Listener()])):
                ledger, model = Ledger(), calling(server)
                own = model.chat.model_copy(update={"callbacks": callbacks})
                await ask(attach(calling(server, chat=own), ledger))
                assert calls(ledger.spent) == 1
        assert heard == ["end", "end"]


class TestSteps:
    async def test_steps_at_the_same_time_do_not_mix(self) -> None:
        ledger = Ledger()
        together = threading.Barrier(4, timeout=20)

        def slow(request: ChatRequest) -> Reply:
            together.wait()  # both calls of both steps are in flight at once
            return answer(request)

        async def step(name: str) -> dict[str, Usage]:
            with ledger.step() as usage:
                model = attach(calling(server, name=name), ledger)
                await asyncio.gather(ask(model), ask(model))
            return usage

        with OpenAIServer(slow) as server:
            one, other = await asyncio.gather(step("one"), step("other"))
        assert {name: used.calls for name, used in one.items()} == {"one": 2}
        assert {name: used.calls for name, used in other.items()} == {"other": 2}
        assert calls(ledger.spent) == 4

    @pytest.mark.parametrize("synchronous", [False, True], ids=["async", "sync"])
    async def test_all_calls_of_a_graph_belong_to_the_step_that_it_runs_in(
        self, synchronous: bool
    ) -> None:
        ledger = Ledger()
        with OpenAIServer(World()) as server:
            graph = create_self_correcting_rag(attach(calling(server), ledger), cache=False)
            with ledger.step() as usage:
                if synchronous:
                    state = await asyncio.to_thread(lambda: graph.invoke(START))
                else:
                    state = await graph.ainvoke(START)
        assert usage == ledger.spent
        assert usage["test-model"].model_dump() == state["usage"] | {"cached_calls": 0}
        assert calls(usage) == len(server.requests)


class TestBudget:
    @pytest.mark.parametrize("question", [ask, ask_json, ask_letter])
    @pytest.mark.parametrize("synchronous", [False, True], ids=["async", "sync"])
    async def test_no_call_is_made_once_the_tokens_are_used_up(
        self,
        question: Callable[[LanguageModel], Awaitable[object]],
        synchronous: bool,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        ledger = Ledger(max_tokens=20)
        with OpenAIServer(answer) as server, face(synchronous), caplog.at_level(logging.WARNING):
            model = attach(calling(server), ledger)
            await question(model)
            await question(model)
            with pytest.raises(BudgetError) as caught:
                await question(model)
        assert len(server.requests) == 2
        assert (caught.value.kind, caught.value.spent, caught.value.limit) == ("tokens", 22, 20)
        assert caught.value.exit_code == 3
        assert "22 of 20 tokens" in str(caught.value)
        assert "raise max_tokens" in str(caught.value)
        # asyncio may log clients that LangChain dropped after many servers, but not these
        assert not [record for record in caplog.records if record.name != "asyncio"]

    async def test_calls_in_flight_are_all_that_goes_beyond_it(self) -> None:
        ledger = Ledger(max_tokens=11)
        together = threading.Barrier(4, timeout=20)

        def slow(request: ChatRequest) -> Reply:
            together.wait()
            return answer(request)

        with OpenAIServer(slow) as server:
            model = attach(calling(server), ledger)  # four in flight
            outcomes = await asyncio.gather(
                *(ask(model) for _ in range(12)), return_exceptions=True
            )
        assert len(server.requests) == 4
        assert sum(isinstance(outcome, BudgetError) for outcome in outcomes) == 8

    @pytest.mark.parametrize("step", ["generate", "decompose", "label", "regenerate", "justify"])
    async def test_no_step_of_the_loop_takes_it_for_a_failure_of_its_own(self, step: str) -> None:
        before = {"generate": 0, "decompose": 1, "label": 2, "regenerate": 5, "justify": 10}
        world = World(regenerated="It was lit in 1874, the log says.")

        def priced(request: ChatRequest) -> Reply | str | Fault:
            said = world(request)
            assert isinstance(said, str)
            return Reply(said, input_tokens=1, output_tokens=0)

        with OpenAIServer(priced) as server:
            model = calling(server, limit=ConcurrencyLimit(1))
            ledger = Ledger(max_tokens=before[step])
            graph = create_self_correcting_rag(attach(model, ledger), cache=False, **PAPER)
            with pytest.raises(BudgetError):
                await graph.ainvoke(START)
            assert len(server.requests) == before[step]
            assert world.asked[step] == 0

            free = create_self_correcting_rag(attach(model, Ledger()), cache=False, **PAPER)
            await free.ainvoke(START)
        assert world.asked[step] > 0

    async def test_a_budget_of_calls_is_never_gone_beyond_not_by_those_in_flight_either(
        self,
    ) -> None:
        ledger = Ledger(max_calls=5, spent={"other": Usage(calls=2, input_tokens=20)})
        with OpenAIServer(answer) as server:
            model = attach(calling(server), ledger)  # four in flight
            outcomes = await asyncio.gather(*(ask(model) for _ in range(9)), return_exceptions=True)
        assert len(server.requests) == 3
        refused = [outcome for outcome in outcomes if isinstance(outcome, BudgetError)]
        assert len(refused) == 6
        assert (refused[0].kind, refused[0].spent, refused[0].limit) == ("calls", 5, 5)
        assert refused[0].exit_code == 3
        assert "5 of 5 calls" in str(refused[0])
        assert "raise max_calls" in str(refused[0])

    async def test_a_model_that_reports_no_tokens_is_refused_from_its_second_call_on(self) -> None:
        body = {"id": "1", "object": "chat.completion", "created": 0, "model": "m"}
        choice = {"index": 0, "message": {"role": "assistant", "content": "hi"}}
        silent = json.dumps({**body, "choices": [{**choice, "finish_reason": "stop"}]}).encode()
        ledger = Ledger(max_tokens=1_000_000)
        with OpenAIServer(lambda _: Fault.raw(silent)) as server:
            model = attach(calling(server), ledger)
            await ask(model)
            with pytest.raises(ConfigurationError, match="test-model does not report its tokens"):
                await ask(model)
            await ask(attach(calling(server), Ledger()))
        assert len(server.requests) == 2
