"""Runs of a PDF page: stretches of text of one size on one line, with their places.

pdfium is asked for the text of a page at once and for places a word at a time. Asking for each
character costs ten times as much as pdfium's own extraction.
"""

import ctypes
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

_LINE = re.compile(r"[^\r\n]+")
_WORDS = re.compile(r"\S+(?:[^\S\r\n]+\S+){0,2}")
_WORD = re.compile(r"\S+")
_WIDE = 0.5
"""Width of an average character, in sizes, above which words are looked at one by one for a gap."""
_WIDEST = 0.6
"""Width of a character, in sizes, above which the space behind a word is measured."""
GAP = 1.0
"""White space of so many sizes within a line may stand between columns."""
_SAME_LINE = 0.04
"""Part of its size by which a run's words may stand higher or lower."""
_CHARACTER = 0.5
"""Width of an average character in sizes."""


class Run(NamedTuple):
    """A stretch of text; lengths in points, ``y`` from the page's bottom.

    ``x`` is the origin of its first character, ``end`` about where its last character ends.
    ``owner`` tells the object of the page that draws it. ``breaks`` and ``spaced`` say whether a
    line's end or a space stands before it, and ``slope`` how much it rises.
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


class _Functions:
    """The functions that are called for each word, without what pypdfium2's own add to a call."""

    def __init__(self) -> None:
        import pypdfium2.raw as pdfium

        def plain(function: Any, result: Any, *arguments: Any) -> Any:
            address = ctypes.cast(function, ctypes.c_void_p).value
            return ctypes.CFUNCTYPE(result, *arguments)(address or 0)

        pointer, number = ctypes.c_void_p, ctypes.c_int
        self.owner = plain(pdfium.FPDFText_GetTextObject, pointer, pointer, number)
        self.origin = plain(
            pdfium.FPDFText_GetCharOrigin, number, pointer, number, pointer, pointer
        )
        self.box = plain(pdfium.FPDFText_GetLooseCharBox, number, pointer, number, pointer)
        self.unicode = plain(pdfium.FPDFText_GetUnicode, ctypes.c_uint, pointer, number)
        self.text = plain(pdfium.FPDFText_GetText, number, pointer, number, number, pointer)


class PageRuns:
    """One reading of a page's text."""

    def __init__(self, page: Any) -> None:
        self._text_page = page.get_textpage()
        self._handle = ctypes.cast(self._text_page.raw, ctypes.c_void_p).value
        self._call = _functions()
        self._place = (ctypes.c_double * 2)()
        self._x_address = ctypes.addressof(self._place)
        self._y_address = self._x_address + ctypes.sizeof(ctypes.c_double)
        self._box = (ctypes.c_float * 4)()
        self._box_address = ctypes.addressof(self._box)
        self._sizes: dict[int, float] = {}

    @cached_property
    def text(self) -> str:
        """The page's text, a character for each that pdfium counts."""
        count = self._text_page.count_chars()
        buffer = ctypes.create_string_buffer(2 * count + 2)
        written = self._call.text(self._handle, 0, count, ctypes.addressof(buffer))
        text = buffer.raw[: 2 * max(0, written - 1)].decode("utf-16-le", "replace")
        if len(text) == count and "\ufffd" not in text:
            return text
        # beyond the first plane of Unicode, or where pdfium leaves a character out
        return "".join(chr(self._call.unicode(self._handle, place)) for place in range(count))

    def __iter__(self) -> Iterator[Run]:
        text, owner_of, handle = self.text, self._call.owner, self._handle
        breaks = False
        for line in _LINE.finditer(text):
            words = [match.span() for match in _WORDS.finditer(text, *line.span())]
            if not words:
                continue
            spaced = words[0][0] > line.start()
            owner = owner_of(handle, words[0][0])
            if owner == owner_of(handle, words[-1][1] - 1):
                yield from self._runs(words, owner, breaks, spaced)
            else:
                for pieces, piece_owner, piece_spaced in self._by_owner(words, owner, spaced):
                    yield from self._runs(pieces, piece_owner, breaks, piece_spaced)
                    breaks = False
            breaks = True

    def _runs(
        self, words: list[tuple[int, int]], owner: int | None, breaks: bool, spaced: bool
    ) -> Iterator[Run]:
        """The runs of an object's words on a line; a wide gap ends one."""
        owner = owner or 0
        origin, place = self._call.origin, self._place
        handle, x_address, y_address = self._handle, self._x_address, self._y_address
        start, end = words[0]
        size = self._sizes.get(owner) or self._size(owner, start)
        origin(handle, start, x_address, y_address)
        x, y = place
        before, widest = x, _WIDE * size
        cuts: list[int] = []
        for next_start, next_end in words[1:]:
            origin(handle, next_start, x_address, y_address)
            next_x = place[0]
            if not 0 <= next_x - before <= widest * (next_start - start):
                cuts += self._gaps(start, next_end, size)
            start, end, before = next_start, next_end, next_x
        end_x, end_y = self._end(end)
        if not 0 <= end_x - before <= widest * (end - start):
            cuts += self._gaps(start, end, size)
        start = words[0][0]
        for cut in dict.fromkeys(cuts):
            cut_x, _ = self._end(len(self.text[start:cut].rstrip()) + start)
            text = self.text[start:cut].rstrip()
            yield Run(text, size, x, cut_x, y, owner, breaks, spaced, 0.0)
            origin(handle, cut, x_address, y_address)
            (x, y), start, breaks, spaced = place, cut, False, True
        yield Run(self.text[start:end], size, x, end_x, y, owner, breaks, spaced, end_y - y)

    def _gaps(self, start: int, end: int, size: float) -> list[int]:
        """The places of words before which white space is wide."""
        cuts: list[int] = []
        before, before_x = None, 0.0
        for word in _WORD.finditer(self.text, start, end):
            place = word.start()
            self._call.origin(self._handle, place, self._x_address, self._y_address)
            x = self._place[0]
            if before is not None:
                widest = _WIDEST * (before.end() - before.start()) + GAP
                if not 0 <= x - before_x <= widest * size:
                    right, _ = self._end(before.end())
                    if not 0 <= x - right <= GAP * size:
                        cuts.append(place)
            before, before_x = word, x
        return cuts

    def _end(self, end: int) -> tuple[float, float]:
        """Right end of the character before a place, and its height."""
        self._call.box(self._handle, end - 1, self._box_address)
        right = self._box[2]
        self._call.origin(self._handle, end - 1, self._x_address, self._y_address)
        return right, self._place[1]

    def _by_owner(
        self, words: list[tuple[int, int]], owner: int | None, spaced: bool
    ) -> Iterator[tuple[list[tuple[int, int]], int | None, bool]]:
        """The words of a line by the object that draws them, and whether a space stands before."""
        owner_of, handle = self._call.owner, self._handle
        pieces: list[tuple[int, int]] = []
        for group in words:
            if owner_of(handle, group[1] - 1) == owner:
                pieces.append(group)
                continue
            for word in _WORD.finditer(self.text, *group):
                for part_start, part_end, part_owner in self._parts(*word.span()):
                    if part_owner != owner:
                        if pieces:
                            yield pieces, owner, spaced
                            spaced = part_start == word.start()
                        owner, pieces = part_owner, []
                    pieces.append((part_start, part_end))
        yield pieces, owner, spaced

    def _owner(self, place: int) -> int:
        return self._call.owner(self._handle, place) or 0

    def _size(self, owner: int, place: int) -> float:
        """Height of an object's characters; they are of one font and size."""
        self._call.box(self._handle, place, self._box_address)
        _, top, _, bottom = self._box
        size = abs(top - bottom) or 1.0
        self._sizes[owner] = size
        return size

    def _parts(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """The parts of a word that one object each draws, as 10 and 6 of 10^6, with the object."""
        owner = self._owner(start)
        if end - start == 1 or self._owner(end - 1) == owner:
            yield start, end, owner
            return
        low, high = start, end - 1  # the owner's at low, another's at high
        while high - low > 1:
            middle = (low + high) // 2
            if self._owner(middle) == owner:
                low = middle
            else:
                high = middle
        yield start, high, owner
        yield from self._parts(high, end)


_loaded: list[_Functions] = []


def _functions() -> _Functions:
    if not _loaded:
        _loaded.append(_Functions())
    return _loaded[0]
