"""Serves an app on one socket, in one process, with hypercorn.

hypercorn closes a connection if the client does not send a complete request head in time. Linux
closes a connection if the client does not read the response (``TCP_USER_TIMEOUT``). The app refuses
bodies that arrive too slowly. A proxy in front of the service limits the connections per address
(``deploy/nginx.conf``).

The server speaks only HTTP/1.1. Without this restriction, hypercorn would accept HTTP/2 without
TLS, by prior knowledge or upgrade. With HTTP/2, a stream that the client abandons or never reads
would occupy its slot forever.

Limits without a stated reason were chosen by hand.
"""

import asyncio
import logging
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import h11
from hypercorn.asyncio import serve
from hypercorn.config import Config
from hypercorn.protocol.h11 import H11Protocol
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from conflictscore.errors import InputError

_BACKLOG = 2048
"""The maximum number of connections that wait to be accepted."""
_ENDS_WITHIN_S = 5.0
"""Time in seconds for interrupted requests to clean up."""
_SWITCH_S = 0.0002
"""Seconds that another thread may run while the event loop waits; Python's default is 0.005.

The loop waits after each of the several hundred sends and receives of a request.
"""
_PREFACE = "PRI"
"""The method in the first line of every HTTP/2 connection."""


def open_listener(host: str, port: int) -> socket.socket:
    """Bind a listening socket, or raise an InputError."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = addresses[0]
        both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        return socket.create_server(address, family=family, dualstack_ipv6=both, backlog=_BACKLOG)
    except (OSError, OverflowError) as error:
        raise InputError(f"--host {host} --port {port}: cannot listen there ({error})") from error


def raise_file_limit() -> None:
    """Raise the limit on open files to the maximum, since each connection is an open file."""
    if sys.platform == "win32":
        return
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # macOS refuses "unlimited"
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class Server:
    """Serves an app until it is stopped; ``started`` is True once connections are accepted.

    After :meth:`stop`, the server stops within ``grace`` seconds. Requests in progress may continue
    for most of that time and are then interrupted. A connection is closed if the client sends no
    complete request head for ``idle`` seconds, or reads no response data for ``unread`` seconds.
    The defaults were chosen by hand.
    """

    def __init__(
        self,
        app: ASGIApp,
        listener: socket.socket,
        *,
        grace: float = 30.0,
        idle: float = 5.0,
        unread: float = 20.0,
    ) -> None:
        self._app, self._listener = app, listener
        # if the grace period is short, at most a quarter of it is left for cleaning up
        self._cleaning = min(_ENDS_WITHIN_S, grace / 4)
        self._finishing = grace - self._cleaning
        self._idle, self._unread = idle, unread
        self.started = False
        self._stopping = asyncio.Event()
        self._requests: set[asyncio.Task[Any]] = set()

    def stop(self) -> None:
        """Accept no new requests; a second call interrupts the running requests."""
        if self._stopping.is_set():
            self._interrupt()
        self._stopping.set()

    async def serve(self, *, signals: bool = False) -> None:
        """Serve until :meth:`stop` is called or, if ``signals`` is set, until SIGTERM or Ctrl-C."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(_quiet)
        sys.setswitchinterval(_SWITCH_S)
        if signals:
            for number in (signal.SIGINT, signal.SIGTERM):
                _on_signal(loop, number, self.stop)
        if hasattr(socket, "TCP_USER_TIMEOUT"):  # accepted connections inherit the option
            unread = round(self._unread * 1000)
            self._listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, unread)
        config = _Http1Config()
        config.bind = [f"fd://{self._listener.detach()}"]
        config.backlog = _BACKLOG
        config.keep_alive_timeout = self._idle
        # the other half of the cleanup time is left for the end of the process
        config.graceful_timeout = self._finishing + self._cleaning / 2
        config.include_server_header = False
        config.errorlog = logging.getLogger("hypercorn.error")
        config.errorlog.setLevel(logging.ERROR)  # any client could cause a warning
        await serve(self._track, config, shutdown_trigger=self._stopped, mode="asgi")  # type: ignore[arg-type]

    async def _stopped(self) -> None:
        self.started = True  # hypercorn calls this method once it accepts connections
        await self._stopping.wait()
        # from Python 3.12 on, asyncio's server waits without limit for open connections
        asyncio.get_running_loop().call_later(self._finishing, self._interrupt)

    def _interrupt(self) -> None:
        for task in self._requests:
            task.cancel()

    async def _track(self, scope: Scope, receive: Receive, send: Send) -> None:
        task = asyncio.current_task()
        if scope["type"] != "http" or task is None:
            return await self._app(scope, receive, send)
        if scope["method"] == _PREFACE:
            refusal = PlainTextResponse("HTTP/2 is not supported", 505, {"connection": "close"})
            return await refusal(scope, receive, send)

        async def sender(message: Message) -> None:
            try:
                await send(message)
            # the system closed the connection, for example after TCP_USER_TIMEOUT
            except OSError as error:
                raise ClientDisconnect from error

        self._requests.add(task)
        try:
            with suppress(ClientDisconnect):  # there is nobody left to answer
                await self._app(scope, receive, sender)
        finally:
            self._requests.discard(task)
        return None


class _Http1Config(Config):
    """hypercorn's settings for a server that never switches from HTTP/1.1 to HTTP/2."""


_switch_protocol = H11Protocol._check_protocol


async def _stay_with_http1(protocol: H11Protocol, event: h11.Request) -> None:
    """Ignore a request to upgrade the protocol, as HTTP allows.

    If the client sends further requests before it gets the response, the connection is closed after
    the response. Otherwise, a few connections could make the event loop answer hundreds of requests
    in a row. Other hypercorn servers in this process are not affected, since they have their own
    settings.
    """
    if not isinstance(protocol.config, _Http1Config):
        await _switch_protocol(protocol, event)
    elif _is_followed(event, len(protocol.connection.trailing_data[0])):
        protocol.keep_alive_requests = protocol.config.keep_alive_max_requests


def _is_followed(event: h11.Request, received: int) -> bool:
    """Return whether a client has sent more bytes after a request's head than the body has."""
    headers = dict(event.headers)
    if b"transfer-encoding" in headers:  # the length of the body is not known yet
        return False
    return received > int(headers.get(b"content-length", b"0"))


H11Protocol._check_protocol = _stay_with_http1  # type: ignore[assignment, method-assign]


def _on_signal(loop: asyncio.AbstractEventLoop, number: int, stop: Callable[[], None]) -> None:
    try:
        loop.add_signal_handler(number, stop)
    except NotImplementedError:  # Windows
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop))


def _quiet(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log errors that asyncio reports, except connection failures, which any client can cause."""
    if not isinstance(context.get("exception"), OSError):
        loop.default_exception_handler(context)
