"""What stands in for an upstream that cannot answer, and what tells a balancer to wait."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from conflictscore.graph.create import run_context
from conflictscore.graph.settings import LoopSettings
from conflictscore.nodes.state import RunContext
from tests.fakes.openai_server import Fault, OpenAIServer
from tests.middleware.service.serving import (
    MODES,
    QUESTION,
    UPSTREAM_KEY,
    ChatWorld,
    Listed,
    Served,
    events_in,
    serving,
)
from tests.middleware.service.sockets import closed_port
from tests.world import PAPER

DOWN = Fault(503, should_retry=False)


class Nowhere:
    base_url = f"http://127.0.0.1:{closed_port()}/v1"


@pytest.fixture
def spare(upstream: OpenAIServer) -> Iterator[OpenAIServer]:
    """A second upstream, of the same world."""
    with OpenAIServer(ChatWorld(), api_key=UPSTREAM_KEY) as server:
        yield server


def context_of(server: Any) -> RunContext:
    settings = LoopSettings(base_url=server.base_url, cache=False, **PAPER)
    return run_context("spare", Listed(), settings)


@contextmanager
def backed(upstream: Any, spare: OpenAIServer, **settings: Any) -> Iterator[Served]:
    with serving(upstream, settings=settings, fallbacks=[context_of(spare)]) as served:
        yield served


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_a_fallback_answers_for_an_upstream_that_cannot(
    world: ChatWorld, upstream: OpenAIServer, spare: OpenAIServer, mode: str, stream: bool
) -> None:
    world.broken["generate"] = world.plain = DOWN
    with backed(upstream, spare, mode=mode) as served:
        first = served.ask(stream=stream)
        run = served.run(first)
        asked = len(upstream.requests)
        second = served.ask()

    assert (first.status_code, second.status_code) == (200, 200)
    assert run["status"] in ("corrected", "annotated", "observed")
    assert len(upstream.requests) == asked, "it is left alone for a while"
    assert run["models"]["generator"] == "spare", "the record names who answered"
    assert upstream.base_url not in json.dumps(run)
    assert spare.base_url not in json.dumps(run)


@pytest.mark.parametrize("first_answer", ["rag", "upstream"])
def test_one_that_cannot_check_is_replaced_with_its_answer_kept(
    world: ChatWorld, upstream: OpenAIServer, spare: OpenAIServer, first_answer: str
) -> None:
    world.broken["label"] = DOWN
    with backed(upstream, spare, first_answer=first_answer) as served:
        reply = served.ask().json()

    assert reply["conflictscore"]["status"] == "corrected"
    answered = [r for r in spare.requests if "Answer the question with" in r.prompt]
    assert not answered
    assert not [r for r in spare.requests if r.prompt == QUESTION]


def test_what_the_caller_did_wrong_is_not_asked_again(
    world: ChatWorld, upstream: OpenAIServer, spare: OpenAIServer
) -> None:
    world.plain = Fault(400, message="no such parameter")
    with backed(upstream, spare, mode="observe") as served:
        assert served.ask().status_code == 400

    assert not spare.requests


def test_where_all_are_down_the_last_one_says_why(upstream: OpenAIServer) -> None:
    with serving(Nowhere(), fallbacks=[context_of(Nowhere())]) as served:
        reply = served.ask()

    assert (reply.status_code, reply.json()["error"]["code"]) == (502, "upstream_unreachable")


def test_steps_go_to_the_fallback_once_the_upstream_has_failed(
    world: ChatWorld, upstream: OpenAIServer, spare: OpenAIServer
) -> None:
    world.broken["generate"] = DOWN
    with backed(upstream, spare) as served:
        ends = [
            events_in(served.http.post("/v1/runs", json={"question": "When?"}).text)[-1][0]
            for _ in range(2)
        ]

    assert ends == ["error", "run"]


class TestReady:
    def test_upstream_and_judge_are_asked_without_a_key_and_not_each_time(
        self, upstream: OpenAIServer
    ) -> None:
        with serving(upstream, settings={"keys": ("key-number-one-0123456789",)}) as served:
            del (client := served.http).headers["authorization"]
            replies = [client.get("/readyz") for _ in range(5)]

        assert [reply.status_code for reply in replies] == [200] * 5
        assert replies[0].json() == {"status": "ready", "upstream": "ok", "judge": "ok"}

    def test_an_upstream_that_cannot_be_reached_is_not_ready_and_healthy(self) -> None:
        with serving(Nowhere()) as served:
            ready, health = served.http.get("/readyz"), served.http.get("/healthz")

        assert (ready.status_code, health.status_code) == (503, 200)
        assert ready.json()["upstream"] == "cannot be reached"
        assert "127.0.0.1" not in json.dumps(ready.json())

    def test_a_refused_key_is_not_ready(self, world: ChatWorld) -> None:
        with OpenAIServer(world, api_key="another") as upstream, serving(upstream) as served:
            assert served.http.get("/readyz").json()["judge"] == "refuses this service's key"

    def test_one_upstream_that_can_be_asked_is_enough(self, spare: OpenAIServer) -> None:
        with serving(Nowhere(), fallbacks=[context_of(spare)]) as served:
            reply = served.http.get("/readyz")

        assert reply.status_code == 200
        assert reply.json() == {
            "status": "ready",
            "upstream": "cannot be reached",
            "judge": "cannot be reached",
            "fallback_1": "ok",
            "fallback_1_judge": "ok",
        }
