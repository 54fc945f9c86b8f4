"""Creates files that only their owner may read, since questions and answers are private."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from conflictscore.errors import InputError

OWNER_ONLY = 0o600
"""Mode of a file that only its owner may read and write."""
_FOLDER, _OTHERS = 0o700, 0o077  # A folder's mode, and other users' permissions.
# Error codes for a full disk, an exceeded quota, and a file that is too large.
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def owner_only(path: str, flags: int) -> int:
    """Open a file with mode 0600; pass this function to ``open`` as its ``opener``.

    An existing file loses the permissions of other users. Pipes and terminals are left as they are.
    """
    file = os.open(path, flags, OWNER_ONLY)
    close_to_others(Path(path))
    return file


def remedy_for(error: OSError) -> str:
    """Return advice for a failed write: what to do before trying again."""
    return "free up space there" if error.errno in _NO_ROOM else "remove the cause"


def private_folder(path: Path) -> None:
    """Create a folder with mode 0700 and its parents as usual; existing folders are unchanged."""
    path.mkdir(mode=_FOLDER, parents=True, exist_ok=True)


def close_to_others(path: Path) -> None:
    """Remove the permissions of other users from a file or folder, if possible."""
    with contextlib.suppress(OSError):  # for example, the file belongs to another user
        mode = path.stat().st_mode
        if (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) and mode & _OTHERS:
            path.chmod(stat.S_IMODE(mode) & ~_OTHERS)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically; see :func:`whole_file`."""
    with whole_file(path) as file:
        file.write(content)


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Provide a new file that replaces ``path`` at the end of the block, atomically.

    Even after a kill or an error in the block, the file has either the old or the new content.
    Reports and exports quote questions and answers, so only the owner may read them (0600). Threads
    must not write the same file at the same time.

    Raises:
        InputError: The file cannot be written. Every OSError in the block is taken for such a
            failure, so code that also reads files must turn its own errors into others.
    """
    # the process id, since two processes may write the same file
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(part, "wb", opener=owner_only) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # without this, a power cut could leave an empty file
        part.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):  # the first error is the one to report
            part.unlink()
        if not isinstance(error, OSError):
            raise
        no_room = error.errno in _NO_ROOM
        advice = "free up space there" if no_room else "give a path in a folder that exists"
        raise InputError(f"{path}: cannot be written ({error.strerror}); {advice}") from error
