"""Reads the runs of a PDF page: pieces of text on one line, with their positions.

pdfium returns the whole text of a page at once. Positions are requested for a few words at a time.
Requesting the position of each character would take ten times as long as pdfium's own extraction.

The limits in this module were chosen by hand. ``measurements.real_files`` shows their effect on
real PDFs (docs/findings/reading.md).
"""

import ctypes
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import repeat
from typing import Any, NamedTuple

from conflictscore.retrieval.reading.pdf_words import with_known_signs, with_whole_words
from conflictscore.retrieval.reading.pdfium_calls import ManyCalls, address, calls

_LINE = re.compile(r"[^\r\n]+")
# Up to three words. The position of these words is requested with one call.
_WORDS = re.compile(r"\S+(?:[^\S\r\n]+\S+){0,2}")
_WORD = re.compile(r"\S+")
GAP = 1.0
"""Minimum white space in a line, relative to the font size, that may separate columns."""
_USUAL, _WIDER, _LEARNT = 0.45, 1.15, 0.1
"""Parameters for finding gaps.

The first is the assumed width of an average character, relative to the font size. Words wider than
the average times the second parameter are searched for gaps. The third parameter determines how
quickly the average adapts to the page.
"""
SPACE = 0.14
"""Minimum white space between words drawn by different objects, relative to the font size."""
_OVERLAP = 0.5
"""Minimum overlap, relative to the font size, of words drawn by different objects. Words overlap if
a cell is too narrow for its text."""
_SAME_LINE = 0.04
"""Maximum difference in height within a run, relative to the font size."""

_Piece = tuple[int, int, int]
"""The start and end of a few words in a page's text, and the address of the object that draws them.
"""


class _Line(NamedTuple):
    """The pieces of a line and the origins of their first characters.

    ``spaced`` says whether a space precedes the line; ``end_x`` and ``end_y`` are the origin of its
    last character.
    """

    pieces: list[_Piece]
    spaced: bool
    xs: list[float]
    ys: list[float]
    end_x: float
    end_y: float


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

    ``may_be_unseen`` is called for each object that draws text. If the function returns true, the
    object's text becomes a separate run. ``walls`` gives the vertical table lines at a height,
    which divide the text.
    """

    def __init__(
        self,
        page: Any,
        may_be_unseen: Callable[[int], bool],
        walls: Walls | None = None,
        many: ManyCalls | None = None,
    ) -> None:
        self._text_page = page.get_textpage()
        self._handle = ctypes.c_void_p(address(self._text_page.raw))
        self._calls = calls()
        self._may_be_unseen = may_be_unseen
        self._walls = walls
        self._crop = page.get_cropbox()
        self._many = many or ManyCalls()
        place, box = (ctypes.c_double * 2)(), (ctypes.c_float * 4)()
        # a memoryview is faster to read than the array
        self._place = memoryview(place).cast("B").cast("d")
        x_address = ctypes.addressof(place)
        self._place_pointers = ctypes.c_void_p(x_address), ctypes.c_void_p(x_address + 8)
        self._box = memoryview(box).cast("B").cast("f")
        self._box_pointer = ctypes.c_void_p(ctypes.addressof(box))
        self._usual = _USUAL

    @cached_property
    def text(self) -> str:
        """Return the page's text, in which each character has the same index as in pdfium."""
        count = self._text_page.count_chars()
        buffer = (ctypes.c_char * (2 * count + 2))()
        pointer = ctypes.c_void_p(ctypes.addressof(buffer))
        units_written = self._calls.text(self._handle, 0, count, pointer)
        text = str(memoryview(buffer)[: 2 * max(0, units_written - 1)], "utf-16-le", "replace")
        if len(text) != count or "\ufffd" in text:
            # the text has characters beyond Unicode's first plane, or pdfium has left some out
            text = "".join(chr(self._calls.unicode(self._handle, place)) for place in range(count))
        return with_known_signs(with_whole_words(text, self))

    def is_inserted(self, place: int) -> bool:
        """Whether pdfium inserted a character where the file has only a gap."""
        return bool(self._calls.is_generated(self._handle, place))

    def x(self, place: int) -> float:
        """Return the horizontal position of a character."""
        self._calls.origin(self._handle, place, *self._place_pointers)
        x: float = self._place[0]
        return x

    def __iter__(self) -> Iterator[TextRun]:
        breaks = False
        for line in self._lines():
            yield from self._even_runs(line, breaks) or self._uneven_runs(line, breaks)
            breaks = True

    def _lines(self) -> Iterator[_Line]:
        """Yield the lines of the page's text; all positions are read at once."""
        text, handle, owner_of = self.text, repeat(self._handle), self._calls.owner
        lines: list[list[tuple[int, int]]] = []
        spaced: list[bool] = []
        for line in _LINE.finditer(text):
            start, end = line.span()
            if words := [match.span() for match in _WORDS.finditer(text, start, end)]:
                lines.append(words)
                spaced.append(words[0][0] > start)
        last_places = [words[-1][1] - 1 for words in lines]
        first_owners = map(owner_of, handle, [words[0][0] for words in lines])
        last_owners = map(owner_of, handle, last_places)
        pieces_by_line: list[list[_Piece]] = [
            [(start, end, owner) for start, end in words]
            if owner == last_owner
            else self._pieces(words, owner)
            for words, owner, last_owner in zip(lines, first_owners, last_owners, strict=True)
        ]
        places = [start for pieces in pieces_by_line for start, _, _ in pieces]
        origins = self._many.origins(self._handle, places + last_places)
        xs, ys, place, last = origins[::2], origins[1::2], 0, len(places)
        for pieces, is_spaced in zip(pieces_by_line, spaced, strict=True):
            end = place + len(pieces)
            yield _Line(pieces, is_spaced, xs[place:end], ys[place:end], xs[last], ys[last])
            place, last = end, last + 1

    def _pieces(self, words: list[tuple[int, int]], owner: int) -> list[_Piece]:
        """Return the pieces of a line that several objects draw; ``owner`` draws its start."""
        owner_of, handle = self._calls.owner, self._handle
        pieces: list[_Piece] = []
        for start, end in words:
            if owner_of(handle, end - 1) == owner:
                pieces.append((start, end, owner))
                continue
            for word in _WORD.finditer(self.text, start, end):
                word_start, word_end = word.span()
                owner = owner_of(handle, word_start)
                if owner_of(handle, word_end - 1) == owner:
                    pieces.append((word_start, word_end, owner))
                else:
                    pieces += self._parts(word_start, word_end)
                    owner = pieces[-1][2]
        return pieces

    def _parts(self, start: int, end: int) -> Iterator[_Piece]:
        """Yield the parts of a word that different objects draw (for example 10 and 6 in 10^6)."""
        owner_of, handle = self._calls.owner, self._handle
        while True:
            owner = owner_of(handle, start)
            if end - start == 1 or owner_of(handle, end - 1) == owner:
                yield start, end, owner
                return
            low, high = start, end - 1  # ``owner`` draws ``low``; another object draws ``high``
            while high - low > 1:
                middle = (low + high) // 2
                if owner_of(handle, middle) == owner:
                    low = middle
                else:
                    high = middle
            yield start, high, owner
            start = high

    def _even_runs(self, line: _Line, breaks: bool) -> list[TextRun]:
        """Return the runs of a line that is entirely visible and at one height; otherwise empty.

        Most lines are like this; ``_uneven_runs`` would return the same runs more slowly.
        """
        pieces, spaced, xs, ys, end_x, end_y = line
        start, last_end, last_owner = pieces[0]
        x, y = xs[0], ys[0]
        if not self._is_inside(x, y) or self._may_be_unseen(last_owner):
            return []
        size, last_start, usual = self.size(start), start, self._usual
        if not y - _SAME_LINE * size < min(ys) <= max(ys) < y + _SAME_LINE * size:
            return []
        cuts: list[int] = []
        for (piece_start, piece_end, owner), next_x in zip(pieces[1:], xs[1:], strict=True):
            step, x = next_x - x, next_x
            if (
                step < 0
                or (owner != last_owner and self._may_be_unseen(owner))
                or (piece_start == last_end and self._is_apart(last_end, piece_start, x, size))
            ):
                self._usual = usual
                return []
            ratio = step / ((piece_start - last_start) * size)
            if ratio > _WIDER * self._usual:
                cuts += self._gaps(last_start, piece_end, size)
            elif ratio > _USUAL / 2:
                self._usual += _LEARNT * (ratio - self._usual)
            last_start, last_end, last_owner = piece_start, piece_end, owner
        if x > self._crop[2] + 1:
            self._usual = usual
            return []
        if self._is_wide(end_x - x, last_end - last_start - 1, size):
            cuts += self._gaps(last_start, last_end, size)
        first = TextRun("", size, xs[0], 0.0, y, 0, breaks, spaced, end_y - y)
        return self._divided(first, start, last_end, cuts)

    def _uneven_runs(self, line: _Line, breaks: bool) -> Iterator[TextRun]:
        """Yield the runs of a line, which are adjacent pieces at the same height."""
        may_be_unseen, spaced = self._may_be_unseen, line.spaced
        run: list[_Piece] = []
        first = _NO_RUN
        last_owner, doubtful = -1, False
        before = 0.0
        cuts: list[int] = []
        for piece, x, y in zip(line.pieces, line.xs, line.ys, strict=True):
            start, _, owner = piece
            if owner != last_owner:
                last_owner, doubtful = owner, may_be_unseen(owner)
            inside = self._is_inside(x, y)
            own = owner * doubtful
            if run:
                last_start, last_end, _ = run[-1]
                is_level = -_SAME_LINE < (y - first.y) / first.size < _SAME_LINE
                overlaps = is_level and x - before > GAP * first.size
                is_apart = self._is_apart(last_end, start, x, first.size, overlaps=overlaps)
                if not inside or own != first.owner or not is_level or is_apart:
                    yield from self._split(first, run, cuts)
                    breaks, spaced = False, start > last_end or is_apart
                    run, cuts = [], []
                elif self._is_wide(x - before, start - last_start, first.size):
                    cuts += self._gaps(last_start, piece[1], first.size)
            if not inside:
                spaced = True
                continue
            if not run:
                first = TextRun("", self.size(start), x, 0.0, y, own, breaks, spaced, 0.0)
            run.append(piece)
            before = x
        if run:
            yield from self._split(first, run, cuts)

    def _split(self, first: TextRun, pieces: list[_Piece], cuts: list[int]) -> list[TextRun]:
        """Return one run, or several if the pieces contain wide white space."""
        start, (last_start, end, _) = pieces[0][0], pieces[-1]
        x = first.x
        if len(pieces) > 1:
            x = self.x(last_start)
        self.x(end - 1)
        last_x, last_y = self._place
        if self._is_wide(last_x - x, end - last_start - 1, first.size):
            cuts = [*cuts, *self._gaps(last_start, end, first.size)]
        return self._divided(first._replace(slope=last_y - first.y), start, end, cuts)

    def _divided(self, run: TextRun, start: int, end: int, cuts: list[int]) -> list[TextRun]:
        """Divide the text between two positions at the cuts; ``run`` is the first new run."""
        _, size, x, _, y, owner, breaks, spaced, slope = run
        runs: list[TextRun] = []
        if self._walls and (walls := self._walls(y)):
            cuts = sorted({*cuts, *self._cuts_at_walls(walls, start, end)})
        for cut in dict.fromkeys(cuts):
            text = self.text[start:cut].rstrip()
            right = self.right(start + len(text))
            runs.append(TextRun(text, size, x, right, y, owner, breaks, spaced, 0.0))
            x, start, breaks, spaced = self.x(cut), cut, False, True
        text, right = self.text[start:end], self.right(end)
        runs.append(TextRun(text, size, x, right, y, owner, breaks, spaced, slope))
        return runs

    def _cuts_at_walls(self, walls: Sequence[float], start: int, end: int) -> Iterator[int]:
        """Yield the positions of words that a table line separates from the previous word."""
        right: float | None = None
        for word in _WORD.finditer(self.text, start, end):
            x = self.x(word.start())
            if right is not None and divides(walls, right, x):
                yield word.start()
            right = self.right(word.end())

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
        if last_end != place or not (self.text[place - 1].isalnum() and self.text[place].isalnum()):
            return False
        gap = x - self.right(place)
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
        origin, handle, to_x, to_y = (self._calls.origin, self._handle, *self._place_pointers)
        cuts: list[int] = []
        before_start = before_end = -1
        before_x, width, most = 0.0, _WIDER * self._usual * size, GAP * size
        for word in _WORD.finditer(self.text, start, end):
            word_start, word_end = word.span()
            origin(handle, word_start, to_x, to_y)
            x = self._place[0]
            if (
                before_end > 0
                and not 0 <= x - before_x <= width * (before_end - before_start) + most / 2
                and not 0 <= x - self.right(before_end) <= most
            ):
                cuts.append(word_start)
            before_start, before_end, before_x = word_start, word_end, x
        # Wide words without a gap show that the average is too low. The average therefore moves
        # slowly towards twice the usual width, and never beyond that.
        if not cuts and end - start > 1:
            self._usual += _LEARNT * (2 * _USUAL - self._usual) / 4
        return cuts

    def right(self, end: int) -> float:
        """Return the right end of the character before a position."""
        self._calls.box(self._handle, end - 1, self._box_pointer)
        right: float = self._box[2]
        return right

    def size(self, place: int) -> float:
        """Return the height of a character's line."""
        self._calls.box(self._handle, place, self._box_pointer)
        _, top, _, bottom = self._box
        return abs(top - bottom) or 1.0
