"""Files that only their owner may read, since questions and answers are private; and locks."""

import contextlib
import os
import sqlite3
import stat
import sys
import threading
from pathlib import Path
from typing import IO

from conflictscore.errors import InputError

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
            file.flush()
            os.fsync(file.fileno())  # or a power cut could leave the new name without its content
        part.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()
        raise InputError(
            f"{path}: cannot be written ({error.strerror}); give a path in a folder that exists"
        ) from error


LOCK_FILE = ".conflictscore.lock"


def lock(file: int, *, wait: bool = False) -> None:
    """Lock a file that is open for writing, until it is closed or its process dies.

    ``wait`` waits until it is free, on Windows for at most ten seconds.

    Raises:
        OSError: It is locked already.
    """
    if sys.platform == "win32":
        import msvcrt

        # A lock keeps readers out of the bytes it covers, so it covers one beyond any file's end.
        os.lseek(file, 1 << 62, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def lock_folder(folder: Path, *, otherwise: str) -> IO[bytes]:
    """Lock a run's folder by a file in it; the folder is created, for its owner alone, if missing.

    ``otherwise`` is the option to change, for the error. The folder is locked until the lock file,
    which is returned, is closed.

    Raises:
        InputError: Another command has locked it.
        OSError: It cannot be written.
    """
    private_folder(folder)
    file = open(folder / LOCK_FILE, "ab", opener=owner_only)  # noqa: SIM115
    try:
        lock(file.fileno())
    except OSError:
        file.close()
        raise InputError(
            f"{folder}: cannot be locked; is another command at work on this run? Wait for that"
            f" one, or give another {otherwise}"
        ) from None
    close_to_others(folder)
    return file
