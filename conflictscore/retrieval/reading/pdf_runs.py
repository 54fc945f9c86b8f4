"""Builds the runs of a PDF page: pieces of text on one line, with their positions.

The limits in this module were chosen by hand. ``measurements.real_files`` shows their effect on
real PDFs (docs/findings/reading.md).
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from conflictscore.retrieval.reading.pdf_pieces import PageGlyphs
from conflictscore.retrieval.reading.pdfium_calls import ManyCalls

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WORD = re.compile(r"\S+")
GAP = 1.0
"""Minimum white space in a line, relative to the font size, that may separate columns."""
_USUAL, _WIDER, _LEARNT = 0.45, 1.15, 0.1
"""Parameters for finding gaps.

The first parameter is the assumed width of an average character, relative to the font size. Words
wider than the average times the second parameter are searched for gaps. The third parameter
determines how quickly the average adapts to the page.
"""
SPACE = 0.14
"""Minimum white space between words drawn by different objects, relative to the font size."""
_OVERLAP = 0.5
"""Minimum overlap, relative to the font size, of words drawn by different objects. Words overlap if
a cell is too narrow for its text."""
_SAME_LINE = 0.04
"""Maximum difference in height within a run, relative to the font size."""


class TextRun(NamedTuple):
    """A piece of text on one line.

    Lengths are in points, and ``y`` counts from the bottom of the page. ``x`` is the origin of the
    first character, and ``end`` is approximately where the last character ends. ``breaks`` and
    ``spaced`` say whether a line break or a space precedes the run, and ``slope`` says how much it
    rises. ``owner`` is the address of the object that draws the run if that object may be
    invisible, and otherwise 0.
    """

    text: str
    size: float
    x: float
    end: float
    y: float
    owner: int
    breaks: bool
    spaced: bool
    slope: float


Walls = Callable[[float], Sequence[float]]
"""A function that returns the positions of vertical lines at a height, in ascending order."""
_TOUCHING = 1.5, 0.5
"""Maximum overlap, in points, of a line with the text on its left, and with the text on its
right."""


def divides(walls: Sequence[float], left: float, right: float) -> bool:
    """Return whether a vertical line lies between the end of one text and the start of the next."""
    place = bisect_left(walls, left - _TOUCHING[0])
    return place < len(walls) and walls[place] <= right + _TOUCHING[1]


_NO_RUN = TextRun("", 1.0, 0.0, 0.0, 0.0, 0, False, False, 0.0)


class PageRuns:
    """The runs of a page's text; text outside the crop box is skipped.

    ``doubtful`` takes the objects that draw text, and returns those that may be invisible. The text
    of each becomes a separate run. ``walls`` gives the vertical table lines at a height, which
    divide the text.
    """

    def __init__(
        self,
        page: Any,
        glyphs: PageGlyphs,
        doubtful: Callable[[set[int]], set[int]],
        walls: Walls | None,
        many: ManyCalls,
    ) -> None:
        """Read the positions of the page's pieces, all at once."""
        self._glyphs = glyphs
        self._text = self._glyphs.text
        self._walls = walls
        self._crop = page.get_cropbox()
        self._usual = _USUAL
        self._pieces = pieces = self._glyphs.pieces()
        self._starts, self._ends = pieces.starts.tolist(), pieces.ends.tolist()
        self._owners = pieces.owners.tolist()
        self._doubtful = doubtful({*self._owners})
        firsts = pieces.firsts.tolist()
        self._bounds = [*pairwise([*firsts, len(self._starts)])] if firsts else []
        lasts = [self._ends[after - 1] - 1 for _, after in self._bounds]
        origins = many.origins(self._glyphs.handle, self._starts + lasts)
        self._origins = origins[: len(self._starts)]
        # of the pieces, and of the last character of each line
        self._xs, self._ys = origins[:, 0].tolist(), origins[:, 1].tolist()
        self._word_starts = self._glyphs.words.starts.tolist()
        self._word_ends = self._glyphs.words.ends.tolist()
        self._x_by_place = dict(zip(self._starts, self._xs, strict=False))
        boxes = many.boxes(self._glyphs.handle, lasts + [self._starts[first] for first in firsts])
        self._rights = boxes[2 : 4 * len(lasts) : 4]
        edges = zip(boxes[4 * len(lasts) + 1 :: 4], boxes[4 * len(lasts) + 3 :: 4], strict=True)
        self._sizes = [abs(top - bottom) or 1.0 for top, bottom in edges]

    def __iter__(self) -> Iterator[TextRun]:
        if not self._bounds:
            return
        is_even, ratios = self._even_lines(np.array(self._sizes))
        for line, (first, after) in enumerate(self._bounds):
            start, end = self._starts[first], self._ends[after - 1]
            breaks, spaced = line > 0, start > 0 and self._text[start - 1] not in "\r\n"
            if not is_even[line]:
                yield from self._uneven_runs(first, after, breaks=breaks, spaced=spaced)
                continue
            size, x, y = self._sizes[line], self._xs[first], self._ys[first]
            slope, right = self._ys[len(self._starts) + line] - y, self._rights[line]
            cuts = self._cuts(line, ratios)
            # few lines of a table cross a vertical line
            if cuts or (self._walls and divides(self._walls(y), x, right)):
                run = TextRun("", size, x, 0.0, y, 0, breaks, spaced, slope)
                yield from self._divided(run, start, end, cuts)
            else:
                text = self._text[start:end]
                yield TextRun(text, size, x, right, y, 0, breaks, spaced, slope)

    def _even_lines(self, sizes: "NDArray[np.float64]") -> tuple[list[bool], list[float]]:
        """Return which lines are at one height and entirely visible, and the widths of pieces.

        Lines at one height that are entirely visible are called even; most lines are.
        ``_uneven_runs`` would return the same runs more slowly. The width of a piece is that of an
        average character, relative to the font size, measured up to the next piece.
        """
        starts, ends, _, firsts = self._pieces
        count = len(starts)
        xs, ys = self._origins.T
        steps = xs[1:] - xs[:-1]
        begins = np.zeros(count, bool)
        begins[firsts] = True
        lines = begins.cumsum() - 1
        sizes_by_piece = sizes[lines[1:]]
        ratios = steps / ((starts[1:] - starts[:-1]) * sizes_by_piece)
        goes_on = ~begins[1:]
        heights, margin = ys[firsts], _SAME_LINE * sizes
        left, bottom, right, top = self._crop
        is_even = (
            (heights - margin < np.minimum.reduceat(ys, firsts))
            & (np.maximum.reduceat(ys, firsts) < heights + margin)
            & (left - 1 <= xs[firsts])
            & (xs[_lasts(firsts, count)] <= right + 1)
            & (bottom - 1 <= heights)
            & (heights <= top + 1)
        )
        is_even[lines[1:][goes_on & (steps < 0)]] = False
        if self._doubtful:
            is_doubtful = [owner in self._doubtful for owner in self._owners]
            is_even[lines[is_doubtful]] = False
        touching = (goes_on & (starts[1:] == ends[:-1])).nonzero()[0]
        for before, line in zip(touching.tolist(), lines[touching].tolist(), strict=True):
            if is_even[line] and self._is_apart(
                self._ends[before], self._starts[before + 1], self._xs[before + 1], sizes[line]
            ):
                is_even[line] = False
        return is_even.tolist(), ratios.tolist()

    def _cuts(self, line: int, ratios: Sequence[float]) -> list[int]:
        """Return the places of an even line that follow wide white space."""
        (first, after), size = self._bounds[line], self._sizes[line]
        cuts: list[int] = []
        usual, limit = self._usual, _WIDER * self._usual
        for number in range(first, after - 1):
            ratio = ratios[number]
            if ratio > limit:
                self._usual = usual
                cuts += self._gaps(self._starts[number], self._ends[number + 1], size)
                usual = self._usual
                limit = _WIDER * usual
            elif ratio > _USUAL / 2:
                usual += _LEARNT * (ratio - usual)
                limit = _WIDER * usual
        self._usual = usual
        start, end = self._starts[after - 1], self._ends[after - 1]
        step = self._xs[len(self._starts) + line] - self._xs[after - 1]
        if self._is_wide(step, end - start - 1, size):
            cuts += self._gaps(start, end, size)
        return cuts

    def _uneven_runs(
        self, start: int, end: int, *, breaks: bool, spaced: bool
    ) -> Iterator[TextRun]:
        """Yield the runs of a line, which are adjacent pieces at the same height."""
        run: list[int] = []
        first = _NO_RUN
        last_owner, doubtful = -1, False
        before = 0.0
        cuts: list[int] = []
        for number in range(start, end):
            place, owner = self._starts[number], self._owners[number]
            x, y = self._xs[number], self._ys[number]
            if owner != last_owner:
                last_owner, doubtful = owner, owner in self._doubtful
            inside = self._is_inside(x, y)
            own = owner * doubtful
            if run:
                last_start, last_end = self._starts[number - 1], self._ends[number - 1]
                is_level = -_SAME_LINE < (y - first.y) / first.size < _SAME_LINE
                overlaps = is_level and x - before > GAP * first.size
                is_apart = self._is_apart(last_end, place, x, first.size, overlaps=overlaps)
                if not inside or own != first.owner or not is_level or is_apart:
                    yield from self._split(first, run, cuts)
                    breaks, spaced = False, place > last_end or is_apart
                    run, cuts = [], []
                elif self._is_wide(x - before, place - last_start, first.size):
                    cuts += self._gaps(last_start, self._ends[number], first.size)
            if not inside:
                spaced = True
                continue
            if not run:
                size = self._glyphs.size(place)
                first = TextRun("", size, x, 0.0, y, own, breaks, spaced, 0.0)
            run.append(number)
            before = x
        if run:
            yield from self._split(first, run, cuts)

    def _split(self, first: TextRun, pieces: list[int], cuts: list[int]) -> Iterator[TextRun]:
        """Return one run, or several if the pieces contain wide white space."""
        start, last_start, end = (
            self._starts[pieces[0]],
            self._starts[pieces[-1]],
            self._ends[pieces[-1]],
        )
        last_x, last_y = self._glyphs.origin(end - 1)
        if self._is_wide(last_x - self._xs[pieces[-1]], end - last_start - 1, first.size):
            cuts = [*cuts, *self._gaps(last_start, end, first.size)]
        return self._divided(first._replace(slope=last_y - first.y), start, end, cuts)

    def _divided(self, run: TextRun, start: int, end: int, cuts: list[int]) -> Iterator[TextRun]:
        """Divide the text between two positions at the cuts; ``run`` is the first new run."""
        _, size, x, _, y, owner, breaks, spaced, slope = run
        if self._walls and (walls := self._walls(y)):
            cuts = sorted({*cuts, *self._cuts_at_walls(walls, start, end)})
        for cut in dict.fromkeys(cuts):
            text = self._text[start:cut].rstrip()
            right = self._glyphs.right(start + len(text))
            yield TextRun(text, size, x, right, y, owner, breaks, spaced, 0.0)
            x, start, breaks, spaced = self._glyphs.x(cut), cut, False, True
        text, right = self._text[start:end], self._glyphs.right(end)
        yield TextRun(text, size, x, right, y, owner, breaks, spaced, slope)

    def _cuts_at_walls(self, walls: Sequence[float], start: int, end: int) -> Iterator[int]:
        """Yield the positions of words that a table line separates from the previous word."""
        right: float | None = None
        for word in _WORD.finditer(self._text, start, end):
            x = self._glyphs.x(word.start())
            if right is not None and divides(walls, right, x):
                yield word.start()
            right = self._glyphs.right(word.end())

    def _is_inside(self, x: float, y: float) -> bool:
        """Whether a point lies within the page's crop box."""
        left, bottom, right, top = self._crop
        return bool(left - 1 <= x <= right + 1 and bottom - 1 <= y <= top + 1)

    def _is_apart(
        self, last_end: int, place: int, x: float, size: float, *, overlaps: bool = True
    ) -> bool:
        """Whether white space precedes a part of a word, so that the part is a separate word.

        pdfium sometimes omits the space between two objects. If ``overlaps`` is True, text that is
        drawn over the end of the preceding text also counts as a separate word.
        """
        if last_end != place or not (
            self._text[place - 1].isalnum() and self._text[place].isalnum()
        ):
            return False
        gap = x - self._glyphs.right(place)
        return SPACE * size < gap <= GAP * size or (overlaps and gap < -_OVERLAP * size)

    def _is_wide(self, step: float, characters: int, size: float) -> bool:
        """Whether words may contain a gap, because they are unusually wide or run backwards."""
        ratio = step / (characters * size) if characters else 0.0
        if 0 <= ratio <= _WIDER * self._usual:
            self._usual += _LEARNT * (ratio - self._usual) if ratio > _USUAL / 2 else 0.0
            return False
        return characters > 0

    def _gaps(self, start: int, end: int, size: float) -> list[int]:
        """Return the positions of words that follow wide white space."""
        cuts: list[int] = []
        limit, most, glyphs = _WIDER * self._usual * size, GAP * size, self._glyphs
        number = bisect_right(self._word_starts, start) - 1
        last = bisect_left(self._word_starts, end)
        before, before_end, before_x = start, self._word_ends[number], self._x_by_place[start]
        for place in self._word_starts[number + 1 : last]:
            number += 1
            x = self._x_by_place.get(place)
            if x is None:
                x = self._x_by_place[place] = glyphs.x(place)
            if (
                not 0 <= x - before_x <= limit * (before_end - before) + most / 2
                and not 0 <= x - glyphs.right(before_end) <= most
            ):
                cuts.append(place)
            before, before_end, before_x = place, self._word_ends[number], x
        # Wide words without a gap show that the average is too low. The average therefore moves
        # slowly towards twice the usual width, and never beyond that.
        if not cuts and end - start > 1:
            self._usual += _LEARNT * (2 * _USUAL - self._usual) / 4
        return cuts


def _lasts(firsts: "NDArray[np.intp]", count: int) -> "NDArray[np.intp]":
    """Return the last piece of each line, given the first pieces and the number of all pieces."""
    lasts = np.empty_like(firsts)
    lasts[:-1], lasts[-1] = firsts[1:] - 1, count - 1
    return lasts
