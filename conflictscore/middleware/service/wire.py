"""JSON responses and server-sent events."""

import json
import math
from collections.abc import AsyncIterator, Mapping
from typing import Any

from fastapi.responses import Response, StreamingResponse

ALIVE = b": working\n\n"
"""A comment that keeps proxies from timing out; clients ignore it."""


class JsonResponse(Response):
    """A JSON response."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the content as JSON in UTF-8."""
        return _json_bytes(content)


class EventStream(StreamingResponse):
    """A response whose body is a stream of events."""

    media_type = "text/event-stream"

    def __init__(self, frames: AsyncIterator[bytes], headers: Mapping[str, str]) -> None:
        no_buffering = {"cache-control": "no-cache", "x-accel-buffering": "no"}
        super().__init__(frames, headers={**no_buffering, **headers})


def finite_json(data: bytes) -> Any:
    """Parse JSON, and refuse numbers that other JSON parsers could not represent.

    Raises:
        ValueError: The text is not JSON, or has ``NaN``, ``Infinity`` or a number outside the range
            of a double.
        RecursionError: The JSON is nested too deeply.
    """
    return json.loads(data, parse_constant=_finite, parse_float=_finite, parse_int=_whole)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text:.40} is not a valid JSON number")
    return number


def _whole(text: str) -> int:
    _finite(text)
    return int(text)


def frame(data: Mapping[str, Any], event: str | None = None) -> bytes:
    """Encode one event."""
    name = f"event: {event}\n" if event else ""
    return b"%bdata: %b\n\n" % (name.encode(), _json_bytes(data))


def header_value(value: str | None) -> str | None:
    """Return another server's header value, or None if it cannot be part of our response."""
    return value if value and value.isascii() and value.isprintable() else None


def _json_bytes(data: object) -> bytes:
    """Encode as JSON in UTF-8; lone surrogates, which UTF-8 lacks, become question marks."""
    return json.dumps(data, ensure_ascii=False).encode(errors="replace")
