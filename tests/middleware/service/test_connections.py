"""Connections that send nothing, send slowly, or read nothing, and other clients meanwhile."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from http.client import HTTPResponse

import pytest
from fastapi import FastAPI
from fastapi.responses import StreamingResponse

from tests.fakes.openai_server import OpenAIServer
from tests.middleware.service.serving import Served, asking, listening, serving, until

HEALTH = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nhost:", HEALTH, HEALTH + b"GET"])
def test_a_connection_without_a_whole_head_is_closed(upstream: OpenAIServer, sent: bytes) -> None:
    with serving(upstream, server={"idle": 0.2}) as served:
        connection = served.connect(sent)
        with suppress(ConnectionError):
            for _ in range(1000):  # a byte now and then is not enough
                connection.sendall(b"" if sent == HEALTH else b"x")
                connection.settimeout(0.01)
                with suppress(TimeoutError):
                    if not connection.recv(65536):
                        break
            else:
                pytest.fail("it was never closed")


def test_silent_and_slow_connections_keep_nobody_waiting(upstream: OpenAIServer) -> None:
    head = b"POST /v1/runs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    with serving(upstream, server={"idle": 20.0}) as served:
        for _ in range(50):
            served.connect(b"")
            served.connect(b"GET / HT")
            served.connect(head + b"content-length: 1000\r\n\r\n{")
            served.connect(HEALTH * 50)
        with served.http.stream("POST", "/v1/chat/completions", json=asking(stream=True)) as reply:
            text = reply.read()

    assert b"[DONE]" in text


def test_a_request_may_take_longer_than_a_connection_may_be_idle() -> None:
    app = FastAPI()

    async def slow() -> str:
        await asyncio.sleep(1)
        return "slow"

    app.add_api_route("/", slow)
    with listening(app, idle=0.2) as (address, loop, _):
        served = Served(address, app, loop, None)
        connection = served.connect(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
        said = connection.recv(65536)

    assert said.startswith(b"HTTP/1.1 200")


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="only Linux has the option")
@pytest.mark.parametrize("chunks", [1, 64])
def test_a_client_that_reads_nothing_is_disconnected(chunks: int) -> None:
    app, whole = FastAPI(), b"x" * (1 << 24)

    async def body() -> AsyncIterator[bytes]:
        for _ in range(chunks):
            yield whole[: len(whole) // chunks]

    app.add_api_route("/", lambda: StreamingResponse(body()))
    with listening(app, unread=0.5) as (address, loop, _):
        served = Served(address, app, loop, None)
        before = served.tasks()
        served.connect(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
        until(lambda: served.tasks() > before)
        until(lambda: served.tasks() <= before)


@pytest.mark.parametrize(
    "after", [b"", b"\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00"]
)
def test_http2_by_prior_knowledge_is_refused_and_its_connection_closed(
    upstream: OpenAIServer, after: bytes
) -> None:
    with serving(upstream) as served:
        connection = served.connect(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + after)
        heard = bytearray()
        with suppress(ConnectionError):
            while piece := connection.recv(65536):
                heard += piece

        assert heard.startswith(b"HTTP/1.1 505")
        assert served.metric("conflictscore_requests_in_flight") == 0


PAGE = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"
EMPTY_POST = b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}"


@pytest.mark.parametrize("sent", [PAGE * 200, EMPTY_POST + PAGE])
def test_a_client_that_does_not_wait_for_responses_gets_one(
    upstream: OpenAIServer, sent: bytes
) -> None:
    with serving(upstream) as served:
        connection = served.connect(sent)
        heard = bytearray()
        with suppress(ConnectionError):  # nobody reads the further requests
            while piece := connection.recv(65536):
                heard += piece

    assert heard.count(b"HTTP/1.1 ") == 1
    assert b"connection: close" in heard.lower()


BODY = b'{"model": "conflictscore", "messages": [{"role": "user", "content": "When?"}]}'
CHAT = (
    b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    b"content-length: %d\r\n\r\n%b"
)


@pytest.mark.parametrize("sent", [PAGE, CHAT % (len(BODY), BODY)])
def test_a_client_that_waits_for_responses_keeps_its_connection(
    upstream: OpenAIServer, sent: bytes
) -> None:
    with serving(upstream) as served:
        connection = served.connect(sent)
        for _ in range(3):
            response = HTTPResponse(connection)
            response.begin()
            response.read()
            assert response.getheader("connection") != "close"
            connection.sendall(sent)


def test_an_upgrade_to_http2_is_answered_in_http1(upstream: OpenAIServer) -> None:
    asking_for_it = HEALTH.removesuffix(b"\r\n") + (
        b"connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAQAAAAA\r\n\r\n"
    )
    with serving(upstream) as served:
        heard = served.connect(asking_for_it).recv(65536)

    assert heard.startswith(b"HTTP/1.1 200")


def test_what_a_client_can_cause_is_not_logged(
    upstream: OpenAIServer, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(upstream) as served:
        for error in (OSError(24, "Too many open files"), KeyError("a bug")):
            report = {"message": "it failed", "exception": error}
            served.loop.call_soon_threadsafe(served.loop.call_exception_handler, report)
        until(lambda: "a bug" in caplog.text)

    assert "Too many" not in caplog.text
