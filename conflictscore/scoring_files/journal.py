"""The rows that ended: lines in the order of the input, whatever the order they ended in."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

from conflictscore.errors import ConfigurationError, InputError
from conflictscore.scoring_files.engine import Outcome, flawed
from conflictscore.scoring_files.rows import ADDED
from conflictscore.storage.private_files import DATABASE_FAILURES, connect, owner_only
from conflictscore.storage.record_file import RecordFile, RecordLines, json_line

__all__ = ["Journal", "WaitingLines", "outcome_in", "unwritable"]

_KEPT = "the rows that were scored so far"


class Journal:
    """A file of lines, the first rows of the input, with those that wait for their place in it.

    A row that ended is kept when ``end`` returns: as the next line of the file, or beside it until
    all rows before it are there. To be used from one thread.

    Attributes:
        failed: Numbers of the rows that have no scores.
        flawed: Numbers of those, and of the rows with a pair that has no verdict.
        half: Bytes of half a line that were cut off at the end of the file.
    """

    def __init__(self, path: Path, waiting: Path) -> None:
        """Open the files, or make them.

        Args:
            path: The lines.
            waiting: Where rows wait for their place.

        Raises:
            InputError: The lines cannot be read, or are not those of a run.
            ConfigurationError: A file cannot be written.
        """
        self.failed: set[int] = set()
        self.flawed: set[int] = set()
        self._path = path
        self._written = 0
        self._ahead: set[int] = set()
        self._again: set[int] = set()
        with ExitStack() as opened:
            self._file = opened.enter_context(RecordFile(path, kept=_KEPT))
            for line in self._file.lines:
                self._count(outcome_in(line.text, line.number, path))
                self._written = line.number
            self._waiting = WaitingLines(waiting)
            opened.callback(self._waiting.close)
            self._waiting.reconcile(self._written)
            for row, text in self._waiting.lines():
                (self._again if row <= self._written else self._ahead).add(row)
                self._count(outcome_in(text, row, waiting))
            self.half = self._file.resume()
            self._advance()
            self._opened = opened.pop_all()

    @property
    def ended(self) -> int:
        """How many rows ended."""
        return self._written + len(self._ahead)

    def has(self, row: int) -> bool:
        """Whether a row ended."""
        return row <= self._written or row in self._ahead

    def end(self, fields: Mapping[str, Any], outcome: Outcome) -> None:
        """Keep the outcome of a row, in place of an earlier one.

        Args:
            fields: What is carried through.
            outcome: What is added to it.

        Raises:
            ConfigurationError: It cannot be written, as on a full disk.
        """
        row = outcome["row"]
        line = json_line({**fields, ADDED: outcome}, escape=False)
        if row == self._written + 1:
            self._file.append(line)
            self._written = row
            self._advance()
        else:
            again = row <= self._written
            self._waiting.put(row, line, again=again)
            (self._again if again else self._ahead).add(row)
        self._count(outcome)

    def settle(self) -> None:
        """Put the rows that were scored again into their places, and close.

        Raises:
            ConfigurationError: The file cannot be written; it stays as it is.
        """
        self._file.close()
        if self._again:
            self._rewrite()
            self._waiting.drop_again()
        self.close()

    def close(self) -> None:
        """Force what was added onto the disk.

        Raises:
            ConfigurationError: The disk does not take it.
        """
        self._opened.close()

    def _count(self, outcome: Mapping[str, Any]) -> None:
        row = outcome["row"]
        (self.flawed.add if flawed(outcome) else self.flawed.discard)(row)
        (self.failed.discard if outcome["error"] is None else self.failed.add)(row)

    def _advance(self) -> None:
        """Write the rows whose turn has come."""
        while (row := self._written + 1) in self._ahead:
            line = self._waiting.take(row)
            if line is None:
                raise RuntimeError(f"row {row} waits no more")
            self._file.append(line)
            self._written = row
            self._waiting.drop(row)
            self._ahead.discard(row)

    def _rewrite(self) -> None:
        part = self._path.with_name(f"{self._path.name}.part")
        again = chain(self._waiting.lines(again=True), [(0, b"")])
        row, instead = next(again)
        try:
            with open(part, "wb", opener=owner_only) as file:
                for number, _, line in RecordLines(self._path):
                    if number == row:
                        file.write(instead)
                        row, instead = next(again)
                    else:
                        file.write(line)
                file.flush()
                os.fsync(file.fileno())
            part.replace(self._path)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise unwritable(self._path, error.strerror) from None


class WaitingLines:
    """Lines of rows that ended and are not in the output yet, in a small SQLite file.

    Some ended before their turn; the others were scored again, and take the place of a line that
    is there. The death of the process cannot take them back.
    """

    def __init__(self, path: Path) -> None:
        """Open the file, and make it where there is none.

        Raises:
            ConfigurationError: It cannot be written.
        """
        self._path = path
        try:
            self._connection = connect(path)
        except DATABASE_FAILURES as error:
            raise unwritable(path, error) from None
        self._execute(
            "CREATE TABLE IF NOT EXISTS lines"
            " (row INTEGER PRIMARY KEY, again INTEGER NOT NULL, line BLOB NOT NULL)"
        )

    def put(self, row: int, line: bytes, *, again: bool) -> None:
        """Keep a line, in place of an earlier one of the row.

        Raises:
            ConfigurationError: It cannot be written, as on a full disk.
        """
        self._execute("INSERT OR REPLACE INTO lines VALUES (?, ?, ?)", row, again, line)

    def take(self, row: int) -> bytes | None:
        """The line of a row that ended before its turn; it stays until ``drop``."""
        found = self._execute("SELECT line FROM lines WHERE row = ? AND NOT again", row)
        return bytes(found[0][0]) if found else None

    def drop(self, row: int) -> None:
        """Forget the line of a row.

        Raises:
            ConfigurationError: The file cannot be written.
        """
        self._execute("DELETE FROM lines WHERE row = ?", row)

    def reconcile(self, last: int) -> None:
        """Forget what a death left that contradicts an output that ends with this row.

        A row that was put into its place was not dropped yet; one that was scored again has lost
        its place, since a power cut took it.

        Raises:
            ConfigurationError: The file cannot be written.
        """
        self._execute("DELETE FROM lines WHERE (row > ?) = again", last)

    def drop_again(self) -> None:
        """Forget the lines that were scored again.

        Raises:
            ConfigurationError: The file cannot be written.
        """
        self._execute("DELETE FROM lines WHERE again")

    def lines(self, *, again: bool | None = None) -> Iterator[tuple[int, bytes]]:
        """Row and line of those that wait, by row; with ``again`` only those scored again, or not.

        Raises:
            ConfigurationError: The file cannot be read.
        """
        which = "" if again is None else "WHERE again" if again else "WHERE NOT again"
        try:
            for row, line in self._connection.execute(
                f"SELECT row, line FROM lines {which} ORDER BY row"  # noqa: S608 - no user's text
            ):
                yield row, bytes(line)
        except DATABASE_FAILURES as error:
            raise unwritable(self._path, error) from None

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _execute(self, statement: str, *values: object) -> list[tuple[bytes, ...]]:
        try:
            return self._connection.execute(statement, values).fetchall()
        except DATABASE_FAILURES as error:
            raise unwritable(self._path, error) from None


def outcome_in(line: bytes, row: int, path: Path) -> dict[str, Any]:
    """What was added to the row of this number.

    Raises:
        InputError: The line is not that of the row.
    """
    try:
        outcome: dict[str, Any] = json.loads(line)[ADDED]
        right = outcome["row"] == row and {"error", "report"} <= outcome.keys()
    except (ValueError, RecursionError, KeyError, TypeError):
        right = False
    if not right:
        raise InputError(
            f"{path}, row {row}: damaged, or changed since it was written; put back a copy, or give"
            " another --out"
        )
    return outcome


def unwritable(path: Path, reason: object) -> ConfigurationError:
    """The error of a file that takes no more."""
    return ConfigurationError(
        f"{path}: cannot be written ({reason}); make room there, and run the same command to"
        f" resume from {_KEPT}"
    )
