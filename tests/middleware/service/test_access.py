"""Who is let in, and what they may see."""

import re
from typing import Any

import openai
import pytest

from conflictscore.errors import InputError
from conflictscore.middleware.service import ServiceSettings
from tests.fakes.openai_server import Fault, OpenAIServer
from tests.middleware.service.serving import QUESTION, UPSTREAM_KEY, ChatWorld, serving

ONE, OTHER = "key-number-one-0123456789", "key-number-two-0123456789"


@pytest.mark.parametrize(
    "authorization",
    [None, "Bearer", f"Bearer {ONE[:-1]}", f"Bearer {ONE}0", f"Basic {ONE}", ONE, "Bearer \xff"],
)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/chat/completions"),
        ("POST", "/v1/runs"),
        ("GET", "/v1/runs/any"),
        ("GET", "/v1/models"),
        ("GET", "/v1/models/conflictscore"),
        ("GET", "/metrics"),
    ],
)
def test_without_a_valid_key_nothing_is_given(
    upstream: OpenAIServer, method: str, path: str, authorization: str | None
) -> None:
    with serving(upstream, settings={"keys": (ONE, OTHER)}) as served:
        client = served.http
        del client.headers["authorization"]
        given = {} if authorization is None else {b"authorization": authorization.encode("latin-1")}
        reply = client.request(method, path, headers=given)
        open_to_all = client.get("/healthz")

    assert (reply.status_code, reply.json()["error"]["code"]) == (401, "invalid_api_key")
    assert ONE[:-1] not in reply.text
    assert open_to_all.json() == {"status": "ok"}


def test_openais_client_raises_its_authentication_error(upstream: OpenAIServer) -> None:
    with serving(upstream, settings={"keys": (ONE,)}) as served:
        wrong = openai.OpenAI(base_url=f"{served.address}/v1", api_key="wrong", max_retries=0)
        with wrong, pytest.raises(openai.AuthenticationError):
            wrong.models.list()
        assert served.openai.models.list().data[0].id == "conflictscore"


def test_a_key_sees_its_own_runs_only(upstream: OpenAIServer) -> None:
    with serving(upstream, settings={"keys": (ONE, OTHER)}) as served:
        run_id = served.ask().headers["x-conflictscore-run-id"]
        own = served.http.get(f"/v1/runs/{run_id}")
        theirs = served.http.get(f"/v1/runs/{run_id}", headers={"authorization": f"Bearer {OTHER}"})

    assert own.status_code == 200
    assert (theirs.status_code, theirs.json()["error"]["code"]) == (404, "run_not_found")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8400", 200),
        ("127.0.0.1", 200),
        ("[::1]:8400", 200),
        ("conflictscore.test", 403),
        ("10.0.0.1", 403),
        ("localhost.test", 403),
    ],
)
def test_without_keys_it_answers_only_to_this_machines_names(
    upstream: OpenAIServer, host: str, status: int
) -> None:
    with serving(upstream) as served:
        reply = served.http.get("/v1/models", headers={"host": host})

    assert reply.status_code == status


@pytest.mark.parametrize("settings", [{"no_auth": True}, {"keys": (ONE,)}])
def test_with_keys_or_no_auth_it_answers_to_any_name(
    upstream: OpenAIServer, settings: dict[str, Any]
) -> None:
    with serving(upstream, settings=settings) as served:
        reply = served.http.get("/v1/models", headers={"host": "conflictscore.test"})

    assert reply.status_code == 200


def test_neither_questions_nor_keys_are_logged(
    world: ChatWorld, upstream: OpenAIServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "conflictscore")
    caplog.set_level("INFO")
    quoting = Fault(500, message=f"I cannot answer {QUESTION!r}", should_retry=False)
    world.broken["regenerate"] = quoting

    with serving(upstream, settings={"keys": (ONE,)}) as served:
        assert served.ask().status_code == 200
        served.ask(stream=True)
        assert served.metric('conflictscore_failures_total{kind="regeneration"}') == 2

    assert re.search(r"run \w+: failed: regeneration", caplog.text)
    for secret in (QUESTION, "1871", ONE, UPSTREAM_KEY):
        assert secret not in caplog.text


@pytest.mark.parametrize(
    "wrong",
    [
        {"mode": "guess"},
        {"on_failure": "shrug"},
        {"first_answer": "oracle"},
        {"max_body": 0},
        {"max_concurrent": 0},
        {"timeout": 0},
        {"timeout": float("inf")},
        {"heartbeat": 31},
        {"keys": ("short",)},
        {"keys": ("a key with spaces in it",)},
        {"keys": ("schlüssel-number-0123456789",)},
    ],
)
def test_settings_out_of_range_are_refused_without_showing_a_key(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError) as raised:
        ServiceSettings(**wrong)

    [(name, value)] = wrong.items()
    assert (name if name != "keys" else "key 1") in str(raised.value)
    if name == "keys":
        assert value[0] not in str(raised.value)


def test_settings_do_not_show_their_keys() -> None:
    assert ONE not in repr(ServiceSettings(keys=(ONE,)))
