"""Tables that threads and processes share: an SQLite file here, PostgreSQL in `postgres.py`."""

import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from conflictscore.errors import ConfigurationError
from conflictscore.storage.private_files import DATABASE_FAILURES, connect

__all__ = ["Database", "Done", "SQLiteTables", "Value", "storable"]

Value = str | int | float | None
Done = Callable[[ConfigurationError | None], None]
"""Told how a statement ended, from any thread."""


class Database(Protocol):
    """Runs statements in the SQL that SQLite and PostgreSQL have in common.

    In a statement, ``$1`` stands for the first value. Of a text, what no database can hold is
    replaced (:func:`storable`). A failure is raised, or told, as
    ``ConfigurationError``, in one line without a value or a password.

    Attributes:
        remote: Whether a statement may have to wait for another machine.
        each: A SELECT of the texts in a list, where ``{}`` stands for the list, as JSON.
    """

    remote: bool
    each: str

    def make(self, *tables: str) -> None:
        """Make tables by ``CREATE … IF NOT EXISTS``, whoever else does so at the same time."""

    def execute(self, statement: str, *values: Value) -> Sequence[Sequence[Any]]:
        """Run a statement; the rows that it gives. It has happened when this returns."""

    def later(self, statement: str, *values: Value, done: Done, again: bool = False) -> None:
        """Run a statement as soon as that can be without waiting, in no order with others.

        Args:
            statement: The statement.
            values: What it needs.
            done: Told once how it ended.
            again: Whether it may happen twice. Then a server that is away is waited for, for half
                a minute or so, before ``done`` is told of a failure.
        """

    def close(self) -> None:
        """Let go of what it holds."""


class SQLiteTables:
    """One SQLite file, or a database in memory; see :class:`Database`."""

    remote = False
    each = "SELECT value FROM json_each({})"

    def __init__(
        self,
        path: Path | None,
        *,
        unusable: Callable[[Exception], ConfigurationError],
        timeout: float = 5.0,
    ) -> None:
        """Open the file, and make it where there is none.

        Args:
            path: The file; None for memory.
            unusable: Says in one line that the file cannot be used.
            timeout: Seconds to wait for another process that writes.

        Raises:
            ConfigurationError: The file cannot be used.
        """
        self._unusable = unusable
        self._lock = threading.Lock()
        try:
            self._file = connect(path or Path(":memory:"), timeout=timeout)
        except DATABASE_FAILURES as error:
            raise unusable(error) from error

    def make(self, *tables: str) -> None:
        """See :class:`Database`."""
        for table in tables:
            self.execute(table)

    def execute(self, statement: str, *values: Value) -> Sequence[Sequence[Any]]:
        """See :class:`Database`."""
        try:
            with self._lock:
                return self._file.execute(statement.replace("$", "?"), storable(values)).fetchall()
        except DATABASE_FAILURES as error:
            raise self._unusable(error) from error

    def later(self, statement: str, *values: Value, done: Done, again: bool = False) -> None:
        """See :class:`Database`; it is done at once."""
        try:
            self.execute(statement, *values)
        except ConfigurationError as error:
            done(error)
        else:
            done(None)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def storable(values: Iterable[Value]) -> list[Value]:
    """The values with what is no Unicode text, or a null character, replaced."""
    return [
        v.encode(errors="replace").decode().replace("\0", " ") if isinstance(v, str) else v
        for v in values
    ]
