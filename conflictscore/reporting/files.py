"""Writing a file whole or not at all."""

import os
from contextlib import suppress
from pathlib import Path

from conflictscore.errors import InputError
from conflictscore.storage.private_files import owner_only

__all__ = ["write_whole"]


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
        with suppress(OSError):
            part.unlink()
        raise InputError(
            f"{path}: cannot be written ({error.strerror}); give a path in a folder that exists"
        ) from error
