"""JSON as it goes out: every text that is there can be sent."""

import json
from typing import Any

from fastapi.responses import Response

__all__ = ["JsonResponse", "header_value", "json_bytes"]


def json_bytes(data: object) -> bytes:
    """JSON in UTF-8, with a question mark for each lone surrogate, which UTF-8 cannot carry."""
    return json.dumps(data, ensure_ascii=False).encode(errors="replace")


def header_value(value: str | None) -> str | None:
    """What another server gave for a header, if it can stand in one of ours."""
    return value if value and value.isascii() and value.isprintable() else None


class JsonResponse(Response):
    """A response of JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """See the base."""
        return json_bytes(content)
