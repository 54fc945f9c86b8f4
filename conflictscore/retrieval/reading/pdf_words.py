"""Puts right-to-left words of a PDF page in reading order, and joins spaced-out letters of words.

pdfium returns the letters of some right-to-left words from left to right, as they are drawn. pdfium
also puts spaces between letters that are drawn far apart. The limits in this module were chosen by
hand.
"""

import re
from itertools import pairwise
from statistics import median
from typing import Protocol

_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u065f\u066a-\u06ef\u06fa-\u07bf\u08a0-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]{2,}"
)
"""Matches words in Hebrew, Arabic, Syriac and Thaana letters."""
_RIGHT_TO_LEFT_SIGN = re.compile("[\u0590-\u07bf\u08a0-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_WORD = re.compile(r"\S+")
_FROM_LEFT = re.compile(
    r"(?<!\S)[A-Za-z0-9][A-Za-z0-9.'&/-]{0,60}(?: [A-Za-z0-9][A-Za-z0-9.'&/-]{0,60}){1,40}(?!\S)"
)
"""Matches words and numbers that are read from left to right."""
_MARKS = re.compile("([\u0591-\u05bd\u064b-\u0652\u0670\u0730-\u074a]+)(.)")
"""Matches vowel signs and the letter after them."""
# At least six letters with a space after each: "S U M M A R Y".
_SPACED_LETTERS = re.compile(r"(?<!\S)(?:[^\W\d_] ){5,200}[^\W\d_](?!\S)")
_FOUR_LETTERS = re.compile(r" [^\W\d_] [^\W\d_] [^\W\d_] [^\W\d_] ")
"""Matches a part of spaced-out letters; since it begins with a space, it is found quickly."""
_LIGATURES = dict(zip("\x0b\x0c\x0e\x0f\x1b\x1c\x1d\x1e\x1f", "ﬀﬁﬃﬄﬀﬁﬂﬃﬄ", strict=True))
"""Maps the codes of ligatures in TeX's fonts (OT1, then T1) to Unicode. Some PDFs do not map these
codes themselves."""
_LETTER = r"[^\W\d_]"
_CODES = f"[{''.join(_LIGATURES)}]"
# The code of a ligature next to a letter. Elsewhere, the same code may mean something else.
_LIGATURE = re.compile(f"{_CODES}(?={_LETTER})|(?<={_LETTER}){_CODES}")
_UNKNOWN = re.compile("[\0\x01\x03-\x08\x0b\x0c\x0e-\x1f]")
"""Matches characters whose font does not define their meaning; pdfium returns 0 or the font's code.

The other codes below the space are line breaks, tabs, and the hyphens that pdfium inserts (2)."""
_LEAST_LETTERS = 4
"""Minimum number of inserted spaces in a text whose letters are drawn far apart."""
JOINER = "\u2060"
"""Takes the place of a removed space, so that the length of the text is unchanged."""
_FARTHEST, _WIDER, _BETWEEN_WORDS = 1.0, 0.14, 0.7
"""Three distances, as multiples of the font size. Letters of one word are at most ``_FARTHEST``
apart. Two words are at least ``_WIDER`` farther apart than the letters of a word. Two words of a
phrase are at most ``_BETWEEN_WORDS`` apart."""


class Glyphs(Protocol):
    """The positions of a page's characters, in points, by their place in its text."""

    def x(self, place: int) -> float:
        """Return the horizontal position of a character."""
        ...

    def right(self, end: int) -> float:
        """Return the right end of the character before a position."""
        ...

    def size(self, place: int) -> float:
        """Return the height of a character's line."""
        ...

    def is_inserted(self, place: int) -> bool:
        """Whether pdfium inserted a character that is not in the file."""
        ...


def with_whole_words(text: str, glyphs: Glyphs, *, has_right_to_left: bool = True) -> str:
    """Return the text of a page with right-to-left words in order and spaced-out words joined.

    ``has_right_to_left`` says whether the text may have right-to-left letters. The text keeps its
    length, since ``JOINER`` takes the place of a removed space.
    """

    def read_from_right(word: re.Match[str]) -> str:
        if glyphs.x(word.start()) >= glyphs.x(word.end() - 1):  # pdfium has put it in order
            return word[0]
        # reversing a word puts its vowel signs before their letters
        return _MARKS.sub(r"\2\1", word[0][::-1])

    def read_from_left(words: re.Match[str]) -> str:
        beside = (
            text[max(0, words.start() - 2) : words.start()] + text[words.end() : words.end() + 2]
        )
        if _RIGHT_TO_LEFT_SIGN.search(beside) and _are_reversed(words[0], words.start(), glyphs):
            return " ".join(words[0].split(" ")[::-1])
        return words[0]

    def closed_up(letters: re.Match[str]) -> str:
        return _closed_up(letters[0], letters.start(), glyphs)

    if has_right_to_left and not text.isascii():
        text = _RIGHT_TO_LEFT.sub(read_from_right, text)
        text = _FROM_LEFT.sub(read_from_left, text)
    if _FOUR_LETTERS.search(text):
        text = _SPACED_LETTERS.sub(closed_up, text)
    return text


def _are_reversed(words: str, start: int, glyphs: Glyphs) -> bool:
    """Whether each word of a phrase is directly to the left of the word before it.

    The cells of a table are farther apart, and numbers alone may be cells.
    """
    if words.replace(" ", "").isdigit():
        return False
    places = [(start + match.start(), start + match.end()) for match in _WORD.finditer(words)]
    farthest = _BETWEEN_WORDS * glyphs.size(start)
    return all(
        0 <= glyphs.x(first) - glyphs.right(second_end) < farthest
        for (first, _), (_, second_end) in pairwise(places)
    )


def with_known_signs(text: str) -> str:
    """Return a text of the same length with ligatures; unknown signs become U+FFFD."""
    if any(code in text for code in _LIGATURES):
        text = _LIGATURE.sub(lambda sign: _LIGATURES[sign[0]], text)
    return _UNKNOWN.sub("\ufffd", text)


def _closed_up(letters: str, start: int, glyphs: Glyphs) -> str:
    """Join letters that are drawn far apart, as in some headings.

    A space that is in the file, or that is wider than the other spaces, still separates words. If
    there is no such space, nothing is joined, since the letters may be a list.
    """
    spaces = [place for place, sign in enumerate(letters, start) if sign == " "]
    gaps = {
        place: glyphs.x(place + 1) - glyphs.right(place)
        for place in spaces
        if glyphs.is_inserted(place)
    }
    size, usual = glyphs.size(start), median(gaps.values()) if gaps else 0.0
    if len(gaps) < _LEAST_LETTERS or not 0 < usual < _FARTHEST * size:
        return letters
    inner = [place for place, gap in gaps.items() if gap < usual + _WIDER * size]
    if len(inner) == len(spaces):
        return letters
    signs = list(letters)
    for place in inner:
        signs[place - start] = JOINER
    return "".join(signs)
