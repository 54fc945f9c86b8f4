"""Endless replies are read up to a limit, refused in one line, and not requested again."""

import gzip
import json
from dataclasses import replace

import httpx2
import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel

from conflictscore.errors import ProviderError
from conflictscore.models import open_model
from conflictscore.models.bounds import bound_reply
from conflictscore.models.spec import from_chat_model
from tests.fakes.flood_server import FLOOD, flooding
from tests.fakes.openai_server import OpenAIServer, Reply, then
from tests.models.calling import ask

BOUND = 50_000
TOO_LONG = "sent a reply of more than 50,000 bytes; the rest was not read"
_HEAD = {"id": "c", "object": "chat.completion", "created": 0, "model": "m"}


@pytest.fixture(autouse=True)
def _a_low_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conflictscore.models.bounds._MOST_BYTES", BOUND)


def answered(headers: dict[str, str]) -> httpx2.Response:
    request = httpx2.Request("GET", "http://127.0.0.1/")
    stream = httpx2.ByteStream(b"In 1871.")
    return httpx2.Response(200, headers=headers, stream=stream, request=request)


def chunk(text: str) -> bytes:
    choices = [{"index": 0, "delta": {"role": "assistant", "content": text}}]
    return f"data: {json.dumps({**_HEAD, 'choices': choices})}\n\n".encode()


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_flood_is_not_read_to_its_end_nor_asked_for_again(streamed: bool) -> None:
    begin, piece = json.dumps({**_HEAD, "choices": "x"})[:-2].encode(), b"x" * 65_536
    if streamed:
        begin, piece = chunk("It "), chunk("was " * 8000)
    kind = "text/event-stream" if streamed else "application/json"
    with flooding(begin, piece, content_type=kind) as flood:
        model = open_model("m", base_url=f"{flood.url}/v1")
        streaming = {"streaming": streamed, "disable_streaming": not streamed}
        model = replace(model, chat=model.chat.model_copy(update=streaming))
        with pytest.raises(ProviderError, match=TOO_LONG):
            await ask(model)
    assert flood.requests == 1
    assert flood.sent[0] < FLOOD / 10, "the client hung up"


async def test_a_reply_within_the_bound_is_read_and_one_that_says_it_is_longer_is_not() -> None:
    with OpenAIServer(then("In 1871.", Reply("x" * BOUND))) as server:
        model = open_model("m", base_url=server.base_url)
        assert await ask(model) == "In 1871."
        with pytest.raises(ProviderError, match=TOO_LONG):
            await ask(model)
        assert len(server.requests) == 2


async def test_a_reply_that_is_packed_unasked_is_not_unpacked() -> None:
    with flooding(b"", gzip.compress(b" " * 10**6), coding="gzip") as flood:
        model = open_model("m", base_url=f"{flood.url}/v1")
        with pytest.raises(ProviderError, match=r"compressed its reply \(gzip\)"):
            await ask(model)
    assert flood.requests == 1


@pytest.mark.parametrize("coding", ["Identity", " identity ", ""])
def test_a_reply_that_is_not_packed_is_read_however_its_header_says_so(coding: str) -> None:
    response = answered({"content-encoding": coding})
    bound_reply(response)
    assert response.read() == b"In 1871."


def test_an_announced_length_of_thousands_of_digits_is_too_long() -> None:
    with pytest.raises(ProviderError, match=TOO_LONG):
        bound_reply(answered({"content-length": "9" * 5_000}))


async def test_what_another_client_read_is_refused_too() -> None:
    with pytest.raises(ProviderError, match=TOO_LONG):
        await ask(from_chat_model(FakeListChatModel(responses=["x" * (BOUND + 1)])))
