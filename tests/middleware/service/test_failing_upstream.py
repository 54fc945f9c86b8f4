"""An upstream that fails, hangs or sends nonsense, and what /readyz says about it."""

import json
from typing import Any

import pytest

from tests.fakes.openai_server import Fault, OpenAIServer
from tests.middleware.service.serving import (
    AGREEING,
    UPSTREAM_KEY,
    ChatWorld,
    completion_with,
    events_in,
    serving,
    until,
)
from tests.middleware.service.sockets import closed_port


@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [
        (Fault(429, retry_after="17", should_retry=False), 429, "upstream_rate_limit"),
        (Fault(429, retry_after="sp\xe4ter", should_retry=False), 429, "upstream_rate_limit"),
        (Fault(429, code="insufficient_quota", should_retry=False), 429, "insufficient_quota"),
        (Fault(500, should_retry=False), 502, "upstream_failed"),
        (Fault(503, should_retry=False), 502, "upstream_failed"),
        (Fault(404, should_retry=False), 502, "upstream_model_not_found"),
    ],
    ids=["429", "429-odd", "quota", "500", "503", "404"],
)
def test_its_errors_reach_the_caller_with_a_fitting_status_and_code(
    world: ChatWorld, fault: Fault, status: int, code: str
) -> None:
    world.broken["generate"] = world.plain = fault

    with serving(world) as served:
        reply = served.ask()
        run = served.run(served.ask(stream=True))
        failures = served.metric('conflictscore_failures_total{kind="upstream"}')

    error = reply.json()["error"]
    assert (reply.status_code, error["code"]) == (status, code)
    usable = fault.retry_after if fault.retry_after == "17" else None
    assert reply.headers.get("retry-after") == usable
    assert failures == 2
    assert run["status"] == "failed"
    assert world.handed_on == []  # it would not answer the unchanged request either


@pytest.mark.parametrize(
    ("fault", "status", "said"),
    [
        *(
            (Fault.raw(body), 502, '"code": "upstream_unreadable"')
            for body in (
                b"<html>",
                b"{}",
                b'{"choices": []}',
                b'{"choices": [{"message": 1}]}',
                b'{"choices": [{"message": {"tool_calls": ["x"]}}]}',
                b'{"choices": [{"message": {"tool_calls": [{"function": "x"}]}}]}',
                b'{"choices": [{"message": {"content": "Lit."}, "x": NaN}]}',
                b'{"choices": [{"message": {"content": "Lit."}, "x": 1e999}]}',
            )
        ),
        (Fault(500, should_retry=False), 502, "upstream_failed"),
        (Fault.raw(b'{"error": {"message": "slow down", "code": 429}}'), 429, "slow down"),
        (Fault(400, message="top_k: too small", code="bad_top_k"), 400, "top_k: too small"),
    ],
)
def test_a_failure_of_the_callers_own_request_is_counted_and_no_answer(
    world: ChatWorld, fault: Fault, status: int, said: str
) -> None:
    world.plain = fault

    with serving(world, settings={"first_answer": "upstream"}) as served:
        reply = served.ask(top_k=-1)
        failures = served.metric('conflictscore_failures_total{kind="upstream"}')

    assert (reply.status_code, failures) == (status, 1)
    assert said in reply.text
    assert reply.json()["error"]["code"] == fault.code or fault.code is None


def _ended_by(finish_reason: object) -> Fault:
    """A reply that is whole JSON, and does not say why the model stopped."""
    body = json.loads(completion_with({"content": "It was lit in 1871."}).body or b"")
    body["choices"][0]["finish_reason"] = finish_reason
    if finish_reason == "no field":
        del body["choices"][0]["finish_reason"]
    return Fault.raw(json.dumps(body).encode())


@pytest.mark.parametrize("ending", [None, "", "no field", "error"])
@pytest.mark.parametrize("first_answer", ["upstream", "rag"])
def test_a_reply_that_does_not_say_how_it_ended_is_checked_in_part(
    world: ChatWorld, first_answer: str, ending: object
) -> None:
    world.broken["generate"] = world.plain = _ended_by(ending)

    with serving(world, found=AGREEING, settings={"first_answer": first_answer}) as served:
        reply = served.ask()
        chunks = [data for _, data in events_in(served.ask(stream=True).text)]

    assert reply.headers["x-conflictscore-checked"] == "partly"
    assert reply.headers["x-conflictscore-reason"] == "unfinished_answer"
    for summary in (reply.json()["conflictscore"], chunks[-2]["conflictscore"]):
        assert (summary["checked"], summary["kind"]) == ("partly", "unfinished_answer")
        assert [note for note in summary["notes"] if "may be incomplete" in note] == [
            "the answer may be incomplete: it ended "
            + ("with “error”" if ending == "error" else "without a finish reason")
        ]


@pytest.mark.parametrize("first_answer", ["upstream", "rag"])
def test_a_reply_that_is_cut_in_mid_stream_is_no_answer(
    world: ChatWorld, first_answer: str, caplog: pytest.LogCaptureFixture
) -> None:
    whole = completion_with({"content": "It was lit in 1871."}).body or b""
    cut = Fault(200, body=whole[: len(whole) // 2], announced=len(whole))
    world.broken["generate"] = world.plain = cut

    with serving(world, found=AGREEING, settings={"first_answer": first_answer}) as served:
        reply = served.ask()
        streamed = served.ask(stream=True)
        run = served.run(streamed)

    assert (reply.status_code, reply.headers["x-conflictscore-checked"]) == (502, "no")
    for error in (reply.json()["error"], events_in(streamed.text)[-1][1]["error"]):
        assert error["code"] == "upstream_unreachable"
        assert "before its reply ended" in error["message"]
        assert "127.0.0.1" not in error["message"]
    assert "127.0.0.1" in caplog.text
    assert (run["status"], run["checked"], run["answer"]) == ("failed", "no", None)


def test_a_rejected_key_is_reported_as_the_services_not_the_callers(world: ChatWorld) -> None:
    locked = OpenAIServer(world, api_key="another key")
    with locked as upstream, serving(upstream) as served:
        reply = served.ask()

    assert reply.status_code == 502
    assert reply.json()["error"]["code"] == "upstream_authentication"
    assert UPSTREAM_KEY not in reply.text


@pytest.mark.parametrize("stream", [False, True])
def test_hanging_upstream_times_out(world: ChatWorld, stream: bool) -> None:
    world.broken["generate"] = world.plain = Fault.hang(60)

    with serving(world, settings={"timeout": 0.3}) as served:
        idle = served.tasks()
        reply = served.ask(stream=stream)
        served.clients[-1].close()
        until(lambda: served.tasks() <= idle)

    if stream:
        assert events_in(reply.text)[-1][1]["error"]["code"] == "timeout"
    else:
        assert (reply.status_code, reply.json()["error"]["code"]) == (504, "timeout")


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
