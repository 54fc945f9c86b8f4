"""Locks files and folders, so that two commands never write to the same place at once.

A lock is a separate, empty file, because filelock truncates the file that it locks. The operating
system releases the lock when its process ends, so a kill leaves only the empty file behind.
"""

from contextlib import AbstractContextManager
from pathlib import Path

from filelock import FileLock

from conflictscore.errors import InputError
from conflictscore.storage.private_files import OWNER_ONLY, close_to_others, private_folder

LOCK_FILE = ".conflictscore.lock"
_POLL_S = 0.01  # locks are held for milliseconds, so filelock's default of 0.05 s is too long


def lock(path: Path, *, wait: bool = False) -> AbstractContextManager[object]:
    """Lock the file ``path`` until the returned context, or the process, ends.

    If ``wait`` is True, wait until the lock is free.

    Raises:
        OSError: The file is locked already (``filelock.Timeout``), or cannot be written.
    """
    # another thread may release the lock, for example at the end of a generator
    file_lock = FileLock(path, mode=OWNER_ONLY, thread_local=False)
    return file_lock.acquire(timeout=-1 if wait else 0, poll_interval=_POLL_S)


def lock_beside(path: Path, *, wait: bool = False) -> AbstractContextManager[object]:
    """Lock a file through the file ``.NAME.lock`` in the same folder; see :func:`lock`."""
    return lock(path.with_name(f".{path.name}.lock"), wait=wait)


def lock_folder(folder: Path, *, otherwise: str) -> AbstractContextManager[object]:
    """Lock a run's folder through a file in it; a missing folder is created for its owner only.

    ``otherwise`` names the option to change, for the error message. The folder stays locked until
    the returned context ends.

    Raises:
        InputError: Another command has locked the folder.
        OSError: The folder cannot be written.
    """
    private_folder(folder)
    try:
        folder_lock = lock(folder / LOCK_FILE)
    except TimeoutError:
        raise InputError(
            f"{folder}: cannot be locked; is another command working on this run? Wait until"
            f" that command ends, or give another {otherwise}"
        ) from None
    close_to_others(folder)
    return folder_lock
