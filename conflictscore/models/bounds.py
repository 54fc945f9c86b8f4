"""How long a reply may be: an HTTP client that stops reading at a bound."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
import openai

from conflictscore.errors import ProviderError

_MOST_BYTES = 32 << 20
"""Of a whole reply, frames of a stream included: over 100,000 tokens even one by one."""


def check_length(size: int, provider: str) -> None:
    """Raise ProviderError for a reply of more than 32 MiB."""
    if size > _MOST_BYTES:
        raise ProviderError(
            f"{provider} sent a reply of more than {_MOST_BYTES:,} bytes, which was not read to its"
            " end",
            provider=provider,
        )


def bounded_clients(*, proxied: bool = True) -> tuple[httpx2.Client, httpx2.AsyncClient]:
    """HTTP clients that raise ProviderError at a reply that is too long.

    They ask for uncompressed replies and refuse a compressed one, since a few bytes of it could
    stand for any number. ``proxied`` lets them use the environment's proxies.
    """

    def bound(response: httpx2.Response) -> None:
        coding = response.headers.get("content-encoding", "identity")
        if coding != "identity":
            host = response.request.url.host
            raise ProviderError(
                f"{host} compressed its reply ({coding[:20]}) although it was asked not to",
                provider=host,
            )
        response.stream = _BoundedStream(response)

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
    def __init__(self, response: httpx2.Response) -> None:
        self._stream: Any = response.stream
        self._host, self._read = response.request.url.host, 0
        said = response.headers.get("content-length", "")
        check_length(int(said) if said.isdecimal() else 0, self._host)

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._stream:
            self._add(piece)
            yield piece

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            self._add(piece)
            yield piece

    def close(self) -> None:
        self._stream.close()

    async def aclose(self) -> None:
        await self._stream.aclose()

    def _add(self, piece: bytes) -> None:
        self._read += len(piece)
        check_length(self._read, self._host)
