"""The runs that can be asked for afterwards, bounded in number and in bytes."""

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conflictscore.errors import ConfigurationError
from conflictscore.storage.private_files import DATABASE_FAILURES, connect

__all__ = ["KeptRuns"]

_BUSY_SECONDS = 10.0


class KeptRuns:
    """Finished runs in SQLite, in memory or in a file, each for the owner of one key.

    Where there is no room for another one, the least recently used run goes.

    Args:
        most: The most runs.
        most_bytes: The most bytes that they take. A run that is larger than that is not kept.
        path: The file; None keeps them in memory. A new one can be read by its owner only, since
            it holds what was asked and answered.

    Raises:
        ConfigurationError: The file cannot be used.
    """

    def __init__(self, *, most: int, most_bytes: int, path: Path | None = None) -> None:
        self._most, self._most_bytes, self._path = most, most_bytes, path
        self._running: dict[str, str] = {}
        try:
            self._file = connect(path or Path(":memory:"), timeout=_BUSY_SECONDS)
        except DATABASE_FAILURES as error:
            raise self._unusable(error) from error
        self._one(
            "CREATE TABLE IF NOT EXISTS runs (id TEXT PRIMARY KEY, owner TEXT NOT NULL,"
            " used INTEGER NOT NULL, run TEXT NOT NULL)"
        )
        self._one("CREATE INDEX IF NOT EXISTS by_use ON runs (used)")
        row = self._one("SELECT coalesce(max(used), 0), coalesce(sum(length(run)), 0) FROM runs")
        self._clock, self._bytes = row or (0, 0)

    def begin(self, run_id: str, owner: str) -> None:
        """Announce a run that is being worked on."""
        self._running[run_id] = owner

    def finish(self, run_id: str, run: Mapping[str, Any]) -> None:
        """Keep a run that was announced.

        Raises:
            ConfigurationError: The file can no longer be written.
        """
        owner = self._running.pop(run_id)
        text = json.dumps(run)
        if len(text) > self._most_bytes:
            return
        self._clock += 1
        self._one("INSERT INTO runs VALUES (?, ?, ?, ?)", run_id, owner, self._clock, text)
        self._bytes += len(text)
        [count] = self._one("SELECT count(*) FROM runs") or (0,)
        while count > self._most or self._bytes > self._most_bytes:
            row = self._one("SELECT id, length(run) FROM runs ORDER BY used LIMIT 1")
            if row is None:
                return
            self._one("DELETE FROM runs WHERE id = ?", row[0])
            count, self._bytes = count - 1, self._bytes - row[1]

    def get(self, run_id: str, owner: str) -> dict[str, Any] | None:
        """A finished run of this owner's; None where there is none.

        Raises:
            ConfigurationError: The file can no longer be read.
        """
        self._clock += 1
        row = self._one("SELECT run FROM runs WHERE id = ? AND owner = ?", run_id, owner)
        if row is None:
            return None
        with contextlib.suppress(ConfigurationError):  # a full disk
            self._one("UPDATE runs SET used = ? WHERE id = ?", self._clock, run_id)
        run: dict[str, Any] = json.loads(row[0])
        return run

    def is_running(self, run_id: str, owner: str) -> bool:
        """Whether a run of this owner's is being worked on."""
        return self._running.get(run_id) == owner

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _one(self, statement: str, *values: str | int) -> tuple[Any, ...] | None:
        """The first row that a statement gives, if any."""
        try:
            row: tuple[Any, ...] | None = self._file.execute(statement, values).fetchone()
        except DATABASE_FAILURES as error:
            raise self._unusable(error) from error
        return row

    def _unusable(self, error: Exception) -> ConfigurationError:
        return ConfigurationError(
            f"the file of runs {self._path or 'in memory'} cannot be used ({error}); choose another"
            " --runs-file"
        )
