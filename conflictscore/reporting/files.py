"""Writing a file whole or not at all."""

import os
from contextlib import suppress
from pathlib import Path

from conflictscore.errors import InputError

__all__ = ["write_whole"]


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that a reader, or a kill, meets the old content or the new one.

    Raises:
        InputError: It cannot be written.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        raise InputError(
            f"{path}: cannot be written ({error.strerror}); give a path in a folder that exists"
        ) from error
