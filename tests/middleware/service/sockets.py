"""Upstreams and clients on bare sockets, which hang, break off, and disconnect."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, Self

from tests.middleware.service.serving import Served


def closed_port() -> int:
    """A port without a listener, which nobody else gets while the tests run."""
    port: int = _bound().getsockname()[1]
    return port


@cache
def _bound() -> socket.socket:
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    return bound


class Hanging:
    """An upstream that accepts requests, sends nothing, and waits for clients to disconnect."""

    def __init__(self) -> None:
        self.accepted = self.closed = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.base_url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._listener.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._hang, args=(connection,), daemon=True).start()

    def _hang(self, connection: socket.socket) -> None:
        with connection:
            connection.recv(65536)
            self.accepted += 1
            while connection.recv(65536):
                pass
        self.closed += 1


@contextmanager
def gone_away(
    served: Served, body: Any, path: str = "/v1/chat/completions", *, length: int | None = None
) -> Iterator[Callable[[], str]]:
    """A client that hangs up at the end of the block; yields what it has received until then."""
    data = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        f"content-length: {length or len(data)}\r\n\r\n"
    )
    heard = bytearray()

    def hear() -> str:
        with suppress(TimeoutError):
            heard.extend(connection.recv(65536))
        return heard.decode()

    with served.connect(head.encode() + data) as connection:
        connection.settimeout(0.5)
        yield hear
