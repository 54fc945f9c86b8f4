"""Announces runs in progress to other processes, and notices when their process has died.

If the runs are stored in a file, each process holds a lock on another file next to it. The
operating system releases the lock when the process ends, even if the process is killed. If the runs
are stored in a shared database, the database server notices that the process's sessions have ended.
This fails if a pooler or another user hides the sessions, or if the whole machine fails. So a run
is also considered abandoned once its process has not confirmed it for a while.
"""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from conflictscore.errors import ConfigurationError
from conflictscore.storage.database import SESSION, Database
from conflictscore.storage.locks import lock

_TABLES = (
    "DROP TABLE IF EXISTS running",  # from earlier versions
    "CREATE TABLE IF NOT EXISTS in_progress (id TEXT PRIMARY KEY, owner TEXT NOT NULL,"
    " process TEXT NOT NULL, began BIGINT NOT NULL, until BIGINT NOT NULL)",
)
_CONFIRMED_EVERY_S, _CONFIRMED_FOR_S = 5.0, 30
"""Seconds between a process's confirmations of its runs, and seconds for which a confirmation stays
valid. A confirmation stays valid for several intervals, so a few of them may fail before a run is
considered abandoned.
"""


class RunInProgress(NamedTuple):
    """A run that a process has begun."""

    run_id: str
    owner: str
    process: str
    began: int
    """Seconds since 1970 (UTC)."""
    until: int
    """When the run will be considered abandoned, in seconds since 1970 (UTC)."""


class RunsInProgress:
    """The runs in progress of all processes that share a database or a file of runs."""

    def __init__(self, database: Database, path: Path | None, lasts: float) -> None:
        """Make the table.

        ``path`` is the file of runs; ``lasts`` is a run's maximum duration in seconds.
        """
        self._database, self._path, self._lasts = database, path, lasts
        self.process = database.session or uuid4().hex
        self._owners: dict[str, str] = {}
        database.make(*_TABLES)
        self._held = ExitStack()
        self._closed = threading.Event()
        if database.remote:
            threading.Thread(target=self._confirm, name="runs in progress", daemon=True).start()
        elif path is not None:
            # without the lock, the runs are considered abandoned after a while
            with suppress(OSError):
                self._held.enter_context(lock(self._lock_of(self.process)))
                self._held.callback(self._remove_lock_of, self.process)

    def begin(self, run_id: str, owner: str) -> None:
        """Announce a run of this process."""
        self._owners[run_id] = owner
        now = int(time.time())
        lasts = _CONFIRMED_FOR_S if self._database.remote else self._lasts
        row = RunInProgress(run_id, owner, self.process, now, int(now + lasts))
        statement = "INSERT INTO in_progress VALUES ($1, $2, $3, $4, $5)"
        self._database.later(statement, *row, on_done=_ignored)

    def owner_of(self, run_id: str) -> str | None:
        """Return the owner of a run in progress in this process; None if there is no such run."""
        return self._owners.get(run_id)

    def end(self, run_id: str) -> None:
        """Withdraw the announcement of a run of this process."""
        self._owners.pop(run_id, None)
        # the announcement may have been stored after it was withdrawn
        statement = "DELETE FROM in_progress WHERE id = $1 OR (process = $2 AND until < $3)"
        row = (run_id, self.process, int(time.time()))
        self._database.later(statement, *row, on_done=_ignored, again=True)

    def get(self, run_id: str, owner: str | None) -> RunInProgress | None:
        """Return a run of any process, even if the process has died; None if there is none."""
        statement = "SELECT * FROM in_progress WHERE id = $1 AND owner = coalesce($2, owner)"
        rows = self._database.execute(statement, run_id, owner)
        return next((RunInProgress._make(row) for row in rows), None)

    def is_abandoned(self, run: RunInProgress) -> bool:
        """Return whether a run of another process will never end."""
        if run.until <= time.time():
            return True
        if self._database.remote:
            has_sessions = run.process.startswith(SESSION)
            return has_sessions and not self._database.has_session(run.process)
        return not self._is_alive(run.process)

    def abandoned(self) -> Iterator[RunInProgress]:
        """Yield the runs whose process has died."""
        rows = self._database.execute("SELECT * FROM in_progress WHERE process <> $1", self.process)
        yield from filter(self.is_abandoned, map(RunInProgress._make, rows))

    def forget(self, run: RunInProgress) -> None:
        """Remove an abandoned run."""
        self._database.execute("DELETE FROM in_progress WHERE id = $1", run.run_id)

    def close(self) -> None:
        """Stop confirming runs, and release the lock."""
        self._closed.set()
        self._held.close()

    def _lock_of(self, process: str) -> Path:
        path = self._path or Path()
        return path.with_name(f".{path.name}.{process}.lock")

    def _is_alive(self, process: str) -> bool:
        if process == self.process:
            return True
        path = self._lock_of(process)
        if not path.is_file():
            return False
        # a running process holds this lock; the system releases it even if the process is killed
        try:
            with lock(path):
                self._remove_lock_of(process)
        except OSError:
            return True
        return False

    def _remove_lock_of(self, process: str) -> None:
        with suppress(OSError):  # a file that stays does no harm, since nobody holds its lock
            self._lock_of(process).unlink(missing_ok=True)

    def _confirm(self) -> None:
        ids = self._database.each.format("$2")
        statement = f"UPDATE in_progress SET until = $1 WHERE id IN ({ids})"  # noqa: S608 - ours
        while not self._closed.wait(_CONFIRMED_EVERY_S):
            if owners := dict(self._owners):
                until = int(time.time()) + _CONFIRMED_FOR_S
                self._database.later(statement, until, json.dumps([*owners]), on_done=_ignored)


def _ignored(error: ConfigurationError | None) -> None:
    """Ignore a full disk or an unavailable store, since the stored runs are not affected."""
