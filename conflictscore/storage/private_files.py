"""Files for their owner alone: what was asked, answered and paid for is nobody else's to read."""

import contextlib
import os
import sqlite3
import stat
import threading
from pathlib import Path

__all__ = ["DATABASE_FAILURES", "close_to_others", "connect", "owner_only", "private_folder"]

DATABASE_FAILURES = (OSError, sqlite3.Error, UnicodeDecodeError)
"""What a database may raise; of a damaged one, SQLite may have no message that is text."""

_FILE, _FOLDER, _OTHERS = 0o600, 0o700, 0o077
_CONNECTING = threading.Lock()


def owner_only(path: str, flags: int) -> int:
    """Open a file for ``open(path, mode, opener=owner_only)``: made 0600, whatever the umask.

    A file of the caller's that others may read is closed to them; pipes and terminals are not.

    Raises:
        OSError: It cannot be opened.
    """
    file = os.open(path, flags, _FILE)
    close_to_others(Path(path))
    return file


def private_folder(path: Path) -> None:
    """Make a folder 0700, and those above it as usual; one that is there is left as it is.

    Raises:
        OSError: It cannot be made.
    """
    path.mkdir(mode=_FOLDER, parents=True, exist_ok=True)


def close_to_others(path: Path) -> None:
    """Take away what a file or folder of the caller's lets others do; never fails."""
    with contextlib.suppress(OSError):
        mode = path.stat().st_mode
        if (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) and mode & _OTHERS:
            path.chmod(stat.S_IMODE(mode) & ~_OTHERS)


def connect(path: Path, *, timeout: float = 5.0) -> sqlite3.Connection:
    """Open an SQLite file, made 0600 where there is none, for any thread and without transactions.

    SQLite gives its files beside it, ``-wal`` and ``-shm``, the same mode. Those that are there
    are closed to others.

    Args:
        path: The file, or ``:memory:``.
        timeout: Seconds to wait for another process that writes.

    Raises:
        OSError: The file cannot be made.
        sqlite3.Error, UnicodeDecodeError: It cannot be opened, or is no database.
    """
    # One at a time: closing a file drops all locks of this process on it, those of SQLite too.
    with _CONNECTING:
        if path != Path(":memory:"):
            if not path.exists():
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, _FILE))
            for end in ("", "-wal", "-shm"):
                close_to_others(path.with_name(path.name + end))
        connection = sqlite3.connect(
            path, timeout=timeout, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except (sqlite3.Error, UnicodeDecodeError) as error:
            # SQLite does not wait here: whoever opened the file at the same time switches it
            if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_BUSY:
                connection.close()
                raise
        connection.execute("PRAGMA synchronous=NORMAL")
    return connection
