"""One SQLite file of replies and verdicts, found again by content.

What was paid for once is not paid for again: a verdict or a reply is stored the moment it is
there, so a run that is stopped goes on where it was. Failures are never stored.
"""

import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from conflictscore.errors import ConfigurationError

__all__ = ["ContentCache", "cache_dir"]

_BUSY_SECONDS = 30.0


def cache_dir() -> Path:
    """The folder for caches: ``CONFLICTSCORE_CACHE_DIR``, or else the user's cache folder."""
    configured = os.environ.get("CONFLICTSCORE_CACHE_DIR")
    return Path(configured) if configured else user_cache_path("conflictscore", appauthor=False)


class ContentCache:
    """Plain JSON values by the SHA-256 of what they depend on; safe for threads and processes."""

    def __init__(self, path: str | Path) -> None:
        """Open the file, and make it where there is none.

        Raises:
            ConfigurationError: The file cannot be written, or is no SQLite database.
        """
        self.path = Path(path)
        self._lock = threading.Lock()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._write_ahead()
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS cache (key TEXT PRIMARY KEY, value TEXT NOT NULL)"
                " WITHOUT ROWID"
            )
        except (OSError, sqlite3.Error) as error:
            raise self._unusable(error) from error

    @classmethod
    def default(cls) -> "ContentCache":
        """The cache in the user's cache folder."""
        return cls(cache_dir() / "verdicts.sqlite")

    def get(self, content: Mapping[str, Any]) -> dict[str, Any] | None:
        """The value stored for this content, or None.

        Raises:
            ConfigurationError: The file can no longer be read.
        """
        row = self._execute("SELECT value FROM cache WHERE key = ?", _key(content))
        return json.loads(row[0]) if row else None

    def put(self, content: Mapping[str, Any], value: Mapping[str, Any]) -> None:
        """Store a value for this content, in place of an earlier one.

        Raises:
            ConfigurationError: The file can no longer be written.
        """
        self._execute(
            "INSERT OR REPLACE INTO cache VALUES (?, ?)", _key(content), json.dumps(value)
        )

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def _execute(self, statement: str, *values: str) -> tuple[str, ...] | None:
        try:
            with self._lock:
                row: tuple[str, ...] | None = self._connection.execute(statement, values).fetchone()
        except sqlite3.Error as error:
            raise self._unusable(error) from error
        return row

    def _write_ahead(self) -> None:
        try:
            self._connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            # SQLite does not wait here: whoever opened the file at the same time switches it
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise

    def _unusable(self, error: Exception) -> ConfigurationError:
        return ConfigurationError(
            f"cache {self.path} cannot be used ({error}); delete the file, set"
            " CONFLICTSCORE_CACHE_DIR to another folder, or pass --no-cache"
        )


def _key(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
