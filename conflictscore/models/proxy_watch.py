"""Ends calls through a proxy that accepts connections but never answers.

Limits without a stated reason were chosen by hand.
"""

import asyncio
import ssl
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from typing import Any, TypeVar
from urllib.parse import SplitResult, urlsplit

from conflictscore.errors import FailureKind, ProviderError
from conflictscore.proxies import PROXY_ADVICE, is_socks, without_login

Out = TypeVar("Out")

_SLOW_S = 5.0
"""Seconds without a reply after which a call's proxy is tested. Most calls are answered sooner, so
their proxy is not tested."""
_ANSWER_S = 10.0
"""Seconds without a byte after which the test of a proxy fails. Working proxies answer within
milliseconds or, if asked for a tunnel, as soon as they have connected to the endpoint."""
_GOOD_FOR_S = 60.0  # seconds after an answer during which the proxy is not tested again
_DEFAULT_PORTS = {"http": 80, "https": 443}
_SOCKS_PORT = 1080  # the port registered for SOCKS
_answered_at: dict[str, float] = {}
"""When each proxy last answered a test, on the monotonic clock."""


async def by_answering_proxy(
    send: Callable[[], Awaitable[Out]], proxy: str, provider: str, endpoint: str
) -> Out:
    """Make a call through a proxy, and end it if the proxy does not answer at all.

    A call may take minutes, so its own time limit would report the proxy far too late. If there is
    no reply for a few seconds, the proxy is tested separately while the call goes on.

    Raises:
        ProviderError: The proxy does not answer.
    """
    call = asyncio.ensure_future(send())
    trial: asyncio.Future[bool] | None = None
    try:
        await asyncio.wait({call}, timeout=_SLOW_S)
        if not call.done() and not _has_answered_lately(proxy):
            trial = asyncio.ensure_future(_answers(proxy, endpoint))
            await asyncio.wait({call, trial}, return_when=asyncio.FIRST_COMPLETED)
            if not call.done() and not trial.result():
                raise ProviderError(
                    f"{provider} cannot be reached at {endpoint}: the environment's proxy "
                    f"{without_login(proxy)} does not answer; {PROXY_ADVICE}",
                    provider=provider,
                    failure=FailureKind.UNREACHABLE,
                )
        return await call
    finally:
        _leave(call)
        if trial is not None:
            _leave(trial)


def _has_answered_lately(proxy: str) -> bool:
    answered_at = _answered_at.get(proxy)
    return answered_at is not None and time.monotonic() - answered_at < _GOOD_FOR_S


def _leave(task: "asyncio.Future[Any]") -> None:
    """Cancel a task that is no longer awaited, and prevent asyncio from reporting its outcome."""

    def take_outcome(ended: "asyncio.Future[Any]") -> None:
        if not ended.cancelled():
            ended.exception()

    task.add_done_callback(take_outcome)
    task.cancel()


async def _answers(proxy: str, endpoint: str) -> bool:
    """Return whether a proxy sends anything or closes the connection within the time limit.

    The result is also true if the proxy refuses the connection, since the call itself then fails.
    """
    address = urlsplit(proxy)
    default_port = _SOCKS_PORT if is_socks(proxy) else _DEFAULT_PORTS.get(address.scheme, 80)
    context = None
    if address.scheme == "https":
        context = await asyncio.to_thread(ssl.create_default_context)
    try:
        async with asyncio.timeout(_ANSWER_S):
            reader, writer = await asyncio.open_connection(
                address.hostname, address.port or default_port, ssl=context
            )
            with closing(writer):
                writer.write(_greeting(proxy, address, urlsplit(endpoint)))
                await reader.read(1)
    except TimeoutError:
        return False
    except OSError:
        return True
    _answered_at[proxy] = time.monotonic()
    return True


def _greeting(proxy: str, address: SplitResult, endpoint: SplitResult) -> bytes:
    """Return a request that any working proxy answers, without the key or a prompt.

    For an ``https`` endpoint, the request asks for a tunnel, which is the first step of every call.
    For an ``http`` endpoint, the request is addressed to the proxy itself, which refuses it.
    """
    if is_socks(proxy):
        return b"\x05\x01\x00"  # version 5; one login method: none
    if endpoint.scheme == "https":
        host = f"{endpoint.hostname}:{endpoint.port or 443}"
        return f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    return f"GET / HTTP/1.1\r\nHost: {address.hostname}\r\nConnection: close\r\n\r\n".encode()
