"""Locks on files and folders, so that two commands never write to the same one."""

import os
import sys
from pathlib import Path
from typing import IO

from conflictscore.errors import InputError
from conflictscore.storage.private_files import close_to_others, owner_only, private_folder

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
