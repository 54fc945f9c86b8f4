"""Rows of one setup as JSON lines: added one by one, and read back after any death."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, TypeVar

from conflictscore.benchmarks.harness.validation import decoded
from conflictscore.errors import InputError
from conflictscore.records import Record
from conflictscore.storage.record_file import RecordFile, RecordLine, json_line

__all__ = ["ResumableRows"]

_R = TypeVar("_R", bound=Record)


class ResumableRows(Generic[_R]):
    """The rows of a file, added to by one command at a time.

    The first line says what all rows were made with; the others are the rows.

    Attributes:
        rows: In the order of the file.
        cut: Whether half a line, as a kill leaves it, was cut off at the end.
    """

    def __init__(self, file: RecordFile, rows: list[_R], *, cut: bool) -> None:
        self.rows, self.cut, self._file = rows, cut, file

    @classmethod
    @contextmanager
    def open(
        cls, path: Path, kind: type[_R], setup: Mapping[str, Any]
    ) -> "Iterator[ResumableRows[_R]]":
        """Begin a file, or go on with one of the same setup.

        Args:
            path: The file; its folder is made where there is none.
            kind: What a row is.
            setup: What all rows are made with, as plain JSON; its first key names the format.

        Raises:
            InputError: The file cannot be written, is used by another command, is damaged, or
                holds something else; names the row, or the setting that differs.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror})") from None
        header = json_line(dict(setup))

        def is_half(line: RecordLine) -> bool:
            return line.number > 1 or header.startswith(line.text)

        with RecordFile(path, is_half=is_half) as file:
            rows: list[_R] = []
            for line in file.lines:
                if line.number == 1:
                    _check_setup(path, line.text, setup)
                else:
                    advice = "delete this row, and the same command makes it again"
                    rows.append(decoded(line.text, kind, f"{path}, row {line.number}", advice))
            cut = file.resume()
            if not file.lines.size:
                file.append(header)
            yield cls(file, rows, cut=bool(cut))

    def append(self, row: _R) -> None:
        """Add a row; once this returns, the death of the process cannot take it back.

        Raises:
            ConfigurationError: It cannot be written, as on a full disk; the file stays sound.
        """
        self._file.append(json_line(row.to_json()))
        self.rows.append(row)


def _check_setup(path: Path, line: bytes, setup: Mapping[str, Any]) -> None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or next(iter(setup)) not in found:
        raise InputError(f"{path}, row 1: not a file of this command; give another file with --out")
    for name, value in setup.items():
        if found.get(name) != value:
            raise InputError(
                f"{path}, row 1, field {name}: its rows were made with {found.get(name)!r}, and"
                f" now it is {value!r}; give another file with --out"
            )
