"""Reading a file of JSON lines."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conflictscore.errors import InputError

__all__ = ["read_json_lines"]


def read_json_lines(path: Path) -> Iterator[tuple[str, Any]]:
    """Each line's value, with the file and row for errors.

    Raises:
        InputError: The file cannot be read, or a line is not JSON.
    """
    try:
        with path.open(encoding="utf-8") as lines:
            for row, line in enumerate(lines, start=1):
                yield f"{path}, row {row}", _value(line, f"{path}, row {row}")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as UTF-8 text ({error})") from error


def _value(line: str, where: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:  # a number or a nesting that is too long, too
        why = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise InputError(f"{where}: not JSON ({why})") from error
