"""Builds the runs of PDF pages: pieces of text on one line, with their positions.

The limits in this module were chosen by hand. ``measurements.real_files`` shows their effect on
real PDFs (docs/findings/reading.md).
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, repeat
from math import isnan
from typing import NamedTuple

import numpy as np

from conflictscore.retrieval.reading.pdf_pieces import BlockGlyphs, Pieces
from conflictscore.retrieval.reading.pdf_positions import (
    GAP,
    OVERLAP,
    SAME_LINE,
    SPACE,
    Box,
    Positions,
    is_inside,
)
from conflictscore.retrieval.reading.pdf_right_to_left import LinesFromRight, PlacedLine
from conflictscore.retrieval.reading.pdf_silent import TextAreas

_WORD = re.compile(r"\S+")
_USUAL, _WIDER, _LEARNT = 0.45, 1.15, 0.1
"""Parameters for finding gaps.

The first parameter is the assumed width of an average character, relative to the font size. Words
wider than the average times the second parameter are searched for gaps. The third parameter
determines how quickly the average adapts to the page.
"""


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


class _LinePieces(NamedTuple):
    """The pieces of a line, as lists; see :class:`Pieces` and :class:`Positions`.

    ``first`` is the number of the first piece.
    """

    first: int
    starts: list[int]
    ends: list[int]
    owners: list[int]
    begins_word: list[int]
    xs: list[float]
    ys: list[float]
    last_ys: list[float]
    sizes: list[float]
    rights: list[float]
    last_xs: list[float]


class Runs:
    """The runs of the text on successive pages; text outside a page's crop box is skipped."""

    def __init__(self, glyphs: BlockGlyphs, crops: Sequence[Box]) -> None:
        """Read the positions of all pieces at once; ``crops`` are the crop boxes of the pages."""
        self._glyphs, self._text, self._crops = glyphs, glyphs.text, crops
        pieces = glyphs.pieces()
        positions = Positions(glyphs, pieces, crops)
        self._positions, self._owners = positions, pieces.owners
        self._places = np.array(
            (pieces.starts, pieces.ends, pieces.owners, pieces.begins_word), np.int64
        )
        heights = positions.ys, positions.last_ys, positions.sizes
        self._numbers = np.array((positions.xs, *heights, positions.rights, positions.last_xs))
        self._firsts = [*positions.firsts.tolist(), len(pieces.starts)]
        # of each page: the number of its first piece, and the number of its first line
        self._page_pieces: list[int] = pieces.starts.searchsorted(glyphs.offsets).tolist()
        self._page_lines: list[int] = positions.page_lines.tolist()
        self._uneven = {*(~positions.is_even).nonzero()[0].tolist()}
        self._ratios: list[float] = positions.ratios().tolist()
        self._usual = _USUAL
        self._xs: list[float] = positions.xs.tolist()
        self._starts: list[int] = pieces.starts.tolist()
        # of each piece: the end of the next one in the line
        nexts = np.minimum(np.arange(1, len(self._starts) + 1), positions.lasts[positions.lines])
        self._next_ends: list[int] = pieces.ends[nexts].tolist()
        self._list_words(pieces)
        self._line_starts: list[int] = pieces.starts[positions.firsts].tolist()
        self._wholes = self._whole_lines(positions)

    def _list_words(self, pieces: Pieces) -> None:
        """List the words, and the positions of those that begin a piece; the others are NaN."""
        starts, ends, *_ = self._glyphs.words
        self._word_starts: list[int] = starts.tolist()
        self._word_ends: list[int] = ends.tolist()
        # of each piece: the number of the word after its first
        next_words = starts.searchsorted(pieces.starts, "right")
        self._next_words: list[int] = next_words.tolist()
        begins_word, xs = pieces.begins_word, np.full(len(starts), np.nan)
        xs[next_words[begins_word] - 1] = self._numbers[0, begins_word]
        self._word_xs: list[float] = xs.tolist()

    def _whole_lines(self, positions: Positions) -> list[TextRun]:
        """Return each line as one run."""
        text, firsts, lasts = self._text, positions.firsts, positions.lasts
        starts = self._line_starts
        ends = self._places[1, lasts].tolist()
        breaks = [True] * len(starts)
        for first, after in pairwise(self._page_lines):
            if first < after:
                breaks[first] = False  # no break precedes the first line of a page
        ys = positions.ys[firsts]
        columns = (
            [text[start:end] for start, end in zip(starts, ends, strict=True)],
            positions.sizes[firsts].tolist(),
            positions.xs[firsts].tolist(),
            positions.rights[lasts].tolist(),
            ys.tolist(),
            [0] * len(starts),
            breaks,
            [start > 0 and text[start - 1] not in "\r\n" for start in starts],
            (positions.last_ys[lasts] - ys).tolist(),
        )
        # TextRun._make() would take twice as long
        return [*map(tuple.__new__, repeat(TextRun), zip(*columns, strict=True))]

    def owners(self, page: int) -> set[int]:
        """Return the addresses of the objects that draw the text of a page."""
        # only changes are collected, since successive pieces often have the same object
        owners = self._owners[slice(*self._page_pieces[page : page + 2])]
        return {*owners[:1].tolist(), *owners[1:][owners[1:] != owners[:-1]].tolist()}

    def of_page(
        self, page: int, doubtful: set[int], walls: Walls | None, text_areas: TextAreas
    ) -> Iterator[TextRun]:
        """Yield the runs of a page.

        ``doubtful`` contains the objects whose text may be invisible. The text of each such object
        becomes a separate run. ``walls`` gives the vertical table lines at a height, which divide
        the text, and ``text_areas`` the areas of the page's text objects.
        """
        uneven = self._uneven
        if doubtful:
            own = slice(*self._page_pieces[page : page + 2])
            flags = [owner in doubtful for owner in self._owners[own].tolist()]
            uneven = uneven.union(self._positions.lines[own][flags].tolist())
        self._usual = _USUAL
        from_right = None
        if self._glyphs.has_right_to_left:
            from_right = self._lines_from_right(page, text_areas)
        for line in range(*self._page_lines[page : page + 2]):
            whole = self._wholes[line]
            if from_right and (group := from_right.groups.get(line)):
                if line == group.start:
                    yield from self._runs_from_right(group, from_right, doubtful, walls)
                continue
            if line in uneven:
                pieces = self._line_pieces(line)
                yield from self._uneven_runs(pieces, whole, self._crops[page], doubtful, walls)
                continue
            cuts = self._cuts(line, whole.size)
            # few lines of a table cross a vertical line
            if cuts or (walls and divides(walls(whole.y), whole.x, whole.end)):
                start = self._line_starts[line]
                yield from self._divided(whole, start, start + len(whole.text), cuts, walls)
            else:
                yield whole

    def _lines_from_right(self, page: int, text_areas: TextAreas) -> LinesFromRight:
        """Return the lines of a page that have right-to-left letters."""
        own = range(*self._page_lines[page : page + 2])
        page_lines = [
            PlacedLine(
                int(self._places[0, self._firsts[line]]),
                int(self._places[1, self._firsts[line + 1] - 1]),
                whole.y,
                whole.slope,
                whole.end - whole.x,
            )
            for line, whole in zip(own, self._wholes[own.start : own.stop], strict=True)
        ]
        start, end = self._glyphs.offsets[page : page + 2].tolist()
        bounds = start, end
        crop = self._crops[page]
        return LinesFromRight(self._glyphs, page_lines, own.start, crop, bounds, text_areas)

    def _runs_from_right(
        self, group: range, lines: LinesFromRight, doubtful: set[int], walls: Walls | None
    ) -> Iterator[TextRun]:
        """Yield the runs of lines at the same height that have right-to-left letters."""
        first = self._wholes[group.start]
        breaks, spaced = first.breaks, first.spaced
        for cell in lines.cells(group, doubtful, walls):
            place = cell.left, cell.right, cell.y, cell.owner
            yield TextRun(cell.text, cell.size, *place, breaks, spaced, 0.0)
            breaks, spaced = False, True

    def _cuts(self, line: int, size: float) -> list[int]:
        """Return the places of an even line that follow wide white space."""
        first, after = self._firsts[line : line + 2]
        cuts: list[int] = []
        usual, limit, next_ends = self._usual, _WIDER * self._usual, self._next_ends
        for number, ratio in enumerate(self._ratios[first:after], first):
            if not 0 <= ratio <= limit:
                self._usual = usual
                # the next piece is searched as well, since the gap may lie before its first word
                cuts += self._gaps(number, next_ends[number], size)
                usual = self._usual
                limit = _WIDER * usual
            elif ratio > _USUAL / 2:  # the ratio is 0 if a piece has a single character
                usual += _LEARNT * (ratio - usual)
                limit = _WIDER * usual
        self._usual = usual
        return cuts

    def _is_wide(self, step: float, characters: int, size: float) -> bool:
        """Whether words may contain a gap, because they are unusually wide or run backwards."""
        ratio = step / (characters * size) if characters else 0.0
        if 0 <= ratio <= _WIDER * self._usual:
            self._usual += _LEARNT * (ratio - self._usual) if ratio > _USUAL / 2 else 0.0
            return False
        return True

    def _gaps(self, number: int, end: int, size: float) -> list[int]:
        """Return the positions of words that follow wide white space, from a piece to ``end``."""
        cuts: list[int] = []
        limit, most = _WIDER * self._usual * size, GAP * size
        starts, ends, xs = self._word_starts, self._word_ends, self._word_xs
        start = before = self._starts[number]
        before_x = self._xs[number]
        # the first word is not compared with the one before it
        for word in range(self._next_words[number], len(starts)):
            place = starts[word]
            if place >= end:
                break
            x = xs[word]
            if isnan(x):
                x = xs[word] = self._glyphs.x(place)
            before_end = ends[word - 1]
            # the right end of a word is requested only if the step from it is unusually wide
            if (
                not 0 <= x - before_x <= limit * (before_end - before) + most / 2
                and not 0 <= x - self._glyphs.right(before_end) <= most
            ):
                cuts.append(place)
            before, before_x = place, x
        # Wide words without a gap show that the average is too low. The average therefore moves
        # slowly towards twice the usual width, and never beyond that.
        if not cuts and end - start > 1:
            self._usual += _LEARNT * (2 * _USUAL - self._usual) / 4
        return cuts

    def _x(self, place: int) -> float:
        """Return the position of a word or a piece."""
        number = bisect_left(self._starts, place)
        if number < len(self._starts) and self._starts[number] == place:
            return self._xs[number]
        word = bisect_left(self._word_starts, place)
        if isnan(self._word_xs[word]):
            self._word_xs[word] = self._glyphs.x(place)
        return self._word_xs[word]

    def _line_pieces(self, line: int) -> _LinePieces:
        first, after = self._firsts[line : line + 2]
        places, numbers = self._places[:, first:after], self._numbers[:, first:after]
        return _LinePieces(first, *places.tolist(), *numbers.tolist())

    def _uneven_runs(
        self,
        pieces: _LinePieces,
        whole: TextRun,
        crop: Box,
        doubtful: set[int],
        walls: Walls | None,
    ) -> Iterator[TextRun]:
        """Yield the runs of a line, which are adjacent pieces at the same height."""
        begin, count = 0, len(pieces.starts)
        first: TextRun | None = None
        breaks, spaced = whole.breaks, whole.spaced
        cuts: list[int] = []
        for number in range(count):
            x, y, owner = pieces.xs[number], pieces.ys[number], pieces.owners[number]
            own = owner * (owner in doubtful)
            inside = is_inside(crop, x, y)
            if first:
                is_level = -SAME_LINE < (y - first.y) / first.size < SAME_LINE
                step, start = x - pieces.xs[number - 1], pieces.starts[number - 1]
                # a cell that reaches into the next one begins well before it
                overlaps = is_level and step > GAP * first.size
                is_apart = self._is_apart(pieces, number, first.size, overlaps=overlaps)
                if not inside or own != first.owner or not is_level or is_apart:
                    yield from self._ended(first, pieces, begin, number, cuts, walls)
                    breaks, spaced = False, bool(pieces.begins_word[number]) or is_apart
                    first, cuts = None, []
                elif self._is_wide(step, pieces.starts[number] - start, first.size):
                    before = pieces.first + number - 1
                    cuts += self._gaps(before, pieces.ends[number], first.size)
            if not inside:
                spaced = True  # the skipped text separates two runs
            elif not first:
                begin, place = number, pieces.starts[number]
                # the sizes within a line that is only doubtful, not uneven, were not read
                size = self._glyphs.size(place) if doubtful else pieces.sizes[number]
                first = TextRun("", size, x, 0.0, y, own, breaks, spaced, 0.0)
        if first:
            yield from self._ended(first, pieces, begin, count, cuts, walls)

    def _ended(
        self,
        run: TextRun,
        pieces: _LinePieces,
        first: int,
        after: int,
        cuts: list[int],
        walls: Walls | None,
    ) -> Iterator[TextRun]:
        """Yield a run of some pieces, or several if the pieces contain wide white space."""
        last = after - 1
        start, end, last_x = pieces.starts[last], pieces.ends[last], pieces.last_xs[last]
        if isnan(last_x):
            last_x = self._glyphs.x(end - 1)
        if self._is_wide(last_x - pieces.xs[last], end - start - 1, run.size):
            cuts = [*cuts, *self._gaps(pieces.first + last, end, run.size)]
        right = pieces.rights[last] or self._glyphs.right(end)
        whole = run._replace(end=right, slope=pieces.last_ys[last] - run.y)
        return self._divided(whole, pieces.starts[first], end, cuts, walls)

    def _divided(
        self, run: TextRun, start: int, end: int, cuts: Sequence[int], walls: Walls | None
    ) -> Iterator[TextRun]:
        """Divide a text at the cuts; ``run`` has the size and ends of the whole text."""
        _, size, x, last_right, y, owner, breaks, spaced, slope = run
        if walls and (own_walls := walls(y)):
            cuts = sorted({*cuts, *self._cuts_at_walls(own_walls, start, end)})
        for cut in dict.fromkeys(cuts):
            text = self._text[start:cut].rstrip()
            right = self._glyphs.right(start + len(text))
            yield TextRun(text, size, x, right, y, owner, breaks, spaced, 0.0)
            x, start, breaks, spaced = self._x(cut), cut, False, True
        yield TextRun(self._text[start:end], size, x, last_right, y, owner, breaks, spaced, slope)

    def _cuts_at_walls(self, walls: Sequence[float], start: int, end: int) -> Iterator[int]:
        """Yield the positions of words that a table line separates from the previous word."""
        before, before_end = self._x(start), 0
        for word in _WORD.finditer(self._text, start, end):
            x = self._x(word.start())
            # the end of a word is requested only if there is a table line after its start
            may_divide = before_end > 0 and divides(walls, before, x)
            if may_divide and divides(walls, self._glyphs.right(before_end), x):
                yield word.start()
            before, before_end = x, word.end()

    def _is_apart(self, pieces: _LinePieces, number: int, size: float, *, overlaps: bool) -> bool:
        """Whether white space precedes a part of a word, so that the part is a separate word.

        pdfium sometimes omits the space between two objects. If ``overlaps`` is True, text that is
        drawn over the end of the preceding text also counts as a separate word.
        """
        if pieces.begins_word[number]:
            return False
        place, text = pieces.starts[number], self._text
        if not (text[place - 1].isalnum() and text[place].isalnum()):
            return False
        gap = pieces.xs[number] - pieces.rights[number - 1]
        return SPACE * size < gap <= GAP * size or (overlaps and gap < -OVERLAP * size)
