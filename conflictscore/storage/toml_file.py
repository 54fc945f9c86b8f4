"""Reads TOML files written by users: settings, and weights of sources."""

import re
import tomllib
from pathlib import Path
from typing import Any

from conflictscore.errors import InputError

_MOST_BYTES = 1_000_000
"""Maximum size of a file, in bytes.

People write far less, and tomllib takes seconds per megabyte.
"""
# A part of a dotted key, and the dot after it.
_PART = r"(?:[\w-]++|\"[^\"\n]*+\"|'[^'\n]*+')[ \t]*+\.[ \t]*+"
_DEEP = re.compile(rf"(?<![\w.\"'-])(?:{_PART}){{50}}")
"""Matches a key of more than 50 parts. tomllib takes time quadratic in the number of parts.

Settings have keys of two or three parts; 50 leaves room.
"""


def read_toml(path: Path) -> dict[str, Any]:
    """Read a user's TOML file of at most 1 MB, with or without a byte order mark.

    Raises:
        InputError: The file cannot be read, is not TOML in UTF-8, is too large, or is nested too
            deeply; the message names the file.
    """
    try:
        return _parse(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or 'it cannot be read'}") from None
    except ValueError as error:
        raise InputError(f"{path}: it is not a TOML file: {error}") from None


def _parse(path: Path) -> dict[str, Any]:
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
