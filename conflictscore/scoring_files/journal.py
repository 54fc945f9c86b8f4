"""The journal of a run: the outcome of each row that ended, in the order in which rows end."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from conflictscore.errors import ConfigurationError, InputError
from conflictscore.scoring_files.engine import Outcome, is_flawed
from conflictscore.storage.record_file import RecordFile, RecordLine, json_line

__all__ = ["Journal", "unwritable"]

_KEPT = "the rows that were scored so far"


class Journal:
    """Appends outcomes to a file of JSON lines; a context manager, for one thread.

    A row that is scored again gets another line, and its last line counts. Only the numbers of rows
    and the places of their lines are held in memory.

    Attributes:
        failed: Numbers of the rows without scores.
        flawed: Numbers of those, and of the rows with an unlabelled pair.
    """

    def __init__(self, path: Path) -> None:
        """Open the file, or create it, and read the outcomes of earlier sessions.

        Raises:
            InputError: The file cannot be read or written, or is damaged.
            ConfigurationError: The disk is full.
        """
        self.failed: set[int] = set()
        self.flawed: set[int] = set()
        self._path = path
        self._starts: dict[int, int] = {}
        self._file = RecordFile(path, kept=_KEPT)
        try:
            for line in self._file.lines:
                self._add(_outcome_in(line, path), line.start)
            self._end = self._file.lines.size
            self._file.resume()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._file.close()

    def __len__(self) -> int:
        """Rows that ended."""
        return len(self._starts)

    def __contains__(self, row: int) -> bool:
        """Whether the row of this number ended."""
        return row in self._starts

    def append(self, outcome: Outcome) -> None:
        """Keep the outcome of a row, in place of an earlier one.

        Raises:
            ConfigurationError: It cannot be written, as on a full disk.
        """
        line = json_line(outcome, escape=False)
        self._file.append(line)
        self._add(outcome, self._end)
        self._end += len(line)

    def outcomes(self) -> Iterator[Outcome]:
        """The outcomes of all rows that ended, ordered by row.

        Raises:
            InputError: The file cannot be read.
        """
        try:
            with self._path.open("rb") as file:
                for row in sorted(self._starts):
                    file.seek(self._starts[row])
                    outcome: Outcome = json.loads(file.readline())
                    yield outcome
        except OSError as error:
            raise InputError(f"{self._path}: cannot be read ({error.strerror})") from None

    def _add(self, outcome: Outcome, start: int) -> None:
        row = outcome["row"]
        self._starts[row] = start
        (self.flawed.add if is_flawed(outcome) else self.flawed.discard)(row)
        (self.failed.discard if outcome["error"] is None else self.failed.add)(row)


def _outcome_in(line: RecordLine, path: Path) -> Outcome:
    try:
        outcome: Any = json.loads(line.text)
        valid = isinstance(outcome["row"], int) and {"error", "report", "notes"} <= outcome.keys()
    except (ValueError, RecursionError, KeyError, TypeError):
        valid = False
    if not valid:
        raise InputError(
            f"{path}, line {line.number}: damaged, or changed since it was written; put back a"
            " copy, or give another --out"
        )
    found: Outcome = outcome
    return found


def unwritable(path: Path, reason: object) -> ConfigurationError:
    """The error for a file that cannot be written."""
    return ConfigurationError(
        f"{path}: cannot be written ({reason}); make room there, and run the same command to"
        f" resume from {_KEPT}"
    )
