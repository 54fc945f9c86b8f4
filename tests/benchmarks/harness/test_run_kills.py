"""A run that is killed repeatedly ends with the same figures, and pays for nothing twice."""

import asyncio
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from conflictscore.benchmarks.harness.outcome import BenchmarkRun, read_run
from conflictscore.benchmarks.running import Limits
from conflictscore.errors import BudgetError
from conflictscore.models.prices import PriceTable
from tests.benchmarks.harness.quiz import RIGHT, WRONG, Quiz, lamps, run_quiz
from tests.fakes.openai_server import ChatRequest, OpenAIServer, Reply

LAMPS = 4
KILLS = 3
METHODS = ("rag", "control-rag", "regenerated-rag", "guarded-rag", "revised-rag")


def _run(folder: Path, address: str) -> None:
    model = ChatOpenAI(
        model="scripted", base_url=address, api_key=SecretStr("key"), use_responses_api=False
    )
    every = lamps(LAMPS, free_form=True)
    asyncio.run(run_quiz(folder, model, every, methods=METHODS))


def quiz() -> Quiz:
    return Quiz(first={3: RIGHT}, second={1: WRONG, 3: WRONG})


@pytest.mark.timeout(300)
def test_kills_lose_nothing_but_the_calls_in_flight(tmp_path: Path, spawning: Any) -> None:
    with OpenAIServer(quiz()) as server:
        every = lamps(LAMPS, free_form=True)
        whole = asyncio.run(run_quiz(tmp_path / "whole", server, every, methods=METHODS))
        needed = len(server.requests)

    def answer(request: ChatRequest) -> Reply | str | object:
        time.sleep(0.01)  # so that a kill meets calls in flight
        return asked(request)

    asked, chance = quiz(), random.Random(4)
    with OpenAIServer(answer) as server:  # type: ignore[arg-type]

        def started() -> Any:
            process = spawning.Process(target=_run, args=(tmp_path / "run", server.base_url))
            process.start()
            return process

        for _ in range(KILLS):
            begun = len(server.requests)
            child = started()
            goal = begun + chance.randint(1, needed // KILLS)
            while len(server.requests) < goal and child.is_alive():
                time.sleep(0.005)
            child.kill()
            child.join(60)
        child = started()
        child.join(120)
        assert child.exitcode == 0
        sent = Counter(str(request.body) for request in server.requests)
        repeated = sent.total() - len(sent)
        assert len(sent) == needed
        assert repeated <= KILLS * server.in_flight_peak
    killed = read_run(tmp_path / "run", PriceTable.load())
    # the cost includes what each session paid
    figures, unbroken = (run.figures.model_dump(exclude={"cost"}) for run in (killed, whole))
    assert figures == unbroken
    paid, without_kills = (run.figures.cost.usage["scripted"] for run in (killed, whole))
    assert paid.calls <= sent.total()
    assert paid.cold is not None
    assert without_kills.cold is not None
    assert paid.cold.input_tokens == without_kills.cold.input_tokens


async def test_a_spent_budget_stops_a_run_and_a_higher_one_resumes_it_for_the_same_cost(
    tmp_path: Path,
) -> None:
    benchmark, methods = lamps(2, free_form=True), ("rag", "regenerated-rag", "pipeline")
    quiz, stops = Quiz(), []
    with OpenAIServer(quiz) as server:

        async def run(name: str, tokens: int | None) -> BenchmarkRun:
            limits = Limits(1, max_tokens=tokens)
            return await run_quiz(
                tmp_path / name, server, benchmark, methods=methods, limits=limits
            )

        unbroken = await run("whole", None)
        whole, needed = unbroken.figures.cost, quiz.asked.total()
        used = sum(usage.input_tokens + usage.output_tokens for usage in whole.usage.values())
        for share in (2, 5, 8, 11):
            resumed = await run("resumed", used * share // 10)
            stops.append((type(resumed.stopped), resumed.figures.ended < 2))
    assert stops[0] == (BudgetError, True)
    assert resumed.stopped is None
    assert quiz.asked.total() == 2 * needed, "nothing was paid for twice"
    assert resumed.figures.paired == unbroken.figures.paired
    cost = resumed.figures.cost
    assert all(cost.tokens_per_net_correction.values())
    assert cost.tokens_per_net_correction == whole.tokens_per_net_correction
    assert {step: u.input_tokens for step, u in cost.by_step.items()} == {
        step: u.input_tokens for step, u in whole.by_step.items()
    }
