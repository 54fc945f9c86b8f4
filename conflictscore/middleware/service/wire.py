"""What goes out: JSON, and server-sent events."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from time import monotonic
from typing import Any

from fastapi.responses import Response, StreamingResponse
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

__all__ = ["ALIVE", "EventStream", "JsonResponse", "frame", "header_value"]

ALIVE = b": working\n\n"
"""A comment, which keeps proxies and sockets awake and which no program sees."""


class JsonResponse(Response):
    """A JSON response."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """See the base class."""
        return _json_bytes(content)


class EventStream(StreamingResponse):
    """A response whose body is a stream of events.

    Args:
        frames: The events.
        headers: What goes before them.
        ends: When it is broken off, on the clock of ``time.monotonic``: a client that stays
            without reading would otherwise keep all that is held for it. None for never.
    """

    media_type = "text/event-stream"

    def __init__(
        self, frames: AsyncIterator[bytes], headers: Mapping[str, str], ends: float | None = None
    ) -> None:
        unbuffered = {"cache-control": "no-cache", "x-accel-buffering": "no"}
        super().__init__(frames, headers={**unbuffered, **headers})
        self._ends = ends

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            async with asyncio.timeout(None if self._ends is None else self._ends - monotonic()):
                await super().__call__(scope, receive, send)
        except TimeoutError:
            raise ClientDisconnect from None


def frame(data: Mapping[str, Any], event: str | None = None) -> bytes:
    """One event."""
    name = f"event: {event}\n" if event else ""
    return b"%bdata: %b\n\n" % (name.encode(), _json_bytes(data))


def header_value(value: str | None) -> str | None:
    """What another server sent as a header, if one of ours can carry it."""
    return value if value and value.isascii() and value.isprintable() else None


def _json_bytes(data: object) -> bytes:
    """JSON in UTF-8, with a question mark for each lone surrogate, which UTF-8 cannot carry."""
    return json.dumps(data, ensure_ascii=False).encode(errors="replace")
