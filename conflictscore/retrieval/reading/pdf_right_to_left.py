"""Reads the lines of PDF pages that contain Hebrew, Arabic or other right-to-left letters.

pdfium's order is wrong for many of these lines: numbers, Latin words and brackets change places,
and vowel signs break words. The order is therefore derived from where the characters stand. The
limits in this module were chosen by hand.
"""

import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from math import inf
from operator import and_, itemgetter
from statistics import median
from typing import NamedTuple

import numpy as np

from conflictscore.retrieval.reading.bidirectional import (
    Unit,
    has_right_to_left,
    in_reading_order,
    is_vowel_sign,
    ordered_by_place,
    reads_from_right,
    unit,
    with_signs_after,
)
from conflictscore.retrieval.reading.pdf_pieces import BlockGlyphs
from conflictscore.retrieval.reading.pdf_positions import GAP, Box, is_inside
from conflictscore.retrieval.reading.pdf_silent import TextAreas, draw_the_same, silent_glyphs

_HEBREW = "\u0590", "\u05ff"
_SPACES, _MARKED_SPACES = (0.07, 0.13), (0.14, 0.18)
"""Minimum white space between words, relative to the height of a line; the second numbers apply
where pdfium has no space. Letters with vowel signs need more, since their width is estimated."""
_WIDEST_MARKED = 0.35
"""Maximum estimated width of an Arabic letter with signs.

The same letter may be much wider elsewhere, since its form depends on its place in the word."""
_UNDRAWN_SPACE = 0.35
"""Minimum white space between words, relative to the height of a line, in lines whose spaces are
drawn, and where none is drawn."""
_RAISED, _SMALLER = 0.08, 0.85
"""Minimum height above the line, and maximum size, of a superscript digit."""
_EXACT = 0.02
"""Maximum distance, in points, of a character's box from its origin.

pdfium's boxes of ligatures, and of letters with signs, do not have the height of the line."""


class PlacedLine(NamedTuple):
    """A line in pdfium's text: where it starts and ends there, and its height on the page.

    ``rise`` is how much higher it ends, and ``width`` its width.
    """

    start: int
    end: int
    y: float
    rise: float
    width: float


class LineCell(NamedTuple):
    """A part of a line without wide gaps; its text is in reading order."""

    text: str
    left: float
    right: float
    y: float
    size: float
    owner: int


@dataclass(slots=True)
class _Sign:
    """A character, a ligature, or a letter with its vowel signs.

    ``is_marked`` says whether it is a letter with signs, whose edges are estimated. ``size`` is 0
    if the height of its line is unknown. ``place`` is its place in pdfium's text, and
    ``after_space`` that of the sign before it if pdfium has a space between both, and otherwise -2.
    """

    text: str
    left: float
    right: float
    y: float
    size: float
    is_marked: bool
    owner: int = 0
    place: int = -1
    after_space: int = -2

    @property
    def middle(self) -> float:
        """Return the horizontal position of the middle."""
        return (self.left + self.right) / 2


class LinesFromRight:
    """The lines of a page that have right-to-left letters.

    Attributes:
        groups: The lines that have such letters, each with those at the same height. pdfium breaks
            a line at letters with vowel signs.
    """

    def __init__(
        self,
        glyphs: BlockGlyphs,
        lines: Sequence[PlacedLine],
        first: int,
        crop: Box,
        bounds: tuple[int, int],
        text_areas: TextAreas,
    ) -> None:
        """Read the positions.

        ``first`` is the number of the first line, and ``bounds`` are the page's in pdfium's text.
        ``text_areas`` returns the page's text objects and their areas.
        """
        self._crop, self._first = crop, first
        text = glyphs.pdfium_text
        self._page_from_right = reads_from_right(text[slice(*bounds)])
        from_right = [has_right_to_left(text[line.start : line.end]) for line in lines]
        self.groups: dict[int, range] = {}
        if not any(from_right):
            return
        signs_and_spaces = [_signs(glyphs, line, crop) for line in lines]
        self._signs = [_once(signs) for signs, _ in signs_and_spaces]
        every = [sign for signs in self._signs for sign in signs]
        silent = silent_glyphs(text_areas(), {sign.owner for sign in every})
        drawn = chain(silent.spaces, *(spaces for _, spaces in signs_and_spaces))
        self._spaces = sorted(drawn, key=itemgetter(1))
        for sign in every:
            if sign.owner in silent.areas and sign.is_marked:
                # the origin may be that of a vowel sign, far above the line
                left, sign.y, right, _ = silent.areas[sign.owner]
                sign.left, sign.right = min(sign.left, left), max(sign.right, right)
                sign.is_marked = False
        _estimate_widths(every)
        usual = _usual_size(every)
        self._sizes = [_usual_size(signs) or usual or 1.0 for signs in self._signs]
        # letters with vowel signs may be higher than others
        is_level = [
            abs(line.rise) < max(size, abs(line.width) / 4)
            for line, size in zip(lines, self._sizes, strict=True)
        ]
        from_right = [*map(and_, from_right, is_level)]
        for group in self._same_height(lines, is_level, from_right):
            if any(from_right[group.start : group.stop]):
                numbers = range(first + group.start, first + group.stop)
                self.groups.update(dict.fromkeys(numbers, numbers))

    def _same_height(
        self, lines: Sequence[PlacedLine], is_level: Sequence[bool], from_right: Sequence[bool]
    ) -> Iterator[range]:
        """Yield the groups of successive lines at the same height, each line in one group."""
        start, has_letters = 0, False
        anchor: float | None = None
        heights = [_height(signs, line.y) for signs, line in zip(self._signs, lines, strict=True)]
        for number in range(len(lines)):
            size = max(self._sizes[number], self._sizes[start])
            y, is_exact = heights[number]
            near = heights[start][0] if anchor is None else anchor
            is_near = is_level[number] and abs(y - near) < size / 2
            if number and not (is_near and (has_letters or from_right[number])):
                yield range(start, number)
                start, has_letters, anchor = number, False, None
            has_letters = has_letters or from_right[number]
            if anchor is None and is_exact:
                anchor = y
        yield range(start, len(lines))

    def cells(
        self,
        group: range,
        doubtful: set[int],
        walls: Callable[[float], Sequence[float]] | None,
    ) -> Iterator[LineCell]:
        """Yield the cells of lines at the same height, from left to right.

        ``doubtful`` contains the objects whose text may be invisible. The text of each such object
        gets cells of its own.
        """
        own = range(group.start - self._first, group.stop - self._first)
        signs = [sign for line in own for sign in self._signs[line]]
        if not signs:
            return
        size = _usual_size(signs) or self._sizes[own.start]
        y, _ = _height(signs, 0.0)
        spaces = self._spaces_at(y, size)
        for owner, drawn in _by_owner(signs, doubtful).items():
            for part in _divided(drawn, size, walls(y) if walls else (), spaces):
                text = in_reading_order(
                    _units(part, y, size), page_from_right=self._page_from_right
                )
                placed = [sign for sign in part if sign is not None]
                left = min(sign.left for sign in placed)
                yield LineCell(text, left, max(sign.right for sign in placed), y, size, owner)

    def _spaces_at(self, y: float, size: float) -> list[float]:
        """Return the horizontal positions of the spaces that are drawn at a height."""
        first = bisect_left(self._spaces, y - size / 2, key=itemgetter(1))
        after = bisect_left(self._spaces, y + size / 2, key=itemgetter(1))
        return sorted(x for x, _ in self._spaces[first:after])


def _by_owner(signs: Iterable[_Sign], doubtful: set[int]) -> dict[int, list[_Sign]]:
    """Return the signs by the doubtful object that draws them, and all others under 0."""
    by_owner: dict[int, list[_Sign]] = {}
    for sign in signs:
        by_owner.setdefault(sign.owner if sign.owner in doubtful else 0, []).append(sign)
    return by_owner


def _signs(
    glyphs: BlockGlyphs, line: PlacedLine, crop: Box
) -> tuple[list[_Sign], list[tuple[float, float]]]:
    """Return the signs of a line within the crop box, and the positions of its drawn spaces.

    pdfium gives all characters of a ligature, and a letter with its signs, the same origin.
    """
    text = glyphs.pdfium_text
    start, end = line.start, line.end
    while start > 0 and text[start - 1] == " ":
        start -= 1
    while text[end] == " ":
        end += 1
    places = np.array([place for place in range(start, end) if text[place] not in "\r\n"], np.intp)
    origins, boxes = glyphs.origins(places).tolist(), glyphs.boxes(places).tolist()
    by_origin: dict[tuple[int, int, int], list[int]] = {}
    owners = glyphs.owners(places).tolist()
    spaces: list[tuple[float, float]] = []
    for number, ((x, y), owner) in enumerate(zip(origins, owners, strict=True)):
        if text[places[number]].isspace():
            # a space that pdfium has inserted belongs to no object
            spaces += [(x, y)] * (owner > 0)
        elif is_inside(crop, x, y):
            by_origin.setdefault((owner, round(10 * x), round(10 * y)), []).append(number)
    signs: list[_Sign] = []
    marks: list[_Sign] = []
    sign_of: dict[int, _Sign] = {}
    for (owner, _, _), numbers in by_origin.items():
        first = numbers[0]
        own = "".join(text[places[number]] for number in numbers)
        sign = _sign(own, origins[first], [boxes[number] for number in numbers])
        sign.owner, sign.place = owner, int(places[first])
        if first - 1 in sign_of and places[first] - places[first - 1] > 1:
            sign.after_space = sign_of[first - 1].place
        sign_of.update(dict.fromkeys(numbers, sign))
        (marks if all(map(is_vowel_sign, own)) else signs).append(sign)
    _attach(marks, signs)
    return signs, spaces


def _once(signs: list[_Sign]) -> list[_Sign]:
    """Leave out letters with vowel signs that pdfium returns once for each glyph of the letter."""
    by_text: dict[str, list[_Sign]] = {}
    for sign in signs:
        if sign.is_marked:
            by_text.setdefault(sign.text, []).append(sign)
    repeated = {
        after.place
        for same in by_text.values()
        for before, after in pairwise(sorted(same, key=_middle))
        if draw_the_same(before.owner, after.owner)
    }
    return [sign for sign in signs if sign.place not in repeated] if repeated else signs


def _sign(characters: str, origin: Sequence[float], boxes: Sequence[Sequence[float]]) -> _Sign:
    """Return the sign of characters with the same origin."""
    x, y = origin
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    is_exact = len(boxes) == 1 and abs(lefts[0] - x) < _EXACT
    size = abs(tops[0] - bottoms[0]) if is_exact else 0.0
    is_marked = len(boxes) > 1 and any(map(is_vowel_sign, characters))
    # the box of a ligature is as narrow as its ink
    left = min(lefts) if is_marked else min(x, *lefts)
    if is_marked:
        characters = ordered_by_place(characters, lefts)
    return _Sign(with_signs_after(characters), left, max(rights), y, size, is_marked)


def _attach(marks: Sequence[_Sign], signs: Sequence[_Sign]) -> None:
    """Add the marks that are drawn on their own to the letters at the same places."""
    letters = sorted((sign for sign in signs if sign.text[0].isalpha()), key=_middle)
    middles = [sign.middle for sign in letters]
    for mark in marks if letters else ():
        place = bisect_left(middles, mark.middle)
        near = letters[max(0, place - 1) : place + 1]
        _, base = min(((abs(sign.middle - mark.middle), sign) for sign in near), key=itemgetter(0))
        base.text = with_signs_after(base.text + mark.text)


def _usual_size(signs: Sequence[_Sign]) -> float:
    """Return the usual size of signs; 0 if none has a size."""
    sizes = [sign.size for sign in signs if sign.size]
    return median(sizes) if sizes else 0.0


def _height(signs: Sequence[_Sign], otherwise: float) -> tuple[float, bool]:
    """Return the height of a line, and whether it is exact.

    Letters with vowel signs may be higher or lower than the line.
    """
    exact = [round(sign.y, 1) for sign in signs if sign.size]
    if exact:
        return Counter(exact).most_common(1)[0][0], True
    return (median(sign.y for sign in signs) if signs else otherwise), False


def _middle(sign: _Sign) -> float:
    return sign.middle


def _estimate_widths(signs: Sequence[_Sign]) -> None:
    """Widen letters with vowel signs, for which pdfium may return the position of a sign only.

    Their usual width comes from the same letters without signs.
    """
    ratios: dict[str, list[float]] = {}
    for sign in signs:
        if sign.size and len(sign.text) == 1:
            ratios.setdefault(sign.text, []).append((sign.right - sign.left) / sign.size)
    usual = {text: median(own) for text, own in ratios.items()}
    size = _usual_size(signs)
    for sign in signs:
        if sign.is_marked:
            bare = unicodedata.normalize("NFD", sign.text)[0]  # alef for alef with hamza
            ratio = usual.get(sign.text[0], usual.get(bare, _WIDEST_MARKED))
            if not _HEBREW[0] <= sign.text[0] <= _HEBREW[1]:
                ratio = min(ratio, _WIDEST_MARKED)
            middle, width = sign.middle, max(ratio * size, sign.right - sign.left)
            sign.left, sign.right = middle - width / 2, middle + width / 2


def _divided(
    signs: Sequence[_Sign], size: float, walls: Sequence[float], spaces: Sequence[float]
) -> list[list[_Sign | None]]:
    """Return the signs of cells from left to right, with None for a space between words.

    Cells are divided by wide white space, and by vertical table lines (``walls``). ``spaces`` are
    the positions of the spaces that are drawn in the line.
    """
    ordered = sorted(signs, key=_middle)
    cells: list[list[_Sign | None]] = [[ordered[0]]]
    for before, sign in pairwise(ordered):
        space = sign.left - before.right
        wall = bisect_left(walls, before.middle)
        if space > GAP * size or (wall < len(walls) and walls[wall] < sign.middle):
            cells.append([sign])
            continue
        if space > _least_space(before, sign, spaces) * size:
            cells[-1].append(None)
        cells[-1].append(sign)
    return cells


def _least_space(before: _Sign, sign: _Sign, spaces: Sequence[float]) -> float:
    """Return the minimum white space between words, relative to the height of the line."""
    if spaces:
        place = bisect_left(spaces, before.middle)
        is_drawn = place < len(spaces) and spaces[place] < sign.middle
        return -inf if is_drawn else _UNDRAWN_SPACE
    is_marked = before.is_marked or sign.is_marked
    least = _MARKED_SPACES if is_marked else _SPACES
    has_space = sign.after_space == before.place or before.after_space == sign.place
    return least[0 if has_space else 1]


def _units(cell: Sequence[_Sign | None], y: float, size: float) -> list[Unit]:
    """Return the units of a cell; superscript digits are marked with "^"."""
    units: list[Unit] = []
    is_raised = False
    for sign in cell:
        if sign is None:
            units.append(unit(" "))
            continue
        own = unit(sign.text)
        was_raised = is_raised
        is_small = 0 < sign.size < _SMALLER * size
        is_raised = own.kind == "N" and is_small and sign.y - y > _RAISED * size
        units.append(own._replace(text="^" + own.text) if is_raised and not was_raised else own)
    return units
