"""Reads the positions of the lines of several PDF pages, and of the pieces of their text.

The limits in this module were chosen by hand. ``measurements.real_files`` shows their effect on
real PDFs (docs/findings/reading.md).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from conflictscore.retrieval.reading.pdf_pieces import BlockGlyphs, Pieces, ends_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from conflictscore.retrieval.reading.pdf_pieces import Places

    _Flags = NDArray[np.bool_]
    _Numbers = NDArray[np.float64]

GAP = 1.0
"""Minimum white space in a line, relative to the font size, that may separate columns."""
SPACE = 0.14
"""Minimum white space between words drawn by different objects, relative to the font size."""
OVERLAP = 0.5
"""Minimum overlap, relative to the font size, of words drawn by different objects. Words overlap if
a cell is too narrow for its text."""
SAME_LINE = 0.04
"""Maximum difference in height within a run, relative to the font size."""
Box = tuple[float, float, float, float]


class Positions:
    """The positions of successive pages' lines and pieces of text.

    Lengths are in points.

    Attributes:
        firsts: The number of each line's first piece.
        lasts: The number of each line's last piece.
        lines: The number of each piece's line.
        page_lines: The number of each page's first line, and at the end, the number of lines.
        xs: The positions of the pieces.
        ys: The heights of the pieces.
        sizes: The font sizes of the pieces; in an even line, that of the first.
        rights: The right ends of pieces before a change of object or height, and 0 for the others.
            In even lines, only the last piece has a right end.
        last_xs: The positions of the last characters of those pieces, and of the last pieces of
            lines; NaN for the others.
        last_ys: The heights of the last characters of those pieces.
        is_even: Whether each line is at one height, and entirely visible.
    """

    def __init__(self, glyphs: BlockGlyphs, pieces: Pieces, crops: Sequence[Box]) -> None:
        """Read the positions; ``crops`` are the crop boxes of the pages."""
        self._glyphs, self._pieces = glyphs, pieces
        self.firsts = pieces.begins.nonzero()[0]
        self.lasts = ends_of(pieces.begins).nonzero()[0]
        self.lines = pieces.begins.cumsum() - 1
        self.page_lines = pieces.starts[self.firsts].searchsorted(glyphs.offsets)
        self.xs, self.ys = glyphs.origins(pieces.starts).T
        self.rights, self.last_ys = np.zeros(len(self.xs)), self.ys.copy()
        self.last_xs = np.full(len(self.xs), np.nan)
        self.sizes = self._read_lines()
        self.is_even = self._even(np.repeat(np.array(crops), np.diff(self.page_lines), axis=0))
        self._read_pieces((~self.is_even)[self.lines])

    def _read_lines(self) -> "_Numbers":
        """Read the ends of lines, and return the font sizes of the lines' first pieces."""
        firsts, lasts = self.firsts, self.lasts
        starts, ends, *_ = self._pieces
        self.rights[lasts] = self._glyphs.boxes(ends[lasts] - 1)[:, 2]
        sizes = _heights(self._glyphs.boxes(starts[firsts]))
        self.last_xs[lasts], self.last_ys[lasts] = self._glyphs.origins(ends[lasts] - 1).T
        piece_sizes: _Numbers = sizes[self.lines]
        return piece_sizes

    def _read_pieces(self, uneven: "_Flags") -> None:
        """Read the sizes and ends of pieces in uneven lines, where the object or height changes."""
        starts, ends, owners, begins, _ = self._pieces
        changes = uneven & ~begins
        changes[1:] &= (owners[1:] != owners[:-1]) | (self.ys[1:] != self.ys[:-1])
        numbers = changes.nonzero()[0]
        before = numbers - 1
        self.rights[before] = self._glyphs.boxes(ends[before] - 1)[:, 2]
        self.last_xs[before], self.last_ys[before] = self._glyphs.origins(ends[before] - 1).T
        self.sizes[numbers] = _heights(self._glyphs.boxes(starts[numbers]))
        # the pieces after a change have the same size
        sources = np.where(changes | begins, np.arange(len(starts)), 0)
        self.sizes = self.sizes[np.maximum.accumulate(sources)]

    def _even(self, crops: "_Numbers") -> "_Flags":
        """Return which lines are at one height, and within their pages' crop boxes."""
        xs, ys, firsts = self.xs, self.ys, self.firsts
        if not len(firsts):
            return np.empty(0, bool)
        heights, margin = ys[firsts], SAME_LINE * self.sizes[firsts]
        left, bottom, right, top = crops.T
        is_even: _Flags = (
            (heights - margin < np.minimum.reduceat(ys, firsts))
            & (np.maximum.reduceat(ys, firsts) < heights + margin)
            & (left - 1 <= xs[firsts])
            & (xs[self.lasts] <= right + 1)
            & (bottom - 1 <= heights)
            & (heights <= top + 1)
        )
        is_backwards = ~self._pieces.begins[1:] & (xs[1:] < xs[:-1])
        is_even[self.lines[1:][is_backwards]] = False
        is_even[self.lines[self._separate_parts(is_even)]] = False
        return is_even

    def _separate_parts(self, is_even: "_Flags") -> "Places":
        """Return the parts of words in even lines that may be separate words."""
        starts, text = self._pieces.starts, self._glyphs.text
        parts = (~self._pieces.begins_word & is_even[self.lines]).nonzero()[0]
        places = starts[parts].tolist()
        joins = [text[place - 1].isalnum() and text[place].isalnum() for place in places]
        parts = parts[np.array(joins, bool)]
        gaps = self.xs[parts] - self._glyphs.boxes(starts[parts] - 1)[:, 2]
        sizes = self.sizes[parts]
        is_apart = ((SPACE * sizes < gaps) & (gaps <= GAP * sizes)) | (gaps < -OVERLAP * sizes)
        apart: Places = parts[is_apart]
        return apart

    def ratios(self) -> "_Numbers":
        """Return the average widths of the pieces' characters, relative to the font size.

        A piece is measured up to the next piece, and the last one of a line up to its last
        character.
        """
        starts, lasts = self._pieces.starts, self.lasts
        nexts, next_xs = np.append(starts[1:], 0), np.append(self.xs[1:], 0.0)
        nexts[lasts], next_xs[lasts] = self._pieces.ends[lasts] - 1, self.last_xs[lasts]
        widths = (nexts - starts) * self.sizes
        ratios = np.zeros(len(widths))
        np.divide(next_xs - self.xs, widths, out=ratios, where=widths > 0)
        return ratios


def _heights(boxes: "NDArray[np.float32]") -> "_Numbers":
    """Return the heights of characters' lines."""
    numbers = boxes.astype(float)
    heights: _Numbers = np.abs(numbers[:, 1] - numbers[:, 3])
    heights[heights == 0] = 1.0  # lengths are divided by heights
    return heights


def is_inside(crop: Box, x: float, y: float) -> bool:
    """Whether a point lies within a page's crop box, with a tolerance of one point."""
    left, bottom, right, top = crop
    return left - 1 <= x <= right + 1 and bottom - 1 <= y <= top + 1
