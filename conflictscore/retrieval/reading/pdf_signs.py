"""Represents the characters of lines with right-to-left letters, and their places on the page.

The limits in this module were chosen by hand.
"""

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from conflictscore.retrieval.reading.pdf_positions import Box
from conflictscore.retrieval.reading.pdf_silent import draw_the_same

_HEBREW = "\u0590", "\u05ff"
_WIDEST_MARKED = 0.35
"""Maximum estimated width of an Arabic letter with signs.

The same letter may be much wider elsewhere, since its form depends on its place in the word."""


@dataclass(slots=True)
class Sign:
    """A character, a ligature, or a letter with its vowel signs.

    ``is_marked`` says whether it is a letter with signs, whose edges are estimated. ``size`` is 0
    if the height of its line is unknown. ``place`` is its place in pdfium's text, or -1. If pdfium
    has a space before it, ``after_space`` is the place of the sign before the space, otherwise -2.
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


def without_repetitions(signs: list[Sign]) -> list[Sign]:
    """Leave out letters with vowel signs that pdfium returns once for each glyph of the letter."""
    by_text: dict[str, list[Sign]] = {}
    for sign in signs:
        if sign.is_marked:
            by_text.setdefault(sign.text, []).append(sign)
    repetitions = {
        after.place
        for same in by_text.values()
        for before, after in pairwise(sorted(same, key=middle))
        if draw_the_same(before.owner, after.owner)
    }
    return [sign for sign in signs if sign.place not in repetitions] if repetitions else signs


def usual_size(signs: Sequence[Sign]) -> float:
    """Return the usual size of signs; 0 if none has a size."""
    sizes = [sign.size for sign in signs if sign.size]
    return median(sizes) if sizes else 0.0


def height(signs: Sequence[Sign], otherwise: float) -> tuple[float, bool]:
    """Return the height of a line, and whether it is exact.

    Letters with vowel signs may be higher or lower than the line.
    """
    exact = [round(sign.y, 1) for sign in signs if sign.size]
    if exact:
        return Counter(exact).most_common(1)[0][0], True
    return (median(sign.y for sign in signs) if signs else otherwise), False


def middle(sign: Sign) -> float:
    """Return the horizontal position of the middle of a sign."""
    return sign.middle


def widen(signs: Sequence[Sign], areas: Mapping[int, Box]) -> None:
    """Widen letters with vowel signs, for which pdfium may return the position of a sign only.

    ``areas`` are the areas of some letters, by the objects that draw them. The usual width of the
    others comes from the same letters without signs.
    """
    # the area of an object that draws several letters does not show their widths
    letters = Counter(sign.owner for sign in signs)
    unsure: list[Sign] = []
    for sign in signs:
        if sign.is_marked and sign.owner in areas and letters[sign.owner] == 1:
            # the origin may be that of a vowel sign, far above the line
            left, sign.y, right, _ = areas[sign.owner]
            sign.left, sign.right = min(sign.left, left), max(sign.right, right)
        elif sign.is_marked:
            unsure.append(sign)
    ratios: dict[str, list[float]] = {}
    for sign in signs:
        if sign.size and len(sign.text) == 1:
            ratios.setdefault(sign.text, []).append((sign.right - sign.left) / sign.size)
    usual = {text: median(own) for text, own in ratios.items()}
    size = usual_size(signs)
    for sign in unsure:
        bare = unicodedata.normalize("NFD", sign.text)[0]  # alef for alef with hamza
        ratio = usual.get(sign.text[0], usual.get(bare, _WIDEST_MARKED))
        if not _HEBREW[0] <= sign.text[0] <= _HEBREW[1]:
            ratio = min(ratio, _WIDEST_MARKED)
        middle, width = sign.middle, max(ratio * size, sign.right - sign.left)
        sign.left, sign.right = middle - width / 2, middle + width / 2
