"""The file of token numbers: what is in it, and how it is read.

Windows of documents and claims are kept once each, and pairs point to them, so a few hundred
thousand pairs take a few megabytes. Reading needs numpy alone.
"""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["PARTS", "Marks", "Numbers", "Packed", "Texts", "load_packed"]

PARTS = ("synthetic", "human", "validation", "questions", "general", "neutral")
"""What ``part`` of a pair counts in."""

Numbers = NDArray[Any]
"""An array of whole numbers, of one dimension where nothing else is said."""


class Texts(NamedTuple):
    """Texts as token numbers, end to end.

    Attributes:
        tokens: All token numbers, uint16.
        ends: Where each text ends, so that a text begins where the one before it ends.
    """

    tokens: Numbers
    ends: Numbers

    def text(self, place: int) -> Numbers:
        """The token numbers of one text."""
        return self.tokens[self.ends[place - 1] if place else 0 : self.ends[place]]

    def lengths(self) -> Numbers:
        """How many tokens each text has."""
        return np.diff(self.ends, prepend=0)


class Marks(NamedTuple):
    """The tokens that a tokenizer puts around a document and a claim.

    Attributes:
        start: Before the document.
        middle: Between the two.
        end: After the claim.
    """

    start: tuple[int, ...]
    middle: tuple[int, ...]
    end: tuple[int, ...]

    @property
    def total(self) -> int:
        """How many tokens a pair has beside those of its texts."""
        return sum(map(len, self))


class Packed(NamedTuple):
    """All pairs.

    Attributes:
        windows: Of all documents.
        claims: Of all pairs.
        first_window: For each pair its document's first window.
        window_count: For each pair its document's windows, which follow the first.
        claim: For each pair its claim.
        label: For each pair its label, as a place in ``LABELS``.
        part: For each pair its part, as a place in ``PARTS``.
        source: For each pair its set, as a place in ``sources``.
        sources: Names of the sets.
        pair_tokens: The length of pairs that documents were cut for.
        marks: What stands around the texts of a pair.
    """

    windows: Texts
    claims: Texts
    first_window: Numbers
    window_count: Numbers
    claim: Numbers
    label: Numbers
    part: Numbers
    source: Numbers
    sources: tuple[str, ...]
    pair_tokens: int
    marks: Marks

    def of_part(self, part: str) -> Numbers:
        """The places of the pairs of a part."""
        return np.flatnonzero(self.part == PARTS.index(part))

    def sha256(self) -> str:
        """Digest of all that is in the file."""
        columns = (self.first_window, self.window_count, self.claim, self.label, self.part)
        digest = sha256(repr((self.sources, self.pair_tokens, self.marks)).encode())
        for values in (*self.windows, *self.claims, *columns, self.source):
            digest.update(f"{values.dtype} {values.shape}".encode())
            digest.update(values.tobytes())
        return digest.hexdigest()


def load_packed(path: Path) -> Packed:
    """Read a file that ``training.packing`` wrote.

    Raises:
        ValueError: It was written without the tokenizer's marks.
    """
    with np.load(path) as file:
        said = json.loads(file["about"].tobytes())
        if "marks" not in said:
            raise ValueError(f"{path}: an earlier version made it; make it anew: build_pairs")
        return Packed(
            Texts(file["window_tokens"], np.cumsum(file["window_lengths"], dtype=np.int64)),
            Texts(file["claim_tokens"], np.cumsum(file["claim_lengths"], dtype=np.int64)),
            file["first_window"],
            file["window_count"],
            file["claim"],
            file["label"],
            file["part"],
            file["source"],
            tuple(said["sources"]),
            said["pair_tokens"],
            Marks(*map(tuple, said["marks"])),
        )
