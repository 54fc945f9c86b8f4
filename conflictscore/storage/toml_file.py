"""Reads TOML files written by users: settings, and weights of sources."""

import re
import tomllib
from pathlib import Path
from typing import Any

from conflictscore.errors import InputError

__all__ = ["parse_toml", "read_toml"]

_MOST_BYTES = 1_000_000
"""Far above any file that a person writes; tomllib needs seconds a megabyte."""
_PART = r"(?:[\w-]++|\"[^\"\n]*+\"|'[^'\n]*+')[ \t]*+\.[ \t]*+"
_DEEP = re.compile(rf"(?<![\w.\"'-])(?:{_PART}){{50}}")
"""A key of more parts, for which tomllib's time grows with the square of their number."""


def parse_toml(path: Path) -> dict[str, Any]:
    """Parse a TOML file of at most 1 MB, with a byte order mark in front or without.

    Raises:
        OSError: It cannot be read.
        ValueError: It is not TOML in UTF-8, is too large or is nested too deeply.
    """
    with path.open("rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise ValueError(f"it has more than {_MOST_BYTES:,} bytes")
    text, too_deep = content.decode("utf-8-sig"), ValueError("it is nested too deeply")
    if _DEEP.search(text):
        raise too_deep
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise too_deep from None


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file for a user.

    Raises:
        InputError: It cannot be read, or :func:`parse_toml` refuses it; the line names the file.
    """
    try:
        return parse_toml(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or 'it cannot be read'}") from None
    except ValueError as error:
        raise InputError(f"{path}: it is not a TOML file: {error}") from None
