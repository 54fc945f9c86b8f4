"""Limits the length of replies: reading beyond the limit raises an error.

Limits without a stated reason were chosen by hand.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2

from conflictscore.errors import ProviderError

_MOST_BYTES = 32 << 20
"""Maximum size of a reply in bytes, including its stream frames. A stream takes about 300 bytes per
token, so this is enough for 100,000 tokens."""
_MOST_DIGITS = 20
"""Maximum number of digits of an announced length that are read; enough for any 64-bit number."""


def check_length(size: int, provider: str) -> None:
    """Raise ProviderError for a reply of more than 32 MiB."""
    if size > _MOST_BYTES:
        raise ProviderError(
            f"{provider} sent a reply of more than {_MOST_BYTES:,} bytes; the rest was not read",
            provider=provider,
        )


def bound_reply(response: httpx2.Response) -> None:
    """Limit the length of a response, and refuse it if it is compressed (an httpx event hook).

    A few compressed bytes could expand to any length before they are counted.
    """
    coding = response.headers.get("content-encoding", "").strip()
    if coding.lower() not in {"", "identity"}:
        host = response.request.url.host
        # the coding is untrusted text from a header, so only its beginning is quoted
        raise ProviderError(
            f"{host} compressed its reply ({coding[:20]}) despite being asked not to",
            provider=host,
        )
    response.stream = _BoundedStream(response)


async def bound_reply_async(response: httpx2.Response) -> None:
    """Do the same as :func:`bound_reply` for an asynchronous client."""
    bound_reply(response)


class _BoundedStream(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """A response stream that raises ProviderError when the reply exceeds the limit.

    A length announced in the headers is checked before the first byte is read. The bytes are
    counted too, since the announced length may be missing or wrong.
    """

    def __init__(self, response: httpx2.Response) -> None:
        self._stream: Any = response.stream
        self._host, self._read = response.request.url.host, 0
        # a number with more digits is too large anyway, and Python may refuse to convert it
        content_length = response.headers.get("content-length", "")[:_MOST_DIGITS]
        check_length(int(content_length) if content_length.isdecimal() else 0, self._host)

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
