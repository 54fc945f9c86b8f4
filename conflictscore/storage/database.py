"""Shared tables in an SQLite file; `postgres.py` offers the same interface to PostgreSQL."""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from conflictscore.errors import ConfigurationError
from conflictscore.storage.sqlite_files import DATABASE_FAILURES, connect

SESSION = "conflictscore "
"""Prefix of the names of sessions: each process gives its sessions a name of its own."""
Value = str | int | float | None
Done = Callable[[ConfigurationError | None], None]
"""Called from any thread when a statement has ended.

The argument is the statement's error, or None on success.

The callback must not raise an error, since the statements waiting behind it would be lost.
"""


class Database(Protocol):
    """Runs statements in the SQL that SQLite and PostgreSQL have in common.

    ``$1`` is the placeholder for the first value. Characters that PostgreSQL cannot store are
    replaced (:func:`storable`). A failure is raised or reported as ``ConfigurationError``, in one
    line without values or passwords.
    """

    remote: bool
    """Whether a statement may wait for another machine."""
    each: str
    """A SELECT with one row for each string in a JSON list; ``{}`` stands for the list."""

    session: str | None
    """The name of this process's sessions, which end with the process; None if there are no
    sessions."""

    def has_session(self, name: str) -> bool:
        """Return whether a process with sessions of this name may be alive."""

    def make(self, *tables: str) -> None:
        """Create tables (``CREATE … IF NOT EXISTS``), even while other processes do the same."""

    def execute(self, statement: str, *parameters: Value) -> Sequence[Sequence[Any]]:
        """Run a statement to completion, and return its rows."""

    def later(self, statement: str, *parameters: Value, on_done: Done, again: bool = False) -> None:
        """Run a statement in the background, in no particular order relative to other statements.

        ``on_done`` is called once, with the error or None. If ``again`` is True, the statement may
        safely run twice, so it is retried for two minutes while the server is unavailable.
        """

    def close(self) -> None:
        """Close files or connections."""


class SQLiteTables:
    """One SQLite file, or a database in memory; see :class:`Database`.

    Statements run one at a time and in order, so a read sees every earlier write. :meth:`execute`
    runs statements in the calling thread, :meth:`later` in a background thread.
    """

    remote = False
    session: str | None = None
    each = "SELECT value FROM json_each({})"

    def __init__(
        self,
        path: Path | None,
        *,
        unusable: Callable[[Exception], ConfigurationError],
        timeout: float = 5.0,
        rest: float = 0.0,
    ) -> None:
        """Open or create the file; None opens a database in memory.

        ``timeout`` is how many seconds to wait while another process writes. For ``rest`` seconds
        after a failed write, further writes fail at once, because each could wait for a lock.
        ``unusable`` returns the error to raise when SQLite fails.
        """
        self._unusable, self._rest = unusable, rest
        self._trouble, self._rests_until = "", 0.0
        self._waiting: list[tuple[str, Sequence[Value], Done]] = []
        # one lock for the list of waiting statements, which callers extend at any time, and one for
        # the connection, on which a transaction may be running
        self._adding = threading.Lock()
        self._running = threading.RLock()  # reentrant, since a callback may run statements
        # the thread that is running an `on_done` callback; the callback may run statements itself
        self._reporter_id = 0
        self._worker = ThreadPoolExecutor(1, "conflictscore database")
        try:
            self._file = connect(path or Path(":memory:"), timeout=timeout)
        except DATABASE_FAILURES as error:
            raise unusable(error) from error
        # a damaged text must not raise: SQLite's own error would quote it
        self._file.text_factory = lambda text: text.decode(errors="replace")

    def make(self, *tables: str) -> None:
        """See :class:`Database`."""
        for table in tables:
            self.execute(table)

    def execute(self, statement: str, *parameters: Value) -> Sequence[Sequence[Any]]:
        """See :class:`Database`."""
        with self._running:
            if self._waiting:
                self._run_waiting()
            return self._run(statement, parameters)

    def has_session(self, name: str) -> bool:
        """See :class:`Database`; a file has no sessions, so any process may be alive."""
        return True

    def later(self, statement: str, *parameters: Value, on_done: Done, again: bool = False) -> None:
        """See :class:`Database`."""
        if threading.get_ident() == self._reporter_id:
            self._run_and_report(statement, parameters, on_done)
            return
        with self._adding:
            self._waiting.append((statement, parameters, on_done))
            if len(self._waiting) == 1:  # if more are waiting, the thread has already been woken
                self._worker.submit(self._run_waiting)

    def close(self) -> None:
        """Run pending statements, and close the file."""
        self._worker.shutdown()
        self._file.close()

    def _run_waiting(self) -> None:
        """Run all pending statements, since waking the thread costs more than a statement."""
        with self._running:
            with self._adding:
                waiting, self._waiting = self._waiting, []
            if not waiting:
                return
            self._reporter_id = threading.get_ident()
            try:
                for statement, parameters, on_done in waiting:
                    self._run_and_report(statement, parameters, on_done)
            finally:
                self._reporter_id = 0

    def _run_and_report(self, statement: str, parameters: Sequence[Value], on_done: Done) -> None:
        try:
            self._run(statement, parameters)
        except ConfigurationError as error:
            on_done(error)
        else:
            on_done(None)

    def _run(self, statement: str, parameters: Sequence[Value]) -> Sequence[Sequence[Any]]:
        writes = not statement.startswith("SELECT")
        if writes and time.monotonic() < self._rests_until:
            # a new error each time: an error that is raised again collects the tracebacks, and so
            # the values, of all attempts
            raise ConfigurationError(self._trouble)
        try:
            return self._file.execute(_in_sqlite(statement), storable(parameters)).fetchall()
        except DATABASE_FAILURES as error:
            failure = self._unusable(error)
            if writes:
                self._trouble, self._rests_until = str(failure), time.monotonic() + self._rest
            raise failure from error


def storable(values: Iterable[Value]) -> list[Value]:
    """Return the values, with lone surrogates and null characters replaced.

    PostgreSQL cannot store these characters; both databases store the same texts.
    """
    return [
        _storable_text(v) if isinstance(v, str) and ("\0" in v or not v.isascii()) else v
        for v in values
    ]


@cache  # there are few statements
def _in_sqlite(statement: str) -> str:
    return statement.replace("$", "?")


def _storable_text(text: str) -> str:
    if not text.isascii():
        text = text.encode(errors="replace").decode()
    return text.replace("\0", " ") if "\0" in text else text
