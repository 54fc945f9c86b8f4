"""Signs of life while there is nothing to say."""

import asyncio
import threading

import pytest

from conflictscore.middleware.service import completions
from conflictscore.middleware.service.completions import Completion, CompletionStream
from conflictscore.middleware.service.service import Ticket
from conflictscore.middleware.service.wire import ALIVE
from tests.fakes.openai_server import OpenAIServer
from tests.middleware.service.serving import (
    QUESTION,
    ChatWorld,
    events_in,
    serving,
)

SILENCE = ALIVE.decode()
TICKET = Ticket("r1", "correct", "m", 0.0)


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

    stream = CompletionStream(TICKET, include_usage=False, heartbeat=0.01)
    frames = stream.frames(asyncio.create_task(work()), asyncio.get_running_loop().create_future())
    heard = [(await anext(frames)).decode() for _ in range(12)]
    finished.set_result(reply("It was lit."))
    heard += [frame.decode() async for frame in frames]

    assert heard[1:5] == [SILENCE] * 4
    assert events_in(heard[5])[0][1]["choices"][0]["delta"] == {"content": ""}
    assert heard[6:10] == [SILENCE] * 4
    assert events_in(heard[10])[0][1]["choices"][0]["delta"] == {"content": ""}
    assert heard[-1] == "data: [DONE]\n\n"
    assert "It was lit." in "".join(heard)


async def test_an_answer_that_stands_is_said_once() -> None:
    loop = asyncio.get_running_loop()
    standing: asyncio.Future[Completion] = loop.create_future()
    finished: asyncio.Future[Completion] = loop.create_future()

    async def work() -> Completion:
        return await finished

    stream = CompletionStream(TICKET, include_usage=False, heartbeat=10)
    frames = stream.frames(asyncio.create_task(work()), standing)
    heard = [(await anext(frames)).decode()]
    standing.set_result(reply("It was lit."))
    heard.append((await anext(frames)).decode())
    finished.set_result(reply("It was lit."))
    heard += [frame.decode() async for frame in frames]

    assert "".join(heard).count("It was lit.") == 1


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/runs"])
def test_a_service_says_that_it_is_alive(
    world: ChatWorld, upstream: OpenAIServer, path: str
) -> None:
    gate = world.gates["Answer the question with"] = threading.Event()
    chat = {"model": "m", "messages": [{"role": "user", "content": QUESTION}], "stream": True}
    body = {"question": QUESTION} if path == "/v1/runs" else {**chat, "model": "scripted"}

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
