"""Replies and verdicts, found again by content.

What was paid for once is not paid for again: a verdict or a reply is stored the moment it is
there, so a run that was stopped resumes where it was. Failures are never stored.
"""

import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from platformdirs import user_cache_path

from conflictscore.errors import ConfigurationError

__all__ = ["CacheEngine", "ContentCache", "SQLiteEngine", "cache_dir"]

_BUSY_SECONDS = 30.0


def cache_dir() -> Path:
    """The folder for caches: ``CONFLICTSCORE_CACHE_DIR``, or else the user's cache folder."""
    configured = os.environ.get("CONFLICTSCORE_CACHE_DIR")
    return Path(configured) if configured else user_cache_path("conflictscore", appauthor=False)


class CacheEngine(Protocol):
    """Texts by key, shared by threads and processes; a `ContentCache` stands on one.

    A failure of the engine is raised as ``ConfigurationError``, in one line that tells a way out.
    """

    def get(self, key: str) -> str | None:
        """The value of a key of 64 hexadecimal digits, or None."""

    def put(self, key: str, value: str) -> None:
        """Store a value, in place of an earlier one; kept from when this returns."""

    def close(self) -> None:
        """Let go of what the engine holds."""


class ContentCache:
    """Plain JSON values by the SHA-256 of what they depend on; safe for threads and processes."""

    def __init__(self, where: str | Path | CacheEngine) -> None:
        """Open a cache.

        Args:
            where: The path of an SQLite file, made where there is none, or another engine.

        Raises:
            ConfigurationError: The file cannot be written, or is no SQLite database.
        """
        self._engine = SQLiteEngine(Path(where)) if isinstance(where, str | Path) else where

    @classmethod
    def default(cls) -> "ContentCache":
        """The cache in the user's cache folder."""
        return cls(cache_dir() / "verdicts.sqlite")

    def get(self, content: Mapping[str, Any]) -> dict[str, Any] | None:
        """The value stored for this content, or None.

        Raises:
            ConfigurationError: The engine can no longer read.
        """
        value = self._engine.get(_key(content))
        return None if value is None else json.loads(value)

    def put(self, content: Mapping[str, Any], value: Mapping[str, Any]) -> None:
        """Store a value for this content, in place of an earlier one.

        Raises:
            ConfigurationError: The engine can no longer write.
        """
        self._engine.put(_key(content), json.dumps(value))

    def close(self) -> None:
        """Close the engine."""
        self._engine.close()


class SQLiteEngine:
    """One SQLite file; see :class:`CacheEngine`."""

    def __init__(self, path: Path) -> None:
        """Open the file, and make it where there is none.

        Raises:
            ConfigurationError: The file cannot be written, or is no SQLite database.
        """
        self._path = path
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                self._connection.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError as error:
                # SQLite does not wait here: whoever opened the file at the same time switches it
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                    raise
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS cache (key TEXT PRIMARY KEY, value TEXT NOT NULL)"
                " WITHOUT ROWID"
            )
        except (OSError, sqlite3.Error) as error:
            raise self._unusable(error) from error

    def get(self, key: str) -> str | None:
        """See :class:`CacheEngine`."""
        row = self._execute("SELECT value FROM cache WHERE key = ?", key)
        return row[0] if row else None

    def put(self, key: str, value: str) -> None:
        """See :class:`CacheEngine`."""
        self._execute("INSERT OR REPLACE INTO cache VALUES (?, ?)", key, value)

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

    def _unusable(self, error: Exception) -> ConfigurationError:
        return ConfigurationError(
            f"cache {self._path} cannot be used ({error}); delete the file, set"
            " CONFLICTSCORE_CACHE_DIR to another folder, or pass --no-cache"
        )


def _key(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
