"""Streamed answers, and signs of life while there is no text to send."""

import json
import threading
from typing import Any

import pytest

from conflictscore.middleware.service.wire import ALIVE
from tests.middleware.service.serving import (
    AGREEING,
    PICTURE,
    QUESTION,
    ChatWorld,
    Served,
    asking,
    completion_with,
    events_in,
    serving,
    user,
)

EMPTY = '"delta": {"content": ""}'


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/runs"])
def test_silent_streams_show_life(world: ChatWorld, path: str) -> None:
    gate = world.gates["Documents that were found"] = threading.Event()
    stepwise = path == "/v1/runs"
    body = {"question": QUESTION} if stepwise else asking(model="scripted", stream=True)
    sign = ALIVE.decode() if stepwise else EMPTY

    with (
        serving(world, settings={"heartbeat": 0.02}) as served,
        served.http.stream("POST", path, json=body) as reply,
    ):
        assert reply.headers["content-type"].startswith("text/event-stream")
        assert reply.headers["cache-control"] == "no-cache"
        assert reply.headers["x-accel-buffering"] == "no"
        heard = ""
        for piece in reply.iter_text():
            heard += piece
            if heard.count(sign) > 2:
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


@pytest.mark.parametrize("other", [None, PICTURE], ids=["texts", "with a picture"])
def test_an_answer_in_parts_is_checked_and_streamed_to_its_end(
    world: ChatWorld, other: dict[str, Any] | None
) -> None:
    parts = [{"type": "text", "text": text} for text in ("It was ", "lit in 1871.")]
    world.plain = completion_with({"content": [*parts, *([other] if other else [])]})
    settings = {"first_answer": "upstream"}

    with serving(world, found=AGREEING, settings=settings) as served:
        reply = served.ask(stream=True)

    said = [data for _, data in events_in(reply.text)]
    assert said[-1] == "[DONE]"
    assert said[-2]["conflictscore"]["status"] == "scored"
    contents = [c["choices"][0]["delta"].get("content") for c in said[:-1]]
    assert "".join(c for c in contents if isinstance(c, str)) == "It was lit in 1871."
    assert [c for c in contents if isinstance(c, list)] == ([[other]] if other else [])
