"""Joins letters with accents that a PDF draws on their own, as older fonts of TeX do.

pdfium then returns the accent as a character beside the letter ("k¨onnen"), or elsewhere in the
line ("fur Anw ¨ ¨alte"). Their positions decide whether an accent belongs to a letter. The limits
in this module were chosen by hand.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from conflictscore.retrieval.reading.pdf_words import JOINER, Glyphs

_COMBINING = dict(
    zip(
        "`\u00b4\u02c6\u02dc\u00af\u02d8\u02d9\u00a8\u02da\u02dd\u02c7\u00b8\u02db",
        "\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327\u0328",
        strict=True,
    )
)
"""Maps accents to those that combine with the letter before them."""
_ACCENT = re.compile(f"[{''.join(_COMBINING)}]")
_LETTER = re.compile(r"[^\W\d_]")
_DOTLESS = {"\u0131": "i", "\u0237": "j"}
# The lookbehind keeps the time linear: no match is tried within a row of spaces and joiners.
_AROUND = re.compile(f"(?<![ {JOINER}]) *+{JOINER}[ {JOINER}]*+")
_CENTRED = 0.12
"""Maximum distance between the middles of a letter and its accent, relative to the font size."""
_SPACE = 0.12
"""Minimum white space between words, relative to the font size."""
_FARTHEST, _MOST = 200, 300
"""Maximum number of characters between an accent and its letter, and maximum number of accents
whose letters are not beside them; both limit the time."""


def has_accents(text: str) -> bool:
    """Whether a text has accents that are characters of their own."""
    return _ACCENT.search(text) is not None


def with_accented_letters(text: str, glyphs: Glyphs) -> str:
    """Return a text with accents on their letters; ``JOINER`` takes the place of each accent."""
    characters = list(text)
    searches = _MOST
    for accent in _ACCENT.finditer(text):
        place = accent.start()
        beside = [near for near in (place + 1, place - 1) if 0 <= near < len(text)]
        own = _letter(characters, place, beside, glyphs)
        # an accent that is not next to its letter follows a space
        if own is None and searches and not text[place - 1 : place].strip():
            searches -= 1
            own = _letter(characters, place, _in_line(text, place), glyphs)
        if own is not None:
            characters[own] = _composition(characters[own], text[place])
            characters[place] = JOINER
    joined_text = "".join(characters)
    if joined_text == text:
        return text
    return _AROUND.sub(lambda gap: _closed_up(joined_text, gap, glyphs), joined_text)


def _in_line(text: str, place: int) -> Iterator[int]:
    """Yield the places of the other characters of the line, the nearest first."""
    line = max(text.rfind("\n", max(0, place - _FARTHEST), place), place - _FARTHEST, -1) + 1
    end = text.find("\r", place, place + _FARTHEST)
    end = min(len(text), place + _FARTHEST) if end < 0 else end
    yield from range(place - 1, line - 1, -1)
    yield from range(place + 1, end)


def _letter(
    characters: Sequence[str], place: int, candidates: Iterable[int], glyphs: Glyphs
) -> int | None:
    """Return the place of the letter that an accent belongs to."""
    middle, nearest, letter = _middle(place, glyphs), _CENTRED * glyphs.size(place), None
    for candidate in candidates:
        if _LETTER.match(characters[candidate]) and _composition(
            characters[candidate], characters[place]
        ):
            distance = abs(_middle(candidate, glyphs) - middle)
            if distance < nearest:
                nearest, letter = distance, candidate
    return letter


def _composition(letter: str, accent: str) -> str:
    """Return the letter with an accent; empty if there is no such letter."""
    both = unicodedata.normalize("NFC", _DOTLESS.get(letter, letter) + _COMBINING[accent])
    return both if len(both) == 1 else ""


def _middle(place: int, glyphs: Glyphs) -> float:
    return (glyphs.x(place) + glyphs.right(place + 1)) / 2


def _closed_up(text: str, gap: re.Match[str], glyphs: Glyphs) -> str:
    """Return the replacement, of the same length, for accents and the spaces around them."""
    start, end = gap.span()
    inside = start > 0 and end < len(text) and not text[start - 1].isspace()
    if " " not in gap[0] or not inside or text[end].isspace():
        return gap[0]
    size = glyphs.size(start - 1)
    is_apart = glyphs.x(end) - glyphs.right(start) > _SPACE * size
    return (" " if is_apart else JOINER) + JOINER * (end - start - 1)
