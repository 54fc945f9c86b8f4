"""Requests that cannot be served, and the errors that their callers get."""

import json
from typing import Any

import pytest
from httpx2 import Response
from hypothesis import given
from hypothesis import strategies as st

from conflictscore.middleware.service.refusals import RefusedError
from conflictscore.middleware.service.requests import ChatRequest, read_chat, read_json, read_run
from conflictscore.middleware.service.responses_request import read_responses
from tests.fakes.openai_server import OpenAIServer
from tests.middleware.service.serving import QUESTION, Served, asking, serving, user


def sent(served: Served, body: Any, kind: str = "application/json") -> Response:
    headers = {"content-type": kind}
    return served.http.post("/v1/chat/completions", content=body, headers=headers)


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"model": None}, "model"),
        ({"model": ""}, "model"),
        ({"messages": []}, "messages"),
        ({"messages": "When?"}, "messages"),
        ({"messages": [{"role": "pirate", "content": "When?"}]}, "messages[0].role"),
        ({"messages": user(7)}, "messages[0].content"),
        ({"messages": user(["a"])}, "messages[0].content"),
        ({"messages": user([{"type": "text"}])}, "messages[0].content"),
        ({"temperature": 3}, "temperature"),
        ({"temperature": "hot"}, "temperature"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"n": 0}, "n"),
        ({"stream": "yes"}, "stream"),
        ({"stream_options": {"include_usage": 1}}, "stream_options.include_usage"),
        ({"tools": ["hammer"]}, "tools[0]"),
        ({"chat_template": "{{ messages }}"}, "chat_template"),
        ({"chat_template_kwargs": {"tools": []}}, "chat_template_kwargs.tools"),
        ({"models": ["another/model"]}, "models"),
        ({"provider": {"order": ["evil"]}}, "provider"),
        ({"base_url": "https://evil.test"}, "base_url"),
        ({"guided_regex": "(a+)+$"}, "guided_regex"),
        ({"max_tokens": 10**30}, "max_tokens"),
        ({"stop": ["x"] * 17}, "stop.constrained-str"),
        ({"stop": "x" * 600}, "stop.constrained-str"),
        ({"logit_bias": {str(n): 1 for n in range(2000)}}, "logit_bias"),
        ({"n": 10_000}, "n"),
        ({"metadata": {"k": "v" * 600}}, "metadata.k"),
        ({"user": "u" * 600}, "user"),
        ({"tools": [{}] * 300}, "tools"),
        ({"messages": [{**user()[0], "cache_control": {}}]}, "messages[0].cache_control"),
    ],
)
def test_a_wrong_field_is_named(served: Served, change: dict[str, Any], param: str) -> None:
    reply = served.http.post("/v1/chat/completions", json=asking(**change))

    error = reply.json()["error"]
    assert (reply.status_code, error["param"]) == (400, param)
    assert error["type"] == "invalid_request_error"
    assert error["message"].startswith(f"{param}: ")
    assert served.upstream.requests == []


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"n": NaN}',
        b'{"n": -Infinity}',
        b'{"documents": [{"score": 1e999}]}',
        b'{"n": ' + b"1" * 400 + b"}",
        b'{"model": "\\ud800"}',
        b'{"n": ' + b"1" * 5000 + b"}",
    ],
    ids=[
        "cut",
        "list",
        "bytes",
        "deep",
        "nan",
        "infinity",
        "beyond a double",
        "no double",
        "surrogate",
        "digits",
    ],
)
def test_a_body_that_is_not_a_json_object_is_refused(served: Served, body: bytes) -> None:
    reply = sent(served, body)

    assert (reply.status_code, reply.json()["error"]["code"]) == (400, "invalid_json")


def test_inner_fields_of_odd_types_are_no_failure_of_the_service() -> None:
    call = {"id": ["a"], "function": {"name": "f", "arguments": "{}"}}
    turns = [{"role": "assistant", "content": None, "tool_calls": [call]}, *user()]
    assert read_chat(asking(messages=turns)).asked.question == QUESTION
    part = {"type": {"a": 1}, "text": "When?"}
    item = {"type": "message", "role": "user", "content": [part]}
    with pytest.raises(RefusedError, match=r"input\[0\].content\[0\].type"):
        read_responses({"model": "m", "input": [item]}, {})
    history = [{"role": "assistant", "content": "", "tool_calls": ["x"]}]
    with pytest.raises(RefusedError, match="history, turn 1: it is not a message"):
        read_run({"question": QUESTION, "history": history})


@pytest.mark.parametrize("end", ["%0A", "%0a%0A", "/"])
def test_a_route_is_matched_to_the_end_of_its_path(served: Served, end: str) -> None:
    for path in ("/healthz", "/v1/models", "/metrics"):
        reply = served.http.get(path + end)

        assert reply.status_code == 404


def test_a_page_of_another_site_cannot_send_a_request(served: Served) -> None:
    body = json.dumps(asking())
    simple = sent(served, body, kind="text/plain")
    asked_leave = served.http.options("/v1/chat/completions")

    assert (simple.status_code, simple.json()["error"]["code"]) == (415, "not_json")
    assert asked_leave.status_code == 405
    assert "access-control-allow-origin" not in asked_leave.headers


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_too_large_is_not_read_on(upstream: OpenAIServer, chunked: bool) -> None:
    body = json.dumps(asking(user="x" * 10_000)).encode()
    pieces = (body[i : i + 1000] for i in range(0, len(body), 1000))

    with serving(upstream, settings={"max_body": 5000}) as served:
        reply = sent(served, pieces if chunked else body)
        again = served.ask()

    assert (reply.status_code, reply.json()["error"]["code"]) == (413, "body_too_large")
    assert "5000 bytes" in reply.json()["error"]["message"]
    assert again.status_code == 200


def test_an_unknown_route_or_method_gets_an_error_of_the_same_form(served: Served) -> None:
    lost = served.http.get("/v1/embeddings")
    wrong = served.http.get("/v1/chat/completions")

    assert (lost.status_code, lost.json()["error"]["code"]) == (404, "no_such_route")
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)
_ROLES = ["system", "developer", "user", "assistant", "tool", "function", "nobody"]
_MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(_ROLES)},
    optional={
        "content": st.text(max_size=20)
        | st.lists(st.fixed_dictionaries({"type": st.sampled_from(["text", "image_url"])}))
        | _ANY,
        "tool_calls": st.lists(st.fixed_dictionaries({"id": st.text(), "function": _ANY})) | _ANY,
        "tool_call_id": st.text(max_size=5) | _ANY,
        "name": _ANY,
    },
)
_BODY = st.fixed_dictionaries(
    {"model": st.just("m"), "messages": st.lists(_MESSAGE, max_size=5) | _ANY},
    optional=dict.fromkeys(
        ("n", "stop", "temperature", "max_tokens", "tools", "stream", "response_format"), _ANY
    ),
)


def read(data: bytes) -> ChatRequest | RefusedError:
    try:
        return read_chat(read_json(data))
    except RefusedError as refusal:
        return refusal


@given(body=_BODY | st.dictionaries(st.text(), _ANY))
def test_any_object_is_read_or_refused_with_its_field(body: dict[str, Any]) -> None:
    outcome = read(json.dumps(body, ensure_ascii=False).encode(errors="surrogatepass"))

    if isinstance(outcome, RefusedError):
        assert outcome.status == 400
        assert outcome.code == "invalid_json" or outcome.param
    else:
        assert outcome.body == body
        assert outcome.unchecked is not None or outcome.asked.question.strip()


@given(data=st.binary())
def test_any_bytes_are_an_object_or_refused(data: bytes) -> None:
    outcome = read(data)

    assert isinstance(outcome, RefusedError)
    assert outcome.status == 400


def test_fields_that_are_always_sent_join_the_callers() -> None:
    request = read_chat(
        {
            "model": "m",
            "messages": [{"role": "user", "content": "When?"}],
            "max_tokens": 5,
            "top_k": 3,
            "seed": None,
            "stream": False,
        }
    )

    assert request.answer_parameters({"think": False}) == {
        "extra_body": {"think": False, "top_k": 3},
        "max_tokens": 5,
    }
    assert "When?" not in repr(request)
