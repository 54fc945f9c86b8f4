"""Streamed answers, and signs of life while there is no text to send."""

import asyncio
import json
import threading
from functools import reduce
from operator import add
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from conflictscore.middleware.service import completions
from conflictscore.middleware.service.completions import Completion, completion_frames
from conflictscore.middleware.service.service import RequestRecord
from conflictscore.middleware.service.wire import ALIVE
from tests.fakes.openai_server import OpenAIServer
from tests.middleware.service.serving import (
    AGREEING,
    QUESTION,
    ChatWorld,
    Listed,
    Served,
    asking,
    completion_with,
    events_in,
    serving,
    user,
)

SILENCE = ALIVE.decode()


RECORD = RequestRecord("r1", "correct", "m", 0.0)


PICTURE = {"type": "image_url", "image_url": {"url": "https://picture.test/lamp.png"}}


def reply(text: str) -> Completion:
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": "stop",
    }
    return {"choices": [choice], "usage": {}, "conflictscore": {}}


async def test_comments_keep_a_silent_stream_awake_and_now_and_then_a_chunk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(completions, "_CHUNK_SECONDS", 0.05)
    finished: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()

    async def work() -> Completion:
        return await finished

    task = asyncio.create_task(work())
    frames = completion_frames(RECORD, task, include_usage=False, heartbeat=0.01)
    heard = [(await anext(frames)).decode() for _ in range(12)]
    finished.set_result(reply("It was lit."))
    heard += [frame.decode() async for frame in frames]

    assert heard[1:5] == [SILENCE] * 4
    assert events_in(heard[5])[0][1]["choices"][0]["delta"] == {"content": ""}
    assert heard[6:10] == [SILENCE] * 4
    assert events_in(heard[10])[0][1]["choices"][0]["delta"] == {"content": ""}
    assert heard[-1] == "data: [DONE]\n\n"
    assert "It was lit." in "".join(heard)


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/runs"])
def test_a_silent_stream_shows_signs_of_life(
    world: ChatWorld, upstream: OpenAIServer, path: str
) -> None:
    gate = world.gates["Documents that were found"] = threading.Event()
    body = {"question": QUESTION} if path == "/v1/runs" else asking(model="scripted", stream=True)

    with (
        serving(upstream, settings={"heartbeat": 0.02}) as served,
        served.http.stream("POST", path, json=body) as reply,
    ):
        assert reply.headers["content-type"].startswith("text/event-stream")
        assert reply.headers["cache-control"] == "no-cache"
        assert reply.headers["x-accel-buffering"] == "no"
        heard = ""
        for piece in reply.iter_text():
            heard += piece
            if heard.count(SILENCE) > 2:
                gate.set()

    assert "1874" in heard


def test_openais_client_streams_the_final_answer(served: Served) -> None:
    stream = served.openai.chat.completions.create(
        model="scripted", messages=user(), stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)

    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == "It was lit in 1874."
    assert "1871" not in json.dumps([c.choices[0].delta.model_dump() for c in chunks[:-1]])
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert (chunks[-2].model_extra or {})["conflictscore"]["status"] == "corrected"
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.prompt_tokens > 1000


@pytest.mark.parametrize("streaming", [False, True])
def test_langchains_client_reads_it(served: Served, streaming: bool) -> None:
    chat = ChatOpenAI(
        model="conflictscore",
        base_url=f"{served.address}/v1",
        api_key=SecretStr("none"),
        stream_usage=True,
        include_response_headers=True,
    )
    if streaming:
        reply: AIMessage = reduce(add, chat.stream(QUESTION))
    else:
        reply = chat.invoke(QUESTION)

    assert reply.text == "It was lit in 1874."
    assert "x-conflictscore-run-id" in reply.response_metadata["headers"]
    assert reply.usage_metadata is not None
    assert reply.usage_metadata["input_tokens"] > 1000


@pytest.mark.parametrize("other", [None, PICTURE], ids=["texts", "with a picture"])
def test_an_answer_in_parts_is_checked_and_streamed_to_its_end(
    world: ChatWorld, upstream: OpenAIServer, other: dict[str, Any] | None
) -> None:
    parts = [{"type": "text", "text": text} for text in ("It was ", "lit in 1871.")]
    world.plain = completion_with({"content": [*parts, *([other] if other else [])]})
    settings = {"first_answer": "upstream"}

    with serving(upstream, retriever=Listed(found=AGREEING), settings=settings) as served:
        reply = served.ask(stream=True)

    said = [data for _, data in events_in(reply.text)]
    assert said[-1] == "[DONE]"
    assert said[-2]["conflictscore"]["status"] == "scored"
    contents = [c["choices"][0]["delta"].get("content") for c in said[:-1]]
    assert "".join(c for c in contents if isinstance(c, str)) == "It was lit in 1871."
    assert [c for c in contents if isinstance(c, list)] == ([[other]] if other else [])
