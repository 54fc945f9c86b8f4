"""The fake speaks OpenAI's protocol well enough for the real clients to believe it."""

import asyncio
import json
import threading
from typing import Any

import openai
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_openai import ChatOpenAI

from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply, script, then


def echo(request: ChatRequest) -> str:
    return f"You said:  {request.prompt}\n"


def chat(server: OpenAIServer, **options: Any) -> ChatOpenAI:
    settings = {"model": "test-model", "api_key": "right-key", "max_retries": 0, "timeout": 60}
    return ChatOpenAI(base_url=server.base_url, **{**settings, **options})


def test_a_reply_comes_back_with_its_counts_and_the_request_is_kept() -> None:
    with OpenAIServer(echo) as server:
        reply = chat(server, temperature=0.5).invoke([("system", "Be kind."), ("user", "hello")])
    assert reply.content == "You said:  hello\n"
    assert isinstance(reply, AIMessage)
    assert reply.response_metadata["finish_reason"] == "stop"
    assert reply.usage_metadata is not None
    assert reply.usage_metadata["input_tokens"] == 3
    assert reply.usage_metadata["output_tokens"] == 3
    [request] = server.requests
    assert (request.model, request.prompt) == ("test-model", "hello")
    assert [message["role"] for message in request.messages] == ["system", "user"]
    assert request.body["temperature"] == 0.5
    assert request.headers["authorization"] == "Bearer right-key"


def test_the_prompt_is_the_text_of_the_last_user_message_also_when_it_comes_in_parts() -> None:
    parts: list[str | dict[Any, Any]] = [
        {"type": "text", "text": "what is "},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "text", "text": "this?"},
    ]
    history = [HumanMessage("first"), AIMessage("yes?"), HumanMessage(parts)]
    with OpenAIServer(echo) as server:
        chat(server).invoke(history)
    assert server.requests[0].prompt == "what is this?"


async def test_an_async_client_overlaps_its_requests_and_the_peak_is_seen() -> None:
    together = threading.Barrier(3, timeout=30)

    def wait_for_the_others(request: ChatRequest) -> str:
        together.wait()
        return request.prompt

    with OpenAIServer(wait_for_the_others) as server:
        model = chat(server)
        replies = await asyncio.gather(*(model.ainvoke(text) for text in "abc"))
    assert [reply.content for reply in replies] == ["a", "b", "c"]
    assert server.in_flight_peak == 3


@pytest.mark.parametrize("text", ["two  words\n\n and more ", "", "\n"])
def test_a_streamed_reply_adds_up_to_the_whole_text_and_its_counts(text: str) -> None:
    with OpenAIServer(then(Reply(text, input_tokens=11, output_tokens=7))) as server:
        pieces = list(chat(server, stream_usage=True).stream("hello"))
    assert "".join(str(piece.content) for piece in pieces) == text
    assert [p.usage_metadata["total_tokens"] for p in pieces if p.usage_metadata] == [18]
    assert server.requests[0].body["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize("streaming", [False, True])
def test_logprobs_come_ranked_to_a_request_that_asks_for_them(streaming: bool) -> None:
    reply = Reply("Yes, it is.", logprobs={"No": -2.0, "Yes": -0.1, "Maybe": -5.0})
    with OpenAIServer(script(reply, reply)) as server:
        model = chat(server, streaming=streaming)
        plain = model.invoke("is it?")
        asked = model.bind(logprobs=True, top_logprobs=2).invoke("is it?")
    assert not plain.response_metadata.get("logprobs")
    [first] = asked.response_metadata["logprobs"]["content"]
    assert (first["token"], first["logprob"]) == ("Yes", -0.1)
    assert [(top["token"], top["logprob"]) for top in first["top_logprobs"]] == [
        ("Yes", -0.1),
        ("No", -2.0),
    ]


def test_a_refusal_is_streamed_as_a_refusal() -> None:
    with OpenAIServer(script(Reply(refusal="I will not."))) as server:
        client = openai.OpenAI(base_url=server.base_url, api_key="any")
        stream = client.chat.completions.create(
            model="any", messages=[{"role": "user", "content": "do it"}], stream=True
        )
        deltas = [chunk.choices[0].delta for chunk in stream]
    assert "".join(delta.refusal or "" for delta in deltas) == "I will not."
    assert not any(delta.content for delta in deltas)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, openai.BadRequestError),
        (401, openai.AuthenticationError),
        (404, openai.NotFoundError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
        (503, openai.InternalServerError),
    ],
)
def test_a_fault_is_the_clients_own_error_with_message_and_code(
    status: int, expected: type[openai.APIStatusError]
) -> None:
    fault = Fault(status, message="not today", code="some_code", retry_after="7")
    with OpenAIServer(then(fault)) as server, pytest.raises(expected, match="not today") as caught:
        chat(server).invoke("hi")
    assert (caught.value.status_code, caught.value.code) == (status, "some_code")
    assert caught.value.response.headers["retry-after"] == "7"
    assert set(caught.value.response.json()["error"]) == {"message", "type", "param", "code"}


async def test_closing_the_server_ends_a_hang_for_the_client_and_for_its_own_thread() -> None:
    arrived = threading.Event()
    threads: list[threading.Thread] = []

    def hang(_: ChatRequest) -> Fault:
        threads.append(threading.current_thread())
        arrived.set()
        return Fault.hang(3600)

    with OpenAIServer(hang) as server:
        waiting = asyncio.create_task(chat(server).ainvoke("hi"))
        assert await asyncio.to_thread(arrived.wait, 30)
    with pytest.raises(openai.APIConnectionError):
        await waiting
    threads[0].join(30)
    assert not threads[0].is_alive()


@pytest.mark.parametrize("body", [b'{"id": "chatcmpl-1", "choices": [{"mess', b"", b"<html>"])
def test_a_broken_body_reaches_the_client_as_it_is(body: bytes) -> None:
    with OpenAIServer(then(Fault.raw(body))) as server:
        client = openai.OpenAI(base_url=server.base_url, api_key="any", max_retries=0)
        response = client.chat.completions.with_raw_response.create(
            model="any", messages=[{"role": "user", "content": "hi"}]
        )
        assert response.http_response.content == body
        with pytest.raises(json.JSONDecodeError):
            chat(server).invoke("hi")


def test_a_wrong_key_is_turned_away_before_the_handler_is_asked() -> None:
    with OpenAIServer(script("welcome"), api_key="right-key") as server:
        with pytest.raises(openai.AuthenticationError) as caught:
            chat(server, api_key="wrong-key").invoke("hi")
        assert caught.value.code == "invalid_api_key"
        assert chat(server).invoke("hi").content == "welcome"
        with pytest.raises(openai.AuthenticationError):
            openai.OpenAI(base_url=server.base_url, api_key="wrong-key").models.list()


def test_models_are_listed_and_any_other_is_not_found() -> None:
    with OpenAIServer(echo, models=["small", "large"]) as server:
        client = openai.OpenAI(base_url=server.base_url, api_key="any")
        assert [model.id for model in client.models.list()] == ["small", "large"]
        with pytest.raises(openai.NotFoundError, match="`huge` does not exist") as caught:
            chat(server, model="huge").invoke("hi")
    assert caught.value.code == "model_not_found"


def test_a_script_gives_its_replies_in_order_and_then_fails_without_a_retry() -> None:
    with OpenAIServer(script("one", Reply("two"))) as server:
        model = chat(server, max_retries=5)
        assert [model.invoke("hi").content for _ in range(2)] == ["one", "two"]
        with pytest.raises(openai.InternalServerError, match="script exhausted"):
            model.invoke("hi")
    assert len(server.requests) == 3
