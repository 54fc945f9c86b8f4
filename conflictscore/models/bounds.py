"""How long a reply may be: an HTTP client that stops reading at a bound."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
import openai

from conflictscore.errors import ConfigurationError, ProviderError

__all__ = ["MOST_REPLY_BYTES", "bounded_clients", "too_long"]

MOST_REPLY_BYTES = 32 << 20
"""Of a whole reply, frames of a stream included: over 100,000 tokens even one by one."""


def bounded_clients(
    most_bytes: int, *, proxied: bool = True
) -> tuple[httpx2.Client, httpx2.AsyncClient]:
    """HTTP clients that raise ProviderError at a reply longer than ``most_bytes``, at least 1.

    They ask for uncompressed replies and refuse a compressed one, since a few bytes of it could
    stand for any number. ``proxied`` lets them use the environment's proxies.
    """
    if most_bytes < 1:
        raise ConfigurationError(f"most_bytes is {most_bytes}; give at least 1")

    def bound(response: httpx2.Response) -> None:
        coding = response.headers.get("content-encoding", "identity")
        if coding != "identity":
            host = response.request.url.host
            raise ProviderError(
                f"{host} compressed its reply ({coding[:20]}) although it was asked not to",
                provider=host,
            )
        response.stream = _BoundedStream(response, most_bytes)

    async def abound(response: httpx2.Response) -> None:
        bound(response)

    plain = {"accept-encoding": "identity"}
    return (
        openai.DefaultHttpxClient(
            headers=plain, event_hooks={"response": [bound]}, trust_env=proxied
        ),
        openai.DefaultAsyncHttpxClient(
            headers=plain, event_hooks={"response": [abound]}, trust_env=proxied
        ),
    )


class _BoundedStream(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    def __init__(self, response: httpx2.Response, most_bytes: int) -> None:
        self._stream: Any = response.stream
        self._host, self._most, self._read = response.request.url.host, most_bytes, 0
        said = response.headers.get("content-length", "")
        self._add(int(said) if said.isdecimal() else 0)
        self._read = 0

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._stream:
            self._add(len(piece))
            yield piece

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            self._add(len(piece))
            yield piece

    def close(self) -> None:
        self._stream.close()

    async def aclose(self) -> None:
        await self._stream.aclose()

    def _add(self, size: int) -> None:
        self._read += size
        if self._read > self._most:
            raise too_long(self._host, self._most)


def too_long(provider: str, most_bytes: int) -> ProviderError:
    """The error for a reply that is longer than it may be."""
    return ProviderError(
        f"{provider} sent a reply of more than {most_bytes:,} bytes, which was not read to its end",
        provider=provider,
    )
