"""Reads the lines of PDF pages that contain Hebrew, Arabic or other right-to-left letters.

pdfium's order is wrong for many of these lines: numbers, Latin words and brackets change places,
and vowel signs break words. The order is therefore derived from the positions of the characters.
The limits in this module were chosen by hand.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, pairwise
from math import inf
from operator import and_, itemgetter
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
from conflictscore.retrieval.reading.pdf_signs import (
    Sign,
    height,
    middle,
    usual_size,
    widen,
    without_repetitions,
)
from conflictscore.retrieval.reading.pdf_silent import TextAreas, silent_glyphs

_SPACES, _MARKED_SPACES = (0.07, 0.13), (0.14, 0.18)
"""Minimum white space between words, relative to the height of a line; the second numbers apply
where pdfium has no space. Letters with vowel signs need more, since their width is estimated."""
_DRAWN = 0.5
"""Minimum number of drawn spaces, relative to the spaces in pdfium's text, on a page whose program
draws all spaces."""
_WIDE, _UNDRAWN = 0.2, 0.1
"""Minimum white space that counts as wide, relative to the height of a line, and maximum share of
wide white space without a drawn space on such a page."""
_UNDRAWN_SPACE = 0.35
"""Minimum white space between words on such a page, relative to the height of a line, if no space
is drawn there and the box of a letter beside it is as narrow as its ink."""
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

        ``first`` is the number of the first line, and ``bounds`` are the start and end of the page
        in pdfium's text. ``text_areas`` returns the page's text objects and their areas.
        """
        self._first = first
        text = glyphs.pdfium_text
        self._page_from_right = reads_from_right(text[slice(*bounds)])
        from_right = [has_right_to_left(text[line.start : line.end]) for line in lines]
        self.groups: dict[int, range] = {}
        if not any(from_right):
            return
        self._signs = [without_repetitions(_signs(glyphs, line, crop)) for line in lines]
        all_signs = [*chain.from_iterable(self._signs)]
        silent = silent_glyphs(text_areas(), {sign.owner for sign in all_signs})
        widen(all_signs, silent.areas)
        spaces = [*silent.spaces, *_spaces(glyphs, lines)]
        self._spaces = sorted(spaces, key=itemgetter(1))
        usual = usual_size(all_signs)
        self._sizes = [usual_size(signs) or usual or 1.0 for signs in self._signs]
        gaps = sum(text.count(" ", line.start, line.end) for line in lines)
        if len(spaces) < _DRAWN * gaps or not self._draws_spaces():
            self._spaces = []
        is_level = [*map(_is_level, lines, self._sizes)]
        from_right = [*map(and_, from_right, is_level)]
        for group in self._same_height(lines, is_level, from_right):
            numbers = range(first + group.start, first + group.stop)
            self.groups.update(dict.fromkeys(numbers, numbers))

    def _same_height(
        self, lines: Sequence[PlacedLine], is_level: Sequence[bool], from_right: Sequence[bool]
    ) -> Iterator[range]:
        """Yield groups of successive lines at the same height, with right-to-left letters."""
        start, has_letters = 0, False
        # the first exact height in a group; other lines may consist of raised vowel signs
        anchor: float | None = None
        heights = [height(signs, line.y) for signs, line in zip(self._signs, lines, strict=True)]
        for number in range(len(lines)):
            size = max(self._sizes[number], self._sizes[start])
            y, is_exact = heights[number]
            near = heights[start][0] if anchor is None else anchor
            is_near = is_level[number] and abs(y - near) < size / 2
            # a group contains at least one line with such letters
            if number and not (is_near and (has_letters or from_right[number])):
                if has_letters:
                    yield range(start, number)
                start, has_letters, anchor = number, False, None
            has_letters = has_letters or from_right[number]
            if anchor is None and is_exact:
                anchor = y
        if has_letters:
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
        size = usual_size(signs) or self._sizes[own.start]
        y, _ = height(signs, 0.0)
        spaces = self._spaces_at(y, size)
        for owner, drawn in _by_owner(signs, doubtful).items():
            for part in _divided(drawn, size, walls(y) if walls else (), spaces):
                text = in_reading_order(
                    _units(part, y, size), page_from_right=self._page_from_right
                )
                placed = [sign for sign in part if sign is not None]
                left = min(sign.left for sign in placed)
                yield LineCell(text, left, max(sign.right for sign in placed), y, size, owner)

    def _draws_spaces(self) -> bool:
        """Whether nearly all wide white space in lines has a space."""
        wide = undrawn = 0
        for signs, size in zip(self._signs, self._sizes, strict=True):
            spaces = self._spaces_at(height(signs, 0.0)[0], size)
            for before, sign in pairwise(sorted(signs, key=middle)):
                if before.size and sign.size:  # other edges are those of the ink, or estimated
                    is_wide = _WIDE * size < sign.left - before.right < GAP * size
                    wide += is_wide
                    undrawn += is_wide and not _is_drawn(before, sign, spaces)
        return undrawn <= _UNDRAWN * wide

    def _spaces_at(self, y: float, size: float) -> list[float]:
        """Return the horizontal positions of the spaces that are drawn at a height."""
        first = bisect_left(self._spaces, y - size / 2, key=itemgetter(1))
        after = bisect_left(self._spaces, y + size / 2, key=itemgetter(1))
        return sorted(x for x, _ in self._spaces[first:after])


def _is_level(line: PlacedLine, size: float) -> bool:
    """Whether a line is horizontal, although letters with vowel signs may be higher than others."""
    return abs(line.rise) < max(size, abs(line.width) / 4)


def _by_owner(signs: Iterable[Sign], doubtful: set[int]) -> dict[int, list[Sign]]:
    """Return the signs by the doubtful object that draws them, and all others under 0."""
    by_owner: dict[int, list[Sign]] = {}
    for sign in signs:
        by_owner.setdefault(sign.owner if sign.owner in doubtful else 0, []).append(sign)
    return by_owner


def _signs(glyphs: BlockGlyphs, line: PlacedLine, crop: Box) -> list[Sign]:
    """Return the signs of a line within the crop box.

    pdfium gives all characters of a ligature, and a letter with its signs, the same origin.
    """
    text = glyphs.pdfium_text
    places = np.array(
        [place for place in range(line.start, line.end) if not text[place].isspace()], np.intp
    )
    origins, boxes = glyphs.origins(places).tolist(), glyphs.boxes(places).tolist()
    by_origin: dict[tuple[int, int, int], list[int]] = {}
    owners = glyphs.owners(places).tolist()
    for number, ((x, y), owner) in enumerate(zip(origins, owners, strict=True)):
        if is_inside(crop, x, y):  # origins in the same tenth of a point count as equal
            by_origin.setdefault((owner, round(10 * x), round(10 * y)), []).append(number)
    signs: list[Sign] = []
    marks: list[Sign] = []
    sign_of: dict[int, Sign] = {}
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
    return signs


def _spaces(glyphs: BlockGlyphs, lines: Sequence[PlacedLine]) -> list[tuple[float, float]]:
    """Return the positions of the spaces that the file draws in the lines of a page.

    A space that pdfium has inserted belongs to no object.
    """
    text = glyphs.pdfium_text
    span = range(lines[0].start, lines[-1].end)
    places = np.array([place for place in span if text[place] == " "], np.intp)
    is_drawn = glyphs.owners(places) > 0
    return [(x, y) for x, y in glyphs.origins(places[is_drawn]).tolist()]


def _sign(characters: str, origin: Sequence[float], boxes: Sequence[Sequence[float]]) -> Sign:
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
    return Sign(with_signs_after(characters), left, max(rights), y, size, is_marked)


def _attach(marks: Sequence[Sign], signs: Sequence[Sign]) -> None:
    """Add the marks that are drawn on their own to the letters at the same places."""
    letters = sorted((sign for sign in signs if sign.text[0].isalpha()), key=middle)
    middles = [sign.middle for sign in letters]
    for mark in marks if letters else ():
        place = bisect_left(middles, mark.middle)
        near = letters[max(0, place - 1) : place + 1]
        _, base = min(((abs(sign.middle - mark.middle), sign) for sign in near), key=itemgetter(0))
        base.text = with_signs_after(base.text + mark.text)


def _divided(
    signs: Sequence[Sign], size: float, walls: Sequence[float], spaces: Sequence[float]
) -> list[list[Sign | None]]:
    """Return the signs of cells from left to right, with None for a space between words.

    Cells are divided by wide white space, and by vertical table lines (``walls``). ``spaces`` are
    the positions of the spaces that are drawn in the line.
    """
    ordered = sorted(signs, key=middle)
    cells: list[list[Sign | None]] = [[ordered[0]]]
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


def _is_drawn(before: Sign, sign: Sign, spaces: Sequence[float]) -> bool:
    """Whether a space is drawn between two signs."""
    place = bisect_left(spaces, before.middle)
    return place < len(spaces) and spaces[place] < sign.middle


def _least_space(before: Sign, sign: Sign, spaces: Sequence[float]) -> float:
    """Return the minimum white space between words, relative to the height of the line."""
    is_marked = before.is_marked or sign.is_marked
    if _is_drawn(before, sign, spaces):
        # glyphs without ink between other letters may be joiners
        return -inf if is_marked else _SPACES[0]
    if spaces and not (before.size and sign.size):
        return _UNDRAWN_SPACE
    least = _MARKED_SPACES if is_marked else _SPACES
    has_space = sign.after_space == before.place or before.after_space == sign.place
    return least[0 if has_space else 1]


def _units(cell: Sequence[Sign | None], y: float, size: float) -> list[Unit]:
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
