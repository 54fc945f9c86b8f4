"""Files that only their owner may read, since questions and answers are private."""

import contextlib
import os
import sqlite3
import stat
import threading
from pathlib import Path

from conflictscore.errors import InputError

__all__ = [
    "DATABASE_FAILURES",
    "close_to_others",
    "connect",
    "owner_only",
    "private_folder",
    "write_whole",
]

DATABASE_FAILURES = (OSError, sqlite3.Error, UnicodeDecodeError)
"""Exceptions of SQLite; for a damaged file, its message may not even be valid text."""

_FILE, _FOLDER, _OTHERS = 0o600, 0o700, 0o077
_CONNECTING = threading.Lock()


def owner_only(path: str, flags: int) -> int:
    """An opener for ``open(path, mode, opener=owner_only)``: creates files with mode 0600.

    An existing file loses the permissions of others; pipes and terminals are left as they are.
    """
    file = os.open(path, flags, _FILE)
    close_to_others(Path(path))
    return file


def private_folder(path: Path) -> None:
    """Create a folder with mode 0700, and its parents as usual; leave an existing one as it is."""
    path.mkdir(mode=_FOLDER, parents=True, exist_ok=True)


def close_to_others(path: Path) -> None:
    """Remove the permissions of others from a file or folder, if possible."""
    with contextlib.suppress(OSError):
        mode = path.stat().st_mode
        if (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) and mode & _OTHERS:
            path.chmod(stat.S_IMODE(mode) & ~_OTHERS)


def connect(path: Path, *, timeout: float = 5.0) -> sqlite3.Connection:
    """Open an SQLite file, created with mode 0600, for any thread and in autocommit mode.

    SQLite creates its ``-wal`` and ``-shm`` files with the same mode; existing ones lose the
    permissions of others. ``timeout`` is in seconds to wait for another process that writes.

    Raises:
        OSError: The file cannot be created.
        sqlite3.Error, UnicodeDecodeError: It cannot be opened, or is not a database.
    """
    # One at a time: closing a file drops all locks of this process on it, SQLite's too.
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
            # SQLite does not wait here; the other process that has the file open switches it
            if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_BUSY:
                connection.close()
                raise
        connection.execute("PRAGMA synchronous=NORMAL")
    return connection


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that a reader, or a kill, finds the old content or the new one.

    Reports and exports quote questions and answers, so only the owner may read them (0600).

    Raises:
        InputError: It cannot be written.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(part, "wb", opener=owner_only) as file:
            file.write(content)
        part.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()
        raise InputError(
            f"{path}: cannot be written ({error.strerror}); give a path in a folder that exists"
        ) from error
