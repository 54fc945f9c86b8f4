"""The direct path of a judge's calls sends and means what LangChain's client sends and means."""

import asyncio
import dataclasses
import gc
import json
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trustme
from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.globals import set_llm_cache
from langchain_openai import ChatOpenAI

from conflictscore.errors import ConflictScoreError, ProviderError
from conflictscore.labelers import LABELERS, label_table, make_labeler
from conflictscore.models import direct
from conflictscore.models.failures import Retries
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.ledger import Ledger, attach
from conflictscore.models.spec import open_model
from conflictscore.models.usage import UsageMeter
from tests.fakes.flood_server import flooding
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply, from_cache, then
from tests.labelers.judging import PROMPTS, claim, document, letter, verdict
from tests.world import World

KEY = "zaphod-0042-beeblebrox"
WAYS = ("langchain", "direct")
JUDGES = [name for name, kind in LABELERS.items() if kind.needs == "model"]
ODD = 'Zürich \u2013 \U0001f3db\ufe0f "so" <b>\n\u2028 it was lit in 1871. \ud83d'


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def opened(
    url: str, way: str, name: str = "test-model", attempts: int = 1, **fields: Any
) -> LanguageModel:
    model = open_model(name, base_url=url)
    chat = model.chat.model_copy(update=fields)
    tries = Retries(attempts=attempts, patience=0.1)
    return dataclasses.replace(model, chat=chat, direct=way != "langchain", retries=tries)


async def ask(model: LanguageModel, meter: UsageMeter | None = None) -> object:
    labeler = make_labeler("json", model, PROMPTS)
    label = await labeler.label(claim(), document(), meter or UsageMeter())
    return label.model_dump(mode="json")


def sent(request: ChatRequest) -> tuple[bytes, dict[str, str]]:
    """All that says something."""
    return request.raw, {n: said for n, said in request.headers.items() if n != "connection"}


def unreadable_at_first(world: World) -> Callable[[ChatRequest], Any]:
    return then(Reply("Zürich \ud83d", logprobs={"Z": -0.1}), world)


@pytest.mark.parametrize("name", ["test-model", "gpt-4.1-mini", "o4-mini"])
@pytest.mark.parametrize("labeler", JUDGES)
async def test_every_judge_sends_what_langchain_would_send_to_the_byte(
    labeler: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-ours")
    claims = [claim(ODD, 1), claim("It was lit in 1874.", 2)]
    documents = [document(ODD, 1, title="Gazette"), document("The log: 1874.", 2)]
    wire, labels = {}, {}
    for way in WAYS:
        with OpenAIServer(unreadable_at_first(World())) as server:
            model = opened(server.base_url, way, name)
            alone = dataclasses.replace(model, limit=type(model.limit)(1))
            judge = make_labeler(labeler, alone, PROMPTS)
            labels[way] = await label_table(judge, claims, documents, meter=UsageMeter())
        host = server.address.removeprefix("http://")
        wire[way] = [sent(request) for request in server.requests]
        assert all(headers.pop("host") == host for _, headers in wire[way])
    assert labels["direct"] == labels["langchain"]
    assert wire["direct"] == wire["langchain"]
    assert wire["direct"][0][1]["openai-organization"] == "org-of-ours"


async def test_what_a_user_set_on_the_client_is_sent() -> None:
    wire = {}
    for way in WAYS:
        with OpenAIServer(World()) as server:
            chat = ChatOpenAI(
                model="test-model",
                base_url=server.base_url,
                default_headers={"x-team": "lamps"},
                default_query={"version": "7"},
                extra_body={"top_k": 3},
                seed=5,
                use_responses_api=False,
            )
            model = dataclasses.replace(opened(server.base_url, way), chat=chat)
            await ask(model)
        [request] = server.requests
        assert (request.headers["x-team"], request.body["top_k"]) == ("lamps", 3)
        assert request.path.endswith("?version=7")
        wire[way] = request.raw
    assert wire["direct"] == wire["langchain"]


FAULTS: dict[str, Any] = {
    "a refused key": Fault(401, message=f"Incorrect API key provided: {KEY}."),
    "an unknown model": Fault(404, message="no such model"),
    "an empty account": Fault(429, code="insufficient_quota"),
    "too many calls": Fault(429, message="slow down"),
    "a bad request": Fault(400, message=f"Bearer {KEY} is odd"),
    "a failing server": Fault(500, message="it fell over"),
    "no JSON": Fault.raw(b"<html>It works!</html>"),
    "no object": Fault.raw(b"[]"),
    "nothing": Fault.raw(b""),
    "half of it": Fault(200, body=b'{"choices": [', announced=4000),
    "another encoding": Fault.raw('{"choices": "Zürich"}'.encode("latin-1")),
    "no choices": Fault.raw(b'{"choices": null}'),
    "an error with 200": Fault.raw(b'{"error": {"message": "overloaded"}}'),
    "too deep": Fault.raw(b"[" * 100_000),
    "it closes": Fault.drop(),
    "it stalls": Fault.hang(5),
    "a refusal": Reply(refusal="I cannot help with that."),
    "cut off": Reply(verdict(), finish_reason="length"),
    "no verdict": Reply("I think it does."),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
async def test_each_failure_is_told_as_on_the_other_way(fault: Any) -> None:
    told: dict[str, Any] = {}
    stalls = isinstance(fault, Fault) and fault.silence
    for way in WAYS:
        meter = UsageMeter()
        with OpenAIServer(then(fault)) as server:
            model = opened(server.base_url, way)
            quick = model.chat.root_async_client.with_options(timeout=0.2 if stalls else 30)  # type: ignore[attr-defined]
            update = {"root_async_client": quick, "async_client": quick.chat.completions}
            hasty = dataclasses.replace(model, chat=model.chat.model_copy(update=update))
            with pytest.raises(ConflictScoreError) as caught:
                await ask(hasty, meter)
        said = str(caught.value).replace(server.address, "ADDRESS")
        told[way] = (type(caught.value), said, meter.usage, len(server.requests))
        assert KEY not in said
    assert told["direct"] == told["langchain"]


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        ("null", 0),
        ('{"prompt_tokens": "7", "completion_tokens": 1}', 0),
        ('{"prompt_tokens": 7, "completion_tokens": -1}', 0),
        ('{"prompt_tokens": 7, "completion_tokens": [1]}', 0),
        ('"seven"', 0),
        ('{"prompt_tokens": 7, "completion_tokens": 1, "prompt_tokens_details": []}', 7),
        ('{"prompt_tokens": 7, "completion_tokens": 1, "total_tokens": 8}', 7),
    ],
)
async def test_odd_reports_of_tokens_count_as_on_the_other_way(usage: str, read: int) -> None:
    message = json.dumps({"role": "assistant", "content": verdict()})
    body = f'{{"choices": [{{"message": {message}}}], "usage": {usage}}}'
    for way in WAYS:
        meter = UsageMeter()
        with OpenAIServer(then(Fault.raw(body.encode()))) as server:
            await ask(opened(server.base_url, way), meter)
        assert (meter.usage.calls, meter.usage.input_tokens) == (1, read), way


@pytest.mark.parametrize("role", ["user", "tool", "model", None])
async def test_a_reply_is_the_models_whatever_its_role(role: str | None) -> None:
    body = json.dumps({"choices": [{"message": {"role": role, "content": verdict()}}]})
    for way in WAYS:
        meter = UsageMeter()
        with OpenAIServer(then(Fault.raw(body.encode()))) as server:
            await ask(opened(server.base_url, way), meter)
        assert meter.usage.calls == 1, way


async def test_a_reply_that_does_not_end_is_left() -> None:
    said = pytest.raises(ProviderError, match="test-model sent a reply of more than 33,554,432")
    with flooding(b"{", b" " * (1 << 20)) as flood, said:
        await ask(opened(f"{flood.url}/v1", "direct"))
    assert flood.requests == 1


async def test_what_may_help_is_tried_again_and_paid_for_once() -> None:
    meter, ledger = UsageMeter(), Ledger(max_calls=9)
    refused = Fault(429, retry_after="0.01")
    handler = then(refused, refused, from_cache(World(), 3))
    with OpenAIServer(handler) as server:
        model = attach(opened(server.base_url, "auto", attempts=3), ledger)
        await ask(model, meter)
    assert len(server.requests) == 3
    assert meter.usage == ledger.spent["test-model"]
    assert (meter.usage.calls, meter.usage.cache_read_tokens) == (1, 3)
    assert meter.usage.input_tokens > 3


class Watcher(BaseCallbackHandler):
    def __init__(self) -> None:
        self.seen = 0

    def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        self.seen += 1


@pytest.mark.parametrize("way", WAYS)
async def test_who_wants_to_see_calls_sees_them(way: str) -> None:
    watcher = Watcher()
    with OpenAIServer(World()) as server:
        await ask(opened(server.base_url, way, callbacks=[watcher]))
    assert (watcher.seen, len(server.requests)) == (1, 1)


async def test_langchains_own_cache_is_asked_where_there_is_one() -> None:
    set_llm_cache(InMemoryCache())
    try:
        with OpenAIServer(World()) as server:
            first = await ask(opened(server.base_url, "direct"))
            assert await ask(opened(server.base_url, "direct")) == first
    finally:
        set_llm_cache(None)
    assert len(server.requests) == 1


async def test_a_judge_alone_is_spared_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("the client was asked")

    monkeypatch.setattr(ChatOpenAI, "ainvoke", never)
    with OpenAIServer(then(verdict(), letter())) as server:
        model = opened(server.base_url, "auto")
        await ask(model)
        await make_labeler("choice", model, PROMPTS).label(claim(), document(), UsageMeter())
    assert len(server.requests) == 2


class Own(ChatOpenAI):
    """Does something of its own, as far as anybody knows."""


@pytest.mark.parametrize(
    "own", [{"streaming": True}, {"use_responses_api": True}], ids=["streams", "responses"]
)
def test_a_model_with_ways_of_its_own_is_called_by_its_client(own: dict[str, Any]) -> None:
    plain = ChatOpenAI(model="m", base_url="http://127.0.0.1:1/v1", use_responses_api=False)
    assert direct.direct_path(plain) is not None
    for chat in (plain.model_copy(update=own), Own(model="m", use_responses_api=False)):
        assert direct.direct_path(chat) is None


async def test_a_proxy_of_the_environment_is_used_and_its_exceptions_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with OpenAIServer(World()) as proxy, OpenAIServer(World()) as near:
        monkeypatch.setenv("HTTP_PROXY", proxy.address.replace("//", "//user:pass@"))
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        for way in WAYS:
            await ask(opened("http://judge.example/v1", way))
            await ask(opened(near.base_url, way))
    assert [r.path for r in proxy.requests] == ["http://judge.example/v1/chat/completions"] * 2
    assert {r.headers["proxy-authorization"] for r in proxy.requests} == {"Basic dXNlcjpwYXNz"}
    assert len(near.requests) == 2


def test_behind_a_proxy_that_speaks_no_http_the_client_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chat = ChatOpenAI(model="m", base_url="http://judge.example/v1", use_responses_api=False)
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1")
    assert direct.direct_path(chat) is None


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


async def test_only_authorities_that_the_environment_names_are_trusted(
    authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with OpenAIServer(World(), tls=context) as server:
        with pytest.raises(ProviderError, match="cannot be reached"):
            await ask(opened(server.base_url, "direct"))
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        await ask(opened(server.base_url, "direct"))
    assert len(server.requests) == 1


def test_every_event_loop_has_connections_and_takes_them_along(
    caplog: pytest.LogCaptureFixture, recwarn: pytest.WarningsRecorder
) -> None:
    with OpenAIServer(World()) as server:
        model = opened(server.base_url, "direct")
        gc.collect()  # what other tests left
        before = {*direct._sessions}
        recwarn.clear()
        for _ in range(2):
            asyncio.run(ask(model))
            assert direct._sessions.keys() == before
        gc.collect()
    assert len(server.requests) == 2
    assert not caplog.records
    assert [str(w.message) for w in recwarn if issubclass(w.category, ResourceWarning)] == []
