"""Connections that say nothing, too little, or take nothing, and what is left for the others."""

import os
import resource
import select
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest
from fastapi import FastAPI
from fastapi.responses import StreamingResponse

from conflictscore.middleware.service.connections import most_connections
from tests.fakes.openai_server import OpenAIServer
from tests.middleware.service.serving import asking, listening, serving, until

HEALTH = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"
Connect = Callable[[bytes], socket.socket]


@contextmanager
def connecting(address: str) -> Iterator[Connect]:
    """Connections that have sent this much, and are closed in the end."""
    host, _, port = address.removeprefix("http://").partition(":")
    with ExitStack() as opened:

        def connect(said: bytes) -> socket.socket:
            connection = socket.create_connection((host, int(port)), timeout=20)
            opened.enter_context(connection)
            connection.sendall(said)
            return connection

        yield connect


def is_closed(connection: socket.socket) -> bool:
    """Whether the other side closes it, after whatever it says."""
    try:
        while connection.recv(65536):
            pass
    except ConnectionError:
        return True
    return True


def heard(connection: socket.socket) -> bytes:
    """The answer to ``HEALTH``."""
    said = b""
    while not said.endswith(b"}"):
        said += connection.recv(65536) or b"it was closed}"
    return said


def closed_so_far(connections: list[socket.socket]) -> int:
    count = 0
    for connection in connections:
        connection.setblocking(False)
        with suppress(BlockingIOError):
            count += is_closed(connection)
    return count


def test_more_silent_connections_than_may_be_leave_room_for_those_who_ask(
    upstream: OpenAIServer, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        serving(upstream, server={"connections": 20}) as served,
        connecting(served.address) as connect,
    ):
        silent = [connect(b"GET / HT"[: n % 8]) for n in range(200)]
        health = served.http.get("/healthz")
        answer = served.ask()
        until(lambda: closed_so_far(silent) >= 180)

    assert (health.status_code, answer.status_code) == (200, 200)
    assert len([r for r in caplog.records if "connections are open" in r.getMessage()]) == 1


def test_a_connection_that_is_being_answered_is_never_the_one_that_makes_room(
    upstream: OpenAIServer,
) -> None:
    with (
        serving(upstream, server={"connections": 5}) as served,
        connecting(served.address) as connect,
    ):
        with served.http.stream("POST", "/v1/chat/completions", json=asking(stream=True)) as reply:
            silent = [connect(b"") for _ in range(50)]
            text = reply.read()
        until(lambda: closed_so_far(silent) >= 45)

    assert b"[DONE]" in text


def test_requests_that_wait_for_no_reply_get_one_and_leave_room(upstream: OpenAIServer) -> None:
    with (
        serving(upstream, server={"connections": 5}) as served,
        connecting(served.address) as connect,
    ):
        greedy = [connect(HEALTH * 500) for _ in range(20)]
        assert served.http.get("/healthz").status_code == 200
        until(lambda: closed_so_far(greedy) == 20)


def test_a_client_between_two_requests_makes_room_last(upstream: OpenAIServer) -> None:
    with (
        serving(upstream, server={"connections": 2, "patience": 4.0}) as served,
        connecting(served.address) as connect,
    ):
        kept = connect(HEALTH)
        assert heard(kept).startswith(b"HTTP/1.1 200 OK")
        silent = connect(b"")
        time.sleep(0.3)
        connect(b"")
        until(lambda: closed_so_far([silent]))
        kept.sendall(HEALTH)
        assert heard(kept).startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize("said", [b"", b"GET /healthz HTTP/1.1\r\nhost:", HEALTH, HEALTH + b"GET"])
def test_a_head_that_does_not_come_is_waited_for_only_so_long(
    upstream: OpenAIServer, said: bytes
) -> None:
    with (
        serving(upstream, server={"patience": 0.1}) as served,
        connecting(served.address) as connect,
    ):
        connection = connect(said)
        with suppress(ConnectionError):
            for _ in range(1000):  # a byte now and then does not help
                connection.sendall(b"" if said == HEALTH else b"x")
                connection.settimeout(0.01)
                with suppress(TimeoutError):
                    if not connection.recv(65536):
                        break
            else:
                pytest.fail("it was never closed")


def test_a_slow_upload_makes_room_as_a_silent_connection_does(upstream: OpenAIServer) -> None:
    head = b"POST /v1/runs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    with (
        serving(upstream, server={"connections": 10}) as served,
        connecting(served.address) as connect,
    ):
        slow = [connect(head + b"content-length: 1000\r\n\r\n{") for _ in range(50)]
        assert served.http.get("/healthz").status_code == 200
        until(lambda: closed_so_far(slow) >= 40)


@pytest.mark.parametrize("pieces", [1, 64])
def test_a_client_that_takes_nothing_of_what_it_is_sent_is_left(pieces: int) -> None:
    app = FastAPI()
    whole = b"x" * (1 << 24)

    async def body() -> AsyncIterator[bytes]:
        for _ in range(pieces):
            yield whole[: len(whole) // pieces]

    app.add_api_route("/", lambda: StreamingResponse(body()))
    with listening(app, patience=0.1) as (address, _, _), connecting(address) as connect:
        connection = connect(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
        told = select.poll()
        told.register(connection, 0)  # only whether it was closed
        assert told.poll(20_000)


def test_where_no_file_can_be_opened_one_line_says_so(
    upstream: OpenAIServer, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(upstream) as served:
        http = served.http
        assert http.get("/healthz").status_code == 200
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        client = [socket.socket() for _ in range(3)]
        os.close(free := os.dup(0))
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, before[1]))
        try:
            host, _, port = served.address.removeprefix("http://").partition(":")
            for connection in client:
                connection.connect((host, int(port)))
            until(lambda: "no connection can be accepted" in caplog.text)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
            for connection in client:
                connection.close()
        assert http.get("/healthz").status_code == 200

    assert caplog.text.count("no connection can be accepted") == 1
    assert "Traceback" not in caplog.text


def test_connections_never_take_all_the_files_that_may_be_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (160, 160))
    assert most_connections(512) == 80
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (resource.RLIM_INFINITY, 0))
    assert most_connections(512) == 512
