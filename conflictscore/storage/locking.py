"""One process at a time: an open file that is locked until it is closed."""

import os
import sys
from pathlib import Path
from typing import IO

from conflictscore.errors import InputError
from conflictscore.storage.private_files import close_to_others, owner_only, private_folder

__all__ = ["LOCK_FILE", "lock", "lock_folder"]

LOCK_FILE = ".conflictscore.lock"


def lock(file: int, *, wait: bool = False) -> None:
    """Lock an open file until it is closed; the system unlocks it where its process dies.

    Args:
        file: The file's descriptor, open for writing.
        wait: Wait until it is free; on Windows for ten seconds at most.

    Raises:
        OSError: It is locked already.
    """
    if sys.platform == "win32":
        import msvcrt

        # A lock keeps readers out of the bytes it covers, and so covers one that is never there.
        os.lseek(file, 1 << 62, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def lock_folder(folder: Path, *, otherwise: str) -> IO[bytes]:
    """Lock a folder that holds a run, by a file in it; it is made, for its owner alone, if need be.

    Args:
        folder: The folder.
        otherwise: What to give in its place, for the error.

    Returns:
        The lock file; the folder is locked until it is closed.

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
