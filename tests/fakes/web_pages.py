"""A loopback web server whose pages behave as a test wants, well or badly."""

import io
import os
import socket
import socketserver
import ssl
import struct
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.client import parse_headers
from typing import Self

HTML = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Visit:
    """One request: its path, and its headers by their names in lower case."""

    path: str
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Exchange:
    """A reply's connection; ``closing`` is set when the server closes, ``sent`` counts bytes."""

    connection: socket.socket
    closing: threading.Event
    sent: Callable[[int], None]

    def send(self, data: bytes) -> None:
        """Send all of it, in pieces that are counted as they go."""
        for start in range(0, len(data), 65536):
            self.sent(self.connection.send(data[start : start + 65536]))


Reply = Callable[[Exchange], None]


def head(status: int = 200, **headers: str | None) -> bytes:
    """The first part of a reply; names are written with ``_`` for ``-``."""
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", "Connection: close"]
    lines += [f"{key.replace('_', '-')}: {value}" for key, value in headers.items() if value]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def page(
    body: str | bytes, content_type: str | None = HTML, status: int = 200, **headers: str
) -> Reply:
    """Send a page correctly."""
    data = body.encode() if isinstance(body, str) else body
    headers = {"content_length": str(len(data)), **headers}
    return raw(head(status, content_type=content_type, **headers) + data)


def redirect(location: str, status: int = 302, **headers: str) -> Reply:
    return raw(head(status, location=location, content_length="0", **headers))


def raw(data: bytes) -> Reply:
    """Send these bytes, then end the connection."""
    return lambda exchange: exchange.send(data)


def hang(before: bytes = b"") -> Reply:
    """Send these bytes, then nothing more while the server lives."""

    def reply(exchange: Exchange) -> None:
        exchange.send(before)
        exchange.closing.wait()

    return reply


def drip(before: bytes = b"", drop: bytes = b"x", every: float = 0.02) -> Reply:
    """Send these bytes, then single pieces slowly, without end."""

    def reply(exchange: Exchange) -> None:
        exchange.send(before)
        while not exchange.closing.wait(every):
            exchange.send(drop)

    return reply


def endless(before: bytes, piece: bytes) -> Reply:
    """Send these bytes, then the same piece as fast as it is read, without end."""
    return drip(before, piece, every=0)


def reset(before: bytes = b"") -> Reply:
    """Send these bytes, then reset the connection instead of closing it."""

    def reply(exchange: Exchange) -> None:
        exchange.send(before)
        at_once = struct.pack("ii", 1, 0)
        exchange.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
        os.close(exchange.connection.detach())

    return reply


class WebServer:
    """Serves pages on a free port of 127.0.0.1, and counts requests and bytes."""

    def __init__(self, pages: Mapping[str, Reply], *, tls: ssl.SSLContext | None = None) -> None:
        self.pages, self.tls = dict(pages), tls
        self.connections, self.sent = 0, 0
        self.visits: list[Visit] = []
        self.closing = threading.Event()
        self._tcp = _Server(self)
        self.port: int = self._tcp.server_address[1]

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}{path}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._tcp.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.closing.set()
        self._tcp.shutdown()
        self._tcp.server_close()


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, web: WebServer) -> None:
        self.web = web
        super().__init__(("127.0.0.1", 0), _Connection)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is no failure of the server."""


class _Connection(socketserver.StreamRequestHandler):
    server: _Server
    connection: socket.socket
    rfile: io.BufferedReader

    def setup(self) -> None:
        self.server.web.connections += 1
        if self.server.web.tls:
            self.request = self.server.web.tls.wrap_socket(self.request, server_side=True)
        super().setup()

    def handle(self) -> None:
        web = self.server.web
        if self.rfile.peek(1)[:1] == b"\x16":  # the client speaks TLS to a server without it
            return self.connection.sendall(head(400))
        path = self.rfile.readline().decode("latin-1").split()[1]
        headers = {name.lower(): value for name, value in parse_headers(self.rfile).items()}
        web.visits.append(Visit(path, headers))

        def sent(count: int) -> None:
            web.sent += count

        exchange = Exchange(self.connection, web.closing, sent)
        return web.pages.get(path, page("no such page", status=404))(exchange)

    def finish(self) -> None:
        with suppress(OSError):
            super().finish()
