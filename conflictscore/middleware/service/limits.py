"""How much is taken in, and how much is worked on at once."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import Request

from conflictscore.middleware.service.faults import RefusedError

__all__ = ["Slots", "read_body"]

_UPLOAD_SECONDS = 30.0
_RETRY_AFTER_S = "2"


class Slots:
    """So many requests at once; as many again wait, and more are told to come back."""

    def __init__(self, at_once: int) -> None:
        self._most_waiting, self._waiting = at_once, 0
        self._free = asyncio.Semaphore(at_once)

    @asynccontextmanager
    async def one(self, deadline: float) -> AsyncIterator[None]:
        """Hold a slot.

        Args:
            deadline: How long to wait for it at most, on the clock of ``time.monotonic``.

        Raises:
            RefusedError: Too many wait already, or the deadline is over (429).
        """
        if self._free.locked() and self._waiting >= self._most_waiting:
            raise _come_back()
        self._waiting += 1
        try:
            async with asyncio.timeout(deadline - time.monotonic()):
                await self._free.acquire()
        except TimeoutError:
            raise _come_back() from None
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._free.release()


async def read_body(request: Request, most: int) -> bytes:
    """The body of a request, as JSON that a browser asks leave to send elsewhere.

    Raises:
        RefusedError: It is too large (413), comes too slowly (408), or is said to be no JSON (415).
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().casefold()
    if kind != "application/json":
        raise RefusedError(415, "send content-type: application/json", code="not_json")
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > most:
        raise _too_large(most)
    body = bytearray()
    try:
        async with asyncio.timeout(_UPLOAD_SECONDS):
            async for piece in request.stream():
                body += piece
                if len(body) > most:
                    raise _too_large(most)
    except TimeoutError:
        raise RefusedError(408, "the body came too slowly", code="slow_body") from None
    return bytes(body)


def _come_back() -> RefusedError:
    return RefusedError(
        429,
        "too many requests are worked on and wait already; come back later",
        code="too_many_requests",
        retry_after=_RETRY_AFTER_S,
    )


def _too_large(most: int) -> RefusedError:
    return RefusedError(413, f"the body is larger than {most} bytes", code="body_too_large")
