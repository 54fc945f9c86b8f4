"""Serving the app until the process is told to stop."""

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn
from fastapi import FastAPI

from conflictscore.errors import InputError

__all__ = ["serve"]

_BACKLOG = 2048


def serve(
    app: FastAPI, *, host: str, port: int, grace: float, listening: Callable[[str], None]
) -> None:
    """Serve on an address, and end after SIGTERM or Ctrl-C.

    What runs then has so many seconds to finish, and nothing new is taken in; a second Ctrl-C ends
    at once.

    Args:
        app: The service.
        host: A name or an address of this machine.
        port: 0 for any free one.
        grace: Seconds for what runs to finish.
        listening: Told of the service's address once it listens.

    Raises:
        InputError: The address cannot be listened on.
    """
    listener = _listener(host, port)
    shown = f"[{host}]" if ":" in host else host
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=max(1, round(grace)),
    )
    server = _Server(config, lambda: listening(f"http://{shown}:{listener.getsockname()[1]}"))
    with listener, _signals_end(server):
        asyncio.run(server.serve([listener]))


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._tell = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._tell()


@contextmanager
def _signals_end(server: uvicorn.Server) -> Iterator[None]:
    """Take a signal for the wish that it is: uvicorn raises it once more when all is over."""

    def end(number: int, stack: FrameType | None) -> None:
        server.should_exit = True

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _listener(host: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(_BACKLOG)
        except OSError:
            listener.close()
            raise
    except (OSError, OverflowError) as error:
        raise InputError(f"--host {host} --port {port}: cannot be listened on ({error})") from error
    return listener
