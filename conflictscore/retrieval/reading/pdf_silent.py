"""Finds glyphs on a page for which pdfium returns no character.

Some programs, such as browsers, draw each glyph of a right-to-left line on its own. pdfium then
leaves out the spaces, and returns only one glyph of a letter with vowel signs. The other glyphs
show where a word ends and how wide such a letter is.
"""

import ctypes
from collections.abc import Callable, Sequence
from typing import NamedTuple

from conflictscore.retrieval.reading.pdf_positions import Box
from conflictscore.retrieval.reading.pdfium_calls import calls

TextAreas = Callable[[], Sequence[tuple[int, Box]]]
"""A function that returns a page's text objects in page order, each with its area (left, bottom,
right and top)."""
_STACKED = 0.5
"""Minimum share of the narrower glyph that lies above or below another glyph of the same letter;
chosen by hand."""


class SilentGlyphs(NamedTuple):
    """The glyphs without a character.

    Attributes:
        spaces: The glyphs without ink, which are spaces, as x and y.
        areas: The areas of the letters that the other glyphs belong to, by the objects that draw
            the rest of these letters.
    """

    spaces: list[tuple[float, float]]
    areas: dict[int, Box]


def silent_glyphs(texts: Sequence[tuple[int, Box]], speaking: set[int]) -> SilentGlyphs:
    """Find the silent glyphs among a page's text objects, which are in page order.

    ``speaking`` are the objects that draw characters.
    """
    spaces = [
        (left, bottom)
        for text, (left, bottom, right, top) in texts
        if text not in speaking and left == right and bottom == top
    ]
    areas: dict[int, Box] = {}
    # a silent glyph may follow the rest of its letter, or precede it
    for in_order in (texts, reversed(texts)):
        owner, own = 0, (0.0, 0.0, 0.0, 0.0)
        for text, area in in_order:
            if text in speaking:
                owner, own = text, areas.get(text, area)
            elif _is_stacked(own, area):
                least = min(own[0], area[0]), min(own[1], area[1])
                own = areas[owner] = *least, max(own[2], area[2]), max(own[3], area[3])
            else:  # a glyph elsewhere ends the letter
                own = 0.0, 0.0, 0.0, 0.0
    return SilentGlyphs(spaces, areas)


def draw_the_same(first: int, second: int) -> bool:
    """Whether two objects draw parts of the same marked content, such as a letter and its sign."""
    return first != second and 0 < _last_mark(first) == _last_mark(second)


def _last_mark(text: int) -> int:
    """Return the innermost marked content that an object belongs to; 0 if there is none."""
    count = calls().any_marks(ctypes.c_void_p(text))
    return calls().mark(text, count - 1) or 0 if count > 0 else 0


def _is_stacked(first: Box, second: Box) -> bool:
    overlap = min(first[2], second[2]) - max(first[0], second[0])
    return overlap > _STACKED * min(first[2] - first[0], second[2] - second[0]) > 0
