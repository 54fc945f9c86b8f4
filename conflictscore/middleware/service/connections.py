"""The service on a socket: no number of silent, slow or hostile connections keeps others out.

uvicorn alone closes no connection that never sends a request, and counts none. Here one that sends
no whole head, or takes nothing of what it is sent, is closed after some seconds; and where there
are as many as may be, a new one takes the place of the one that has waited longest without a whole
request. So those that are being answered stay.
"""

import asyncio
import logging
import socket
import struct
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, cast

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

__all__ = ["Server", "most_connections"]

_log = logging.getLogger(__name__)

_PATIENCE_S = 20.0
_TO_BEGIN = 0.05
"""Share of the patience after which a connection without a whole request is the first to go."""
_BACKLOG = 2048
_ACCEPTED_AT_ONCE = 16
"""In one turn of the event loop, so that they are counted before the next ones are accepted."""
_BEAT_TICKS = 50
"""Tenths of a second between two signs of life."""
_NO_LINGERING = struct.pack("ii", 1, 0)
_BETWEEN_WARNINGS_S = 60.0


def most_connections(wanted: int) -> int:
    """So many connections, or half of the files that this process may open, if that is less.

    The other half is for calls to models and searches, and for files.
    """
    if sys.platform == "win32":
        return wanted
    import resource

    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return wanted if files == resource.RLIM_INFINITY else max(1, min(wanted, files // 2))


class Server(uvicorn.Server):
    """Serves an app on sockets that are given to ``serve``.

    Args:
        app: The service.
        connections: The most connections at once.
        patience: Seconds until the head of a request has come, and within which a client takes
            some of what it is sent.
        grace: Seconds for running requests to finish once the server is told to stop.
        beat: Called every few seconds by the event loop, where other processes accept from the
            same sockets. The server then accepts one connection at a time, so that whoever is idle
            takes the next.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        connections: int,
        patience: float = _PATIENCE_S,
        grace: float = 30.0,
        beat: Callable[[], None] | None = None,
    ) -> None:
        crowd = _Crowd(connections, patience)
        self._beat = beat
        config = uvicorn.Config(
            cast("Any", app),
            http=cast("Any", partial(_Connection, crowd)),
            ws="none",
            backlog=1 if beat else _ACCEPTED_AT_ONCE,
            log_level="error",  # anybody can cause a warning
            access_log=False,
            server_header=False,
            proxy_headers=False,  # anybody can send them
            timeout_graceful_shutdown=max(1, round(grace)),
        )
        super().__init__(config)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen, with room for many in the system's own queue."""
        asyncio.get_running_loop().set_exception_handler(_Calm())
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(_BACKLOG)

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second; whether it is to end."""
        if self._beat and counter % _BEAT_TICKS == 0:
            self._beat()
        return await super().on_tick(counter)


class _Crowd:
    """The connections of a server without a whole request, the one that waits longest first.

    Where one has to go, it is one that had time enough and was never answered, if there is any:
    clients that keep a connection between two requests come last.
    """

    def __init__(self, most: int, patience: float) -> None:
        self.patience = patience
        self.waiting: dict[_Connection, float] = {}
        self._most = most
        self._warn = _Seldom()

    def joined(self, new: "_Connection") -> None:
        """Close a connection where there is one too many."""
        if len(new.connections) > self._most:
            self._warn("%d connections are open, the most: others make room", self._most)
            late = time.monotonic() - self.patience * _TO_BEGIN
            silent = (o for o, since in self.waiting.items() if not o.answered and since < late)
            longest = next(silent, None) or next(iter(self.waiting), new)
            self.waiting.pop(longest, None)
            longest.drop()


class _Connection(H11Protocol):
    """One connection, closed where nothing comes of it."""

    def __init__(self, crowd: _Crowd, **given: Any) -> None:
        super().__init__(**given)
        self.answered = False
        self._crowd, self._left = crowd, 0
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._crowd.joined(self)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        if self.conn.their_state is h11.DONE and self.conn.trailing_data[0]:
            self.transport.close()  # requests that wait for no reply could keep it for good
        super().on_response_complete()
        self.answered = True
        self._watch()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._crowd.waiting.pop(self, None)
        self._stop()
        super().connection_lost(exc)

    def drop(self) -> None:
        """Close it at once, with all that is still on its way, in the system's buffers too."""
        with suppress(OSError):  # it is closed
            self.transport.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGERING
            )
        self.transport.abort()

    def _watch(self) -> None:
        """Start the clock when it begins to wait for this client, and stop it when it ends."""
        if self.transport.is_closing() and not self.transport.get_write_buffer_size():
            return
        cycle: RequestResponseCycle | None = self.cycle
        headless = cycle is None or cycle.response_complete
        if cycle is None or headless or cycle.more_body:
            self._crowd.waiting.setdefault(self, time.monotonic())
        else:
            self._crowd.waiting.pop(self, None)
        if not (headless or self.flow.write_paused):
            self._stop()
        elif self._timer is None:
            self._left = self.transport.get_write_buffer_size()
            self._timer = self.loop.call_later(self._crowd.patience, self._expired)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expired(self) -> None:
        self._timer = None
        left = self.transport.get_write_buffer_size()
        if left and left != self._left:
            self._watch()  # it is taking what it is sent
        else:
            self.drop()


class _Calm:
    """What the event loop tells of, with one line a minute for connections it cannot accept."""

    def __init__(self) -> None:
        self._warn = _Seldom()

    def __call__(self, loop: asyncio.AbstractEventLoop, told: dict[str, Any]) -> None:
        """Log it."""
        error = told.get("exception")
        if isinstance(error, OSError) and "accept" in str(told.get("message")):
            self._warn("no connection can be accepted just now (%s)", error.strerror)
        else:
            loop.default_exception_handler(told)


class _Seldom:
    """A warning that is given at most once a minute, however often it is due."""

    def __init__(self) -> None:
        self._next = 0.0

    def __call__(self, message: str, *values: object) -> None:
        """Give it, if it is time."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _BETWEEN_WARNINGS_S
            _log.warning(message, *values)
