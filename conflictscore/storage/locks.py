"""Locks, so that two commands never write to the same file or folder.

A lock is a file of its own, which stays empty: filelock truncates the file that it locks. The
system releases it with its process, so a kill leaves no lock behind, only the empty file.
"""

from contextlib import AbstractContextManager
from pathlib import Path

from filelock import FileLock

from conflictscore.errors import InputError
from conflictscore.storage.private_files import close_to_others, private_folder

LOCK_FILE = ".conflictscore.lock"
_POLL_S = 0.01
_ITS_OWNER_ALONE = 0o600


def lock(path: Path, *, wait: bool = False) -> AbstractContextManager[object]:
    """Lock by the file ``path``, until the context that is returned ends, or its process.

    ``wait`` waits until it is free.

    Raises:
        OSError: It is locked already (``filelock.Timeout``), or cannot be written.
    """
    # the lock may be released in another thread, as by the end of a generator
    file_lock = FileLock(path, mode=_ITS_OWNER_ALONE, thread_local=False)
    return file_lock.acquire(timeout=-1 if wait else 0, poll_interval=_POLL_S)


def lock_beside(path: Path, *, wait: bool = False) -> AbstractContextManager[object]:
    """Lock a file by ``.NAME.lock`` beside it; see :func:`lock`."""
    return lock(path.with_name(f".{path.name}.lock"), wait=wait)


def lock_folder(folder: Path, *, otherwise: str) -> AbstractContextManager[object]:
    """Lock a run's folder by a file in it; the folder is created, for its owner alone, if missing.

    ``otherwise`` is the option to change, for the error. The folder is locked until the context
    that is returned ends.

    Raises:
        InputError: Another command has locked it.
        OSError: It cannot be written.
    """
    private_folder(folder)
    try:
        folder_lock = lock(folder / LOCK_FILE)
    except TimeoutError:
        raise InputError(
            f"{folder}: cannot be locked; is another command at work on this run? Wait for that"
            f" one, or give another {otherwise}"
        ) from None
    close_to_others(folder)
    return folder_lock
