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
    """Serve on an address until SIGTERM or Ctrl-C.

    Requests that are running then have so many seconds to finish, and no new ones are taken; a
    second Ctrl-C ends at once.

    Args:
        app: The service.
        host: A name or an address of this machine.
        port: 0 for any free one.
        grace: Seconds for running requests to finish.
        listening: Told of the service's address once it listens.

    Raises:
        InputError: The address cannot be listened on.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        listener = socket.create_server(
            address, family=family, backlog=_BACKLOG, dualstack_ipv6=both
        )
    except (OSError, OverflowError) as error:
        raise InputError(f"--host {host} --port {port}: cannot be listened on ({error})") from error
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=max(1, round(grace)),
    )
    server = uvicorn.Server(config)
    with listener, _ended_by_signals(server):
        shown = f"[{host}]" if ":" in host else host
        listening(f"http://{shown}:{listener.getsockname()[1]}")
        asyncio.run(server.serve([listener]))


@contextmanager
def _ended_by_signals(server: uvicorn.Server) -> Iterator[None]:
    """Take a signal as a request to stop: uvicorn raises it once more when all is over."""

    def end(number: int, stack: FrameType | None) -> None:
        server.should_exit = True

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
