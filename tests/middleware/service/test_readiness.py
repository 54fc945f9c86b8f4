"""``/readyz``: whether a balancer may send requests."""

import json
from typing import Any

import pytest

from tests.fakes.openai_server import OpenAIServer
from tests.middleware.service.serving import ChatWorld, serving
from tests.middleware.service.sockets import closed_port


class Nowhere:
    base_url = f"http://127.0.0.1:{closed_port()}/v1"


def test_upstream_and_judge_are_asked_without_key_and_not_each_time(upstream: OpenAIServer) -> None:
    with serving(upstream, settings={"keys": ("key-number-one-0123456789",)}) as served:
        del (client := served.http).headers["authorization"]
        replies = [client.get("/readyz") for _ in range(5)]

    assert [reply.status_code for reply in replies] == [200] * 5
    assert replies[0].json() == {"status": "ready", "upstream": "ok", "judge": "ok"}


def test_an_upstream_that_cannot_be_reached_is_not_ready_and_healthy() -> None:
    with serving(Nowhere()) as served:
        ready, health = served.http.get("/readyz"), served.http.get("/healthz")

    assert (ready.status_code, health.status_code) == (503, 200)
    assert ready.json()["upstream"] == "cannot be reached"
    assert "127.0.0.1" not in json.dumps(ready.json())


@pytest.mark.parametrize(
    ("upstream", "asked", "state"),
    [
        ({}, "upstream", "ok"),
        ({"models": ("scripted", "another")}, "upstream", "ok"),
        ({"models": ("scripted:latest",)}, "upstream", "ok"),
        ({"models": ("another",)}, "upstream", "does not list its model"),
        ({"api_key": "another"}, "judge", "refuses this service's key"),
    ],
)
def test_a_refused_key_or_an_unlisted_model_is_not_ready(
    world: ChatWorld, upstream: dict[str, Any], asked: str, state: str
) -> None:
    with OpenAIServer(world, **upstream) as server, serving(server) as served:
        ready = served.http.get("/readyz")

    assert (ready.status_code, ready.json()[asked]) == (200 if state == "ok" else 503, state)
