"""Opens SQLite files that only their owner may read."""

import os
import sqlite3
import threading
from pathlib import Path

from conflictscore.storage.private_files import OWNER_ONLY, close_to_others

DATABASE_FAILURES = (OSError, sqlite3.Error, UnicodeDecodeError)
"""Exceptions that SQLite raises. For a damaged file, even an error message may be invalid text."""
# Threads must not create the same file, or switch it to WAL, at the same time.
_CONNECTING = threading.Lock()


def connect(path: Path, *, timeout: float = 5.0) -> sqlite3.Connection:
    """Open an SQLite file (created with mode 0600) in autocommit mode, for use in any thread.

    SQLite creates its ``-wal`` and ``-shm`` files with the same mode; existing files lose the
    permissions of other users. ``timeout`` is how many seconds to wait while another process
    writes; the default is that of Python's ``sqlite3``.

    Raises:
        OSError: The file cannot be created.
        sqlite3.Error, UnicodeDecodeError: The file cannot be opened, or is not a database.
    """
    # One thread at a time: closing a file drops all locks of this process on that file, including
    # SQLite's.
    with _CONNECTING:
        if path != Path(":memory:"):
            if not path.exists():
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, OWNER_ONLY))
            for end in ("", "-wal", "-shm"):
                close_to_others(path.with_name(path.name + end))
        connection = sqlite3.connect(
            path, timeout=timeout, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except (sqlite3.Error, UnicodeDecodeError) as error:
            # SQLite does not wait for a lock here. If the file is locked, the process that has it
            # open switches it to WAL, and the switch lasts.
            if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_BUSY:
                connection.close()
                raise
        # with WAL, this keeps the file intact after a power cut, and each write needs no sync
        connection.execute("PRAGMA synchronous=NORMAL")
    return connection
