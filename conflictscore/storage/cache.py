"""Caches replies and verdicts under a hash of the content on which they depend.

Each verdict and reply is stored as soon as it arrives, so a run that is stopped and resumed pays
for nothing twice. Failures are never stored.
"""

import hashlib
import json
import logging
import os
import sqlite3
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from conflictscore.errors import ConfigurationError
from conflictscore.storage import STORE
from conflictscore.storage.database import Database, SQLiteTables
from conflictscore.storage.private_files import private_folder
from conflictscore.threads import in_thread, off_loop, on_event_loop

_log = logging.getLogger(__name__)

# Many processes may share one cache, and each waits for the others' writes. Waiting costs less than
# requesting a verdict again.
_BUSY_SECONDS = 30.0
_REST_SECONDS = 60.0
"""Seconds without writes after a failed write, since each further attempt may wait for a lock."""
_rests_until: dict[Path, float] = {}
"""The time at which a default cache that stayed locked is opened again.

Without this pause, each new graph would wait for the lock.
"""
_TABLE = "CREATE TABLE IF NOT EXISTS cache (key TEXT PRIMARY KEY, value TEXT NOT NULL)"
_FIND = "SELECT key, value FROM cache WHERE key IN ({})"
_PUT = "INSERT INTO cache VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value"


def cache_dir() -> Path:
    """Return the cache folder: ``CONFLICTSCORE_CACHE_DIR``, or the user's cache folder."""
    folder = os.environ.get("CONFLICTSCORE_CACHE_DIR")
    return Path(folder) if folder else user_cache_path("conflictscore", appauthor=False)


class ContentCache:
    """Stores JSON values under the SHA-256 of everything they depend on; thread- and process-safe.

    An open cache never raises an error. A value that cannot be read is treated as missing. A value
    that cannot be written, for example on a full disk, is dropped. The first such failure is logged
    as a warning.
    """

    def __init__(self, where: str | Path | Database) -> None:
        """Open an SQLite file, which is created if missing, or use an open database.

        Raises:
            ConfigurationError: The file cannot be written, or is not an SQLite database.
        """
        self._own: SQLiteTables | None = None
        self._warned, self._behind = False, True
        if isinstance(where, str | Path):
            where = self._own = off_loop(_opened)(Path(where))
        else:
            where.make(_TABLE)
        self._database: Database = where
        self._find = _FIND.format(where.each.format("$1"))

    @classmethod
    def default(cls) -> "ContentCache":
        """Return the cache in the ``CONFLICTSCORE_STORE`` database, or in the user's cache folder.

        The cache is optional. If its folder cannot be used, for example in a read-only container or
        on a full disk, a warning says so and verdicts are kept in memory.

        Raises:
            ConfigurationError: The database cannot be used.
        """
        if url := os.environ.get(STORE):
            from conflictscore.storage.postgres import shared_tables

            return cls(shared_tables(url))
        path = cache_dir() / "verdicts.sqlite"
        if time.monotonic() >= _rests_until.get(path, 0.0):
            try:
                return cls(path)
            except ConfigurationError as error:
                _warn_once(str(error))
                if getattr(error.__cause__, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
                    _rests_until[path] = time.monotonic() + _REST_SECONDS
        return cls(SQLiteTables(None, unusable=partial(_unusable, path)))

    def get(self, content: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the value stored for this content, or None if there is no readable value."""
        key = content_key(content)
        return self.find([key]).get(key)

    def put(self, content: Mapping[str, Any], value: Mapping[str, Any]) -> None:
        """Store a value for this content if possible, in place of any earlier value."""
        self.keep(content_key(content), value)

    def find(self, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return the readable values under these keys, which come from :func:`content_key`."""
        try:
            rows = self._database.execute(self._find, json.dumps(keys)) if keys else ()
        except ConfigurationError as error:
            self._warn(error)
            return {}
        pairs = ((key, _value(text)) for key, text in rows)
        return {key: value for key, value in pairs if value is not None}

    def write_at_once(self) -> None:
        """Write each value before :meth:`keep` returns, even on an event loop.

        Immediate writes suit a process that owns its event loop, such as a run over a file. If the
        process is killed, no value that was paid for is lost.
        """
        self._behind = False

    async def find_async(self, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Run :meth:`find` in a thread, since it reads from a file or a server.

        After :meth:`write_at_once`, an SQLite file is read on the event loop itself, since the
        process owns the loop.
        """
        if not keys or not (self._behind or self._database.remote):
            return self.find(keys)
        return await in_thread(lambda: self.find(keys))

    async def get_async(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """Run :meth:`get` in a thread; the mapping is empty if nothing is cached."""
        values_by_key = await self.find_async([content_key(content)])
        return next(iter(values_by_key.values()), {})

    def keep(self, key: str, value: Mapping[str, Any]) -> None:
        """Store a value like :meth:`put`, under a key from :func:`content_key`."""
        self.keep_text(key, json.dumps(value))

    def keep_text(self, key: str, text: str) -> None:
        """Store the JSON text of a value under a key from :func:`content_key`.

        The value is written in the background if the caller is on an event loop or the cache is in
        PostgreSQL. At exit, the process waits until everything is written. See
        :meth:`write_at_once`.
        """
        if self._database.remote or (self._behind and on_event_loop()):
            self._database.later(_PUT, key, text, on_done=self._warn, again=True)
            return
        try:
            self._database.execute(_PUT, key, text)
        except ConfigurationError as error:
            self._warn(error)

    def close(self) -> None:
        """Write pending values and close the file; a database that the caller opened stays open."""
        if self._own is not None:
            self._own.close()

    def _warn(self, error: ConfigurationError | None) -> None:
        if error is not None and not self._warned:
            self._warned = True
            _warn_once(str(error))


def _opened(path: Path) -> SQLiteTables:
    unusable = partial(_unusable, path)
    try:
        private_folder(path.parent)
    except OSError as error:
        raise unusable(error) from error
    tables = SQLiteTables(path, unusable=unusable, timeout=_BUSY_SECONDS, rest=_REST_SECONDS)
    tables.make(_TABLE)
    return tables


def _unusable(path: Path, error: Exception) -> ConfigurationError:
    return ConfigurationError(
        f"cache {path} cannot be used ({error}); free up space there, set CONFLICTSCORE_CACHE_DIR"
        " to another folder, or pass --no-cache"
    )


@lru_cache  # a repeated warning has the same argument, so it is not logged again
def _warn_once(trouble: str) -> None:
    _log.warning("%s; until then, calls may have to be paid for again", trouble)


def _value(text: str) -> dict[str, Any] | None:
    try:
        fields = json.loads(text)
    # the text was written by another program, or is damaged
    except (ValueError, TypeError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None


_KEY_TEXTS = json.JSONEncoder(sort_keys=True, ensure_ascii=False, allow_nan=False)


def content_key(content: Mapping[str, Any]) -> str:
    """Return the cache key of this content: 64 hexadecimal digits."""
    text = _KEY_TEXTS.encode(content)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
