"""How calls reach an endpoint: over aiohttp, on any event loop, with proxies and certificates."""

import asyncio
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import openai
import pytest
import trustme
from langchain_core.callbacks import AsyncCallbackManager, BaseCallbackHandler
from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult
from langchain_core.runnables.config import set_config_context

from conflictscore import proxies
from conflictscore.errors import (
    ConfigurationError,
    ConflictScoreError,
    FailureKind,
)
from conflictscore.models import http_clients as http_clients_module
from conflictscore.models import open_model, proxy_watch
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.limits import ConcurrencyLimit
from conflictscore.models.usage import UsageMeter
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, then
from tests.fakes.socks_proxy import socks_proxy
from tests.models.calling import ask, calling, face, failure

_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in _PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(then("In 1871.")) as serving:
        yield serving


def opened(server: OpenAIServer) -> LanguageModel:
    """The model, without retries of failed calls."""
    return replace(open_model("test-model", base_url=server.base_url), retries=None)


def _dead_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return int(unused.getsockname()[1])


@contextmanager
def silent_proxy() -> Iterator[str]:
    """Connections to the address are taken by the system, and nobody ever reads from them."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


class TestCallbacks:
    """Listeners see each call, whichever way it is made."""

    class Listener(BaseCallbackHandler):
        def __init__(self) -> None:
            self.prompts: list[str] = []
            self.replies: list[str] = []

        def on_chat_model_start(
            self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **kwargs: Any
        ) -> None:
            self.prompts += [message.text for message in messages[0]]

        def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
            self.replies.append(response.generations[0][0].text)

    async def test_a_listener_of_the_run_hears_prompt_and_reply_once(
        self, server: OpenAIServer
    ) -> None:
        listener, meter = self.Listener(), UsageMeter()
        with set_config_context({"callbacks": AsyncCallbackManager([listener])}) as context:
            reply = await asyncio.create_task(
                ask(opened(server), meter, "When was it lit?"), context=context
            )
        assert (listener.prompts, listener.replies) == (["When was it lit?"], [reply])
        assert meter.usage.calls == 1

    @pytest.mark.parametrize("in_a_run", [True, False])
    async def test_a_call_without_listeners_counts_the_same(
        self, server: OpenAIServer, in_a_run: bool
    ) -> None:
        meter, model = UsageMeter(), opened(server)
        callbacks = AsyncCallbackManager([]) if in_a_run else None
        with set_config_context({"callbacks": callbacks}) as context:
            await asyncio.create_task(ask(model, meter, "When was it lit?"), context=context)
        assert meter.usage.calls == 1
        assert meter.usage.input_tokens == 4
        assert meter.usage.output_tokens == 2

    async def test_both_ways_give_the_same_message(self, server: OpenAIServer) -> None:
        chat = opened(server).chat
        quick = await chat.ainvoke("hi", {"callbacks": AsyncCallbackManager([])})
        traced = await chat.ainvoke("hi", {"callbacks": AsyncCallbackManager([self.Listener()])})
        theirs = quick.response_metadata | {"id": None}
        assert theirs == traced.response_metadata | {"id": None}
        assert (quick.content, quick.usage_metadata) == (traced.content, traced.usage_metadata)


class TestLoops:
    def test_each_event_loop_has_connections_of_its_own(self, server: OpenAIServer) -> None:
        model = opened(server)
        assert [asyncio.run(ask(model)) for _ in range(3)] == ["In 1871."] * 3

    async def test_a_client_of_another_loop_is_not_used_here(self, server: OpenAIServer) -> None:
        model = opened(server)
        await ask(model)
        assert await asyncio.to_thread(lambda: asyncio.run(ask(model))) == "In 1871."
        assert await ask(model) == "In 1871."

    @pytest.mark.parametrize(
        "runs", ["asyncio.run(go())", "new_event_loop().run_until_complete(go())"]
    )
    def test_a_process_that_ends_says_nothing_of_open_connections(
        self, server: OpenAIServer, runs: str
    ) -> None:
        program = f"""
import asyncio
from asyncio import new_event_loop
from conflictscore.models import open_model
model = open_model("test-model", base_url={server.base_url!r})
async def go():
    print((await model.chat.ainvoke("hi")).content)
{runs}
{runs}
"""
        ended = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        )
        assert (ended.stdout.split("\n"), ended.stderr) == (["In 1871.", "In 1871.", ""], "")


@pytest.mark.parametrize("replies_before", [0, 1])
class TestLostConnections:
    """The transport reports each of them as a timeout."""

    async def test_a_connection_that_is_closed_is_not_one_that_is_late(
        self, replies_before: int
    ) -> None:
        with OpenAIServer(then(*["In 1871."] * replies_before, Fault.drop())) as server:
            error = await _failure_after(replies_before, calling(server))
        assert error.failure is FailureKind.UNREACHABLE

    async def test_an_endpoint_that_is_not_there_is_unreachable(self, replies_before: int) -> None:
        with OpenAIServer(then("In 1871.")) as server:
            model = opened(server)
            for _ in range(replies_before):
                await ask(model)
        error = await failure(model)
        assert error.failure is FailureKind.UNREACHABLE

    async def test_one_that_says_nothing_is_late(self, replies_before: int) -> None:
        with OpenAIServer(then(*["In 1871."] * replies_before, Fault.hang(30))) as server:
            model = calling(server, timeout=0.5 if replies_before else 0.2)
            error = await _failure_after(replies_before, model)
        assert error.failure is FailureKind.TIMED_OUT


async def _failure_after(replies: int, model: LanguageModel) -> ConflictScoreError:
    for number in range(replies):
        await ask(model, prompt=f"call {number}")
    return await failure(model)


class TestLaterRequests:
    """They are made in another way than the first one, which nobody can tell."""

    async def test_each_has_the_headers_and_parameters_of_the_first(
        self, server: OpenAIServer
    ) -> None:
        model = opened(server)
        for _ in range(3):
            await ask(model, prompt="Wann wurde es erbaut?")
        first, *later = server.requests
        assert [request.raw for request in later] == [first.raw] * 2
        assert [request.headers for request in later] == [first.headers] * 2

    @pytest.mark.parametrize(
        ("status", "kind"),
        [(401, openai.AuthenticationError), (429, openai.RateLimitError), (503, openai.APIError)],
    )
    async def test_an_error_is_that_of_openais_client(
        self, status: int, kind: type[openai.APIError]
    ) -> None:
        fault = Fault(status, message="not just now", retry_after="7")
        with OpenAIServer(then(fault, "In 1871.", fault)) as server:
            chat = opened(server).chat
            with pytest.raises(kind) as first:
                await chat.ainvoke("hi")
            await chat.ainvoke("hi")
            with pytest.raises(kind) as later:
                await chat.ainvoke("hi")
        assert (type(later.value), str(later.value)) == (type(first.value), str(first.value))
        assert later.value.body == first.value.body

    async def test_one_that_only_openais_client_can_write_is_left_to_it(
        self, server: OpenAIServer
    ) -> None:
        chat = opened(server).chat
        for _ in range(2):
            await chat.ainvoke("hi", extra_body={"since": datetime(1871, 5, 9, tzinfo=UTC)})
        assert [request.body["since"] for request in server.requests] == [
            "1871-05-09T00:00:00+00:00"
        ] * 2


@pytest.mark.parametrize("synchronous", [False, True])
class TestProxies:
    async def test_calls_go_by_the_proxy_of_the_environment(
        self,
        server: OpenAIServer,
        synchronous: bool,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        monkeypatch.setenv("HTTP_PROXY", server.address)
        model = open_model("test-model", base_url="http://endpoint.example/v1")
        with face(synchronous):
            assert await ask(model) == "In 1871."
        [request] = server.requests
        assert request.headers["host"] == "endpoint.example"
        assert "proxy" not in caplog.text

    async def test_a_proxy_that_does_not_answer_is_named_without_its_password(
        self, synchronous: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        port = _dead_port()
        monkeypatch.setenv("HTTP_PROXY", f"http://me:sesame@127.0.0.1:{port}")
        model = open_model("test-model", base_url="http://endpoint.example/v1")
        with face(synchronous):
            error = await failure(replace(model, retries=None))
        assert f"proxy http://127.0.0.1:{port}" in str(error)
        assert "sesame" not in str(error)

    @pytest.mark.parametrize(
        "url",
        [
            "http://endpoint.example/v1",
            "https://endpoint.example/v1",
            "https://me:open@endpoint.example/v1",  # by httpx, not aiohttp
        ],
    )
    async def test_a_proxy_that_connects_and_then_says_nothing_is_named_long_before_a_call_is_late(
        self, url: str, synchronous: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(proxy_watch, "_SLOW_S", 0.1)
        monkeypatch.setattr(proxy_watch, "_ANSWER_S", 0.1)
        with silent_proxy() as address, face(synchronous):
            monkeypatch.setenv("ALL_PROXY", f"http://me:sesame@{address}")
            error = await failure(open_model("test-model", base_url=url))
        assert error.failure is FailureKind.UNREACHABLE
        assert f"proxy http://{address} does not answer" in str(error)
        assert "NO_PROXY" in str(error)
        assert "sesame" not in str(error)

    async def test_a_slow_endpoint_behind_a_proxy_that_answers_is_waited_for(
        self, synchronous: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(proxy_watch, "_SLOW_S", 0.01)

        def slow(request: ChatRequest) -> str:
            time.sleep(0.5)
            return "In 1871."

        with OpenAIServer(slow) as proxy, face(synchronous):
            monkeypatch.setenv("HTTP_PROXY", proxy.address)
            assert await ask(open_model("m", base_url="http://endpoint.example/v1")) == "In 1871."

    async def test_calls_go_by_a_socks_proxy(
        self, server: OpenAIServer, synchronous: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pytest.importorskip("socksio")
        with socks_proxy() as proxy, face(synchronous):
            monkeypatch.setenv("ALL_PROXY", proxy.address)
            assert await ask(open_model("test-model", base_url=server.base_url)) == "In 1871."
        assert f"http://{proxy.asked[0][0]}:{proxy.asked[0][1]}" == server.address
        assert len(server.requests) == 1

    async def test_a_socks_proxy_that_does_not_answer_is_named(
        self, synchronous: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pytest.importorskip("socksio")
        monkeypatch.setenv("ALL_PROXY", f"socks5://me:sesame@127.0.0.1:{_dead_port()}")
        model = open_model("test-model", base_url="http://endpoint.example/v1")
        with face(synchronous):
            error = await failure(replace(model, retries=None))
        assert error.failure is FailureKind.UNREACHABLE
        assert "proxy socks5://127.0.0.1" in str(error)
        assert "sesame" not in str(error)

    async def test_a_socks_proxy_that_the_endpoint_does_not_use_stops_nothing(
        self, server: OpenAIServer, synchronous: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(proxies, "find_spec", lambda name: None)
        monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
        monkeypatch.setenv("NO_PROXY", "localhost,127.0.0.1,::1")
        with face(synchronous):
            assert await ask(open_model("test-model", base_url=server.base_url)) == "In 1871."


def test_a_socks_proxy_without_its_package_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxies, "find_spec", lambda name: None)
    monkeypatch.setenv("ALL_PROXY", "socks5://me:sesame@127.0.0.1:9")
    with pytest.raises(ConfigurationError, match=r"conflictscore\[socks\]") as refused:
        open_model("test-model", base_url="http://endpoint.example/v1")
    assert "sesame" not in str(refused.value)


@pytest.mark.parametrize(
    "address",
    [
        "ftp://me:sesame@127.0.0.1:9",
        "socks4://me:sesame@127.0.0.1:9",
        "http://me:sesame@127.0.0.1:99999",
        "me:sesame@127.0.0.1:port",
        "http://[::1",
        "http://",
    ],
)
def test_a_proxy_whose_address_cannot_be_read_is_one_line(
    address: str, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", address)
    with pytest.raises(ConfigurationError, match=r"proxy .* cannot be used") as refused:
        open_model("test-model", base_url="http://endpoint.example/v1")
    assert "sesame" not in str(refused.value)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    open_model("test-model", base_url=server.base_url)


@pytest.mark.parametrize(
    ("excluded", "url", "is_used"),
    [
        ("10.0.0.0/8, 127.0.0.0/8", "http://127.0.0.1:8000/v1", False),
        ("10.0.0.0/8", "http://127.0.0.1:8000/v1", True),
        ("fd00::/8", "http://[fd00::7]:8000/v1", False),
        ("10.0.0.0/8,bad/net,", "http://endpoint.example/v1", True),
        (".example", "http://endpoint.example/v1", False),
        ("*", "http://endpoint.example/v1", False),
    ],
)
def test_hosts_and_networks_may_be_excluded_from_the_proxy(
    excluded: str, url: str, is_used: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", " http://127.0.0.1:9 ")
    monkeypatch.setenv("NO_PROXY", excluded)
    assert proxies.proxy_for(url) == ("http://127.0.0.1:9" if is_used else None)


@pytest.mark.parametrize("status", [403, 407, 502, 504])
async def test_a_status_that_a_proxy_may_have_sent_names_the_proxy(
    status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with OpenAIServer(then(Fault(status, message="Denied."))) as proxy:
        address = proxy.address.removeprefix("http://")
        monkeypatch.setenv("HTTP_PROXY", f"http://me:sesame@{address}")
        model = open_model("test-model", base_url="http://endpoint.example/v1")
        with pytest.raises(ConflictScoreError, match=f"proxy http://{address}") as caught:
            await ask(replace(model, retries=None))
    assert "sesame" not in str(caught.value)


@contextmanager
def refusing_proxy() -> Iterator[str]:
    """A proxy that wants a password before it connects."""

    class Refusing(BaseHTTPRequestHandler):
        def do_CONNECT(self) -> None:
            self.send_response(407)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{proxy.server_port}"
        proxy.shutdown()


@pytest.mark.parametrize("synchronous", [False, True])
async def test_a_proxy_that_wants_a_password_is_named_with_its_status(
    synchronous: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with refusing_proxy() as address, face(synchronous):
        monkeypatch.setenv("HTTPS_PROXY", address)
        model = open_model("test-model", base_url="https://endpoint.example/v1")
        error = await failure(replace(model, retries=None))
    assert f"proxy {address} (HTTP 407); check HTTP_PROXY" in str(error)


def test_certificates_that_cannot_be_read_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/there/is/none")
    with pytest.raises(ConfigurationError, match="SSL_CERT_FILE"):
        open_model("test-model", base_url="https://endpoint.example/v1")


async def test_a_socks_proxy_is_left_to_httpx(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("socksio")
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    clients = http_clients_module.http_clients("http://endpoint.example/v1")
    assert clients.over_aiohttp is None


@pytest.mark.parametrize("synchronous", [False, True])
async def test_certificates_are_those_of_the_environment(
    tmp_path: Path, synchronous: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = trustme.CA()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    with OpenAIServer(then("In 1871."), tls=tls) as server, face(synchronous):
        error = await failure(opened(server))
        assert error.failure is FailureKind.UNREACHABLE
        assert "its certificate is not accepted (" in str(error)
        assert "set SSL_CERT_FILE to a file" in str(error)
        authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        assert await ask(opened(server)) == "In 1871."


@pytest.mark.parametrize("synchronous", [False, True])
async def test_a_server_without_tls_is_named_as_such(
    server: OpenAIServer, synchronous: bool
) -> None:
    model = open_model("test-model", base_url=server.base_url.replace("http:", "https:"))
    with face(synchronous):
        error = await failure(replace(model, retries=None))
    assert error.failure is FailureKind.UNREACHABLE
    assert str(error).endswith("perhaps its address begins with http://")


async def test_many_calls_at_once_are_each_answered(server: OpenAIServer) -> None:
    model = replace(opened(server), limit=ConcurrencyLimit(32))
    replies = await asyncio.gather(*(ask(model, prompt=f"call {n}") for n in range(64)))
    assert replies == ["In 1871."] * 64
    assert len({request.prompt for request in server.requests}) == 64


async def test_a_call_that_is_cancelled_leaves_the_next_one_its_connection() -> None:
    arrived = threading.Event()

    def hang(request: ChatRequest) -> Fault:
        arrived.set()
        return Fault.hang(30)

    with OpenAIServer(then(hang, "In 1871.")) as server:
        model = opened(server)
        call = asyncio.create_task(ask(model))
        assert await asyncio.to_thread(arrived.wait, 100)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert await ask(model) == "In 1871."
