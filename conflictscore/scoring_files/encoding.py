"""Rows as JSON lines."""

import base64
from collections.abc import Mapping
from math import isfinite
from typing import Any

from conflictscore.scoring_files.result import Outcome
from conflictscore.scoring_files.rows import ADDED
from conflictscore.storage.record_file import json_line

__all__ = ["encoded", "plain"]


def encoded(fields: Mapping[str, Any], outcome: Outcome) -> bytes:
    """A row with what is added to it as a line of UTF-8, with its end.

    Args:
        fields: What is carried through, as plain JSON values.
        outcome: What is added.
    """
    return json_line({**fields, ADDED: outcome}, escape=False)


def plain(value: Any) -> Any:
    """A value of a Parquet column as JSON has it.

    Numbers that are none, as pandas writes what is missing, are null; times are ISO 8601, bytes
    base64, and what else JSON does not have is its text.
    """
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if isfinite(value) else None
        case dict():
            return {str(name): plain(inner) for name, inner in value.items()}
        case list() | tuple():
            return [plain(inner) for inner in value]
        case bytes():
            return base64.b64encode(value).decode("ascii")
    iso = getattr(value, "isoformat", None)
    return iso() if iso is not None else str(value)
