"""Reads and writes the file of token numbers.

Each window and claim is stored once, and pairs point to them, so a few hundred thousand pairs take
a few megabytes. Reading and writing need only numpy.
"""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

COLUMNS = ("first_window", "window_count", "claim", "label", "part", "source")
"""Fields of each pair."""
PARTS = ("synthetic", "human", "validation", "questions", "general", "neutral", "taught")
"""Names of the parts; ``part`` of a pair is an index into this."""

Numbers = NDArray[Any]
"""An array of integers, one-dimensional unless stated otherwise."""


class Texts(NamedTuple):
    """Texts as token numbers, one text directly after another.

    Attributes:
        tokens: All token numbers, uint16.
        ends: Where each text ends; the next text begins there.
    """

    tokens: Numbers
    ends: Numbers

    def text(self, place: int) -> Numbers:
        """Return the token numbers of one text."""
        return self.tokens[self.ends[place - 1] if place else 0 : self.ends[place]]

    def lengths(self) -> Numbers:
        """Return the number of tokens of each text."""
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
        """The number of tokens that a pair has besides the tokens of its texts."""
        return sum(map(len, self))


class Packed(NamedTuple):
    """All pairs.

    Attributes:
        windows: The windows of all documents.
        claims: The claims of all pairs.
        first_window: For each pair, its document's first window.
        window_count: For each pair, the number of its document's windows, which follow one another.
        claim: For each pair, its claim.
        label: For each pair, its label, as an index into ``LABELS``.
        part: For each pair, its part, as an index into ``PARTS``.
        source: For each pair, its set, as an index into ``sources``.
        sources: Names of the sets.
        pair_tokens: The pair length for which documents were cut.
        marks: The tokens around the texts of a pair.
        taught: If ``training.teach`` wrote the file, the teacher's probabilities for each window
            with the claim of its pair, of shape (windows, 3). Windows of the part ``taught`` belong
            to one pair each; the windows of other parts have zeros.
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
    taught: Numbers | None = None

    def of_part(self, part: str) -> Numbers:
        """Return the indices of the pairs of a part."""
        return np.flatnonzero(self.part == PARTS.index(part))

    def only(self, places: Numbers) -> "Packed":
        """Return a copy with some of the pairs, but with all texts."""
        found: dict[str, Any] = {name: getattr(self, name)[places] for name in COLUMNS}
        return self._replace(**found)

    def sha256(self) -> str:
        """Return a digest of everything in the file."""
        columns = (self.first_window, self.window_count, self.claim, self.label, self.part)
        digest = sha256(repr((self.sources, self.pair_tokens, self.marks)).encode())
        for values in (*self.windows, *self.claims, *columns, self.source):
            digest.update(f"{values.dtype} {values.shape}".encode())
            digest.update(values.tobytes())
        if self.taught is not None:
            digest.update(self.taught.tobytes())
        return digest.hexdigest()


def load_packed(path: Path) -> Packed:
    """Read a file that :func:`save_packed` wrote."""
    with np.load(path) as file:
        said = json.loads(file["about"].tobytes())
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
            file.get("taught"),
        )


def save_packed(packed: Packed, path: Path) -> None:
    """Write all pairs."""
    about = {
        "sources": packed.sources,
        "pair_tokens": packed.pair_tokens,
        "marks": packed.marks,
    }
    arrays: dict[str, Any] = {
        "window_tokens": packed.windows.tokens.astype(np.uint16),
        "window_lengths": packed.windows.lengths().astype(np.uint16),
        "claim_tokens": packed.claims.tokens.astype(np.uint16),
        "claim_lengths": packed.claims.lengths().astype(np.uint16),
        "first_window": packed.first_window.astype(np.uint32),
        "window_count": packed.window_count.astype(np.uint8),
        "claim": packed.claim.astype(np.uint32),
        "label": packed.label.astype(np.uint8),
        "part": packed.part.astype(np.uint8),
        "source": packed.source.astype(np.uint8),
        "about": np.frombuffer(json.dumps(about).encode(), np.uint8),
    }
    if packed.taught is not None:
        arrays["taught"] = packed.taught.astype(np.float16)
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)
