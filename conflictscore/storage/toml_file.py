"""TOML files that a user writes: prices, and weights of sources."""

import tomllib
from pathlib import Path
from typing import Any

from conflictscore.errors import InputError

__all__ = ["read_toml"]


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file, with a byte order mark in front or without.

    Raises:
        InputError: It cannot be read, or is not TOML in UTF-8; the line names the file.
    """
    try:
        return tomllib.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or 'it cannot be read'}") from None
    except ValueError as error:  # not UTF-8, or no TOML
        raise InputError(f"{path}: it is not a TOML file: {error}") from None
