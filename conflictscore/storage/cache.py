"""A cache of replies and verdicts, by content.

Each verdict and reply is stored as soon as it arrives, so a run that was stopped pays for nothing
twice. Failures are never stored.
"""

import errno
import hashlib
import json
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

from platformdirs import user_cache_path

from conflictscore.errors import ConfigurationError
from conflictscore.storage import STORE
from conflictscore.storage.private_files import DATABASE_FAILURES, connect, private_folder
from conflictscore.threads import in_thread, off_loop, on_event_loop

__all__ = [
    "CacheEngine",
    "ContentCache",
    "SQLiteEngine",
    "cache_dir",
    "content_key",
]

_log = logging.getLogger(__name__)

_BUSY_SECONDS = 30.0
_REST_SECONDS = 60.0
"""Pause after a failed write, since each attempt may wait for a lock."""
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_DISK_FAILS = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR})


def cache_dir() -> Path:
    """The cache folder: ``CONFLICTSCORE_CACHE_DIR``, or the user's cache folder."""
    configured = os.environ.get("CONFLICTSCORE_CACHE_DIR")
    return Path(configured) if configured else user_cache_path("conflictscore", appauthor=False)


class CacheEngine(Protocol):
    """A key-value store of texts below a `ContentCache`, shared by threads and processes.

    Implemented by :class:`SQLiteEngine` and
    :class:`~conflictscore.storage.postgres.PostgresEngine`. Failures are raised as
    ``ConfigurationError``, in one line with a way out.
    """

    def find(self, keys: Sequence[str]) -> Mapping[str, str]:
        """The stored values of these keys, each 64 hexadecimal digits."""

    def put(self, key: str, value: str) -> None:
        """Store a value, in place of an earlier one; this process finds it from then on."""

    def close(self) -> None:
        """Close files or connections."""


class ContentCache:
    """JSON values by the SHA-256 of all that they depend on; safe for threads and processes.

    An open cache never fails its user: a value that cannot be read is a miss, a value that cannot
    be written, as on a full disk, is dropped, and the first failure is logged as a warning.
    """

    def __init__(self, where: str | Path | CacheEngine) -> None:
        """Open a cache.

        Args:
            where: Path of an SQLite file, created if missing, or another engine.

        Raises:
            ConfigurationError: The file may not be written, or is not an SQLite database. A full
                disk only gives a warning.
        """
        opened = off_loop(SQLiteEngine)
        self._engine = opened(Path(where)) if isinstance(where, str | Path) else where
        self._warned = False
        self._behind = True
        self._unwritten: dict[str, str] = {}
        self._writing = threading.Lock()
        self._writer = ThreadPoolExecutor(1, "conflictscore cache")

    @classmethod
    def default(cls) -> "ContentCache":
        """The cache in the database of ``CONFLICTSCORE_STORE``, or in the user's cache folder.

        Raises:
            ConfigurationError: It cannot be used.
        """
        if url := os.environ.get(STORE):
            from conflictscore.storage.postgres import PostgresEngine, shared_tables

            return cls(PostgresEngine(shared_tables(url)))
        return cls(cache_dir() / "verdicts.sqlite")

    def get(self, content: Mapping[str, Any]) -> dict[str, Any] | None:
        """The value stored for this content; None if there is none or it cannot be read."""
        key = content_key(content)
        return self.find([key]).get(key)

    def put(self, content: Mapping[str, Any], value: Mapping[str, Any]) -> None:
        """Store a value for this content, in place of an earlier one, if possible."""
        self.keep(content_key(content), value)

    def find(self, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The readable values of these :func:`content_key` keys."""
        with self._writing:
            unwritten = {key: self._unwritten[key] for key in keys if key in self._unwritten}
        try:
            found = {**(self._engine.find(keys) if keys else {}), **unwritten}
        except ConfigurationError as error:
            self._warn(error)
            found = unwritten
        values = ((key, _value(text)) for key, text in found.items())
        return {key: value for key, value in values if value is not None}

    def write_at_once(self) -> None:
        """Write each value before :meth:`keep` returns, on an event loop too.

        For a process whose event loop is its own, such as a run over a file: then not even a kill
        loses a value that was paid for.
        """
        self._behind = False

    async def find_async(self, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
        """:meth:`find` in a thread, since a file or a server is read."""
        return await in_thread(lambda: self.find(keys)) if keys else {}

    async def get_async(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """:meth:`get` in a thread; empty where there is none."""
        found = await self.find_async([content_key(content)])
        return next(iter(found.values()), {})

    def keep(self, key: str, value: Mapping[str, Any]) -> None:
        """Like :meth:`put`, by the content's :func:`content_key`.

        On an event loop, a thread writes the value a moment later, and this process finds it at
        once; the end of the process waits for what is unwritten. See :meth:`write_at_once`.
        """
        text = json.dumps(value)
        if not self._behind or not on_event_loop():
            self._write(key, text)
            return
        with self._writing:
            self._unwritten[key] = text
        self._writer.submit(self._write, key, text)

    def close(self) -> None:
        """Write what is unwritten, and close the engine."""
        self._writer.shutdown()
        self._engine.close()

    def _write(self, key: str, text: str) -> None:
        try:
            self._engine.put(key, text)
        except ConfigurationError as error:
            self._warn(error)
        with self._writing:
            if self._unwritten.get(key) is text:
                del self._unwritten[key]

    def _warn(self, error: ConfigurationError) -> None:
        if not self._warned:
            self._warned = True
            _log.warning("%s; until then, calls may have to be paid for again", error)


class SQLiteEngine:
    """One SQLite file; see :class:`CacheEngine`."""

    def __init__(self, path: Path) -> None:
        """Open the file, or create it; on a full disk, later once there is room.

        Raises:
            ConfigurationError: The file may not be written, or is not an SQLite database.
        """
        self._path = path
        self._rests_until = 0.0
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        try:
            self._opened()
        except DATABASE_FAILURES as error:
            if not _disk_fails(error):
                raise self._unusable(error) from error

    def find(self, keys: Sequence[str]) -> Mapping[str, str]:
        """See :class:`CacheEngine`."""
        # as bytes, because SQLite's error for a damaged text quotes the text
        wanted = (
            "SELECT key, CAST(value AS BLOB) FROM cache"
            " WHERE key IN (SELECT value FROM json_each(?))"
        )
        rows = self._execute(wanted, json.dumps(keys))
        return {key: bytes(value).decode(errors="replace") for key, value in rows}

    def put(self, key: str, value: str) -> None:
        """See :class:`CacheEngine`; the value is stored when this returns."""
        if time.monotonic() < self._rests_until:
            return
        try:
            self._execute("INSERT OR REPLACE INTO cache VALUES (?, ?)", key, value)
        except ConfigurationError:
            self._rests_until = time.monotonic() + _REST_SECONDS
            raise

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()

    def _execute(self, statement: str, *values: str) -> list[tuple[Any, ...]]:
        try:
            with self._lock:
                rows: list[tuple[Any, ...]] = self._opened().execute(statement, values).fetchall()
        except DATABASE_FAILURES as error:
            raise self._unusable(error) from error
        return rows

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            private_folder(self._path.parent)
            connection = connect(self._path, timeout=_BUSY_SECONDS)
            try:
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS cache (key TEXT PRIMARY KEY, value TEXT NOT NULL)"
                    " WITHOUT ROWID"
                )
            except DATABASE_FAILURES:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _unusable(self, error: Exception) -> ConfigurationError:
        return ConfigurationError(
            f"cache {self._path} cannot be used ({error}); make room there, set"
            " CONFLICTSCORE_CACHE_DIR to another folder, or pass --no-cache"
        )


def _disk_fails(error: Exception) -> bool:
    """Whether the disk is full or broken, as opposed to a wrong setting."""
    if isinstance(error, OSError):
        return error.errno in _NO_ROOM
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DISK_FAILS


def _value(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, TypeError, RecursionError):  # written by another program, or damaged
        return None
    return value if isinstance(value, dict) else None


def content_key(content: Mapping[str, Any]) -> str:
    """The cache key of a content: 64 hexadecimal digits."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
