"""Puts the characters of a line with right-to-left letters in reading order.

The characters are passed in the order in which they are drawn, from left to right. Unicode's
bidirectional algorithm does the reverse: it lays out text that is in reading order.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

_FROM_RIGHT = re.compile("[\u0590-\u07bf\u0860-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
"""Matches Hebrew, Arabic, Syriac and Thaana letters, and others that are read from the right."""
_CLEAR = 0.75
"""Minimum share of right-to-left letters, or of others, that decides the direction of a line. Other
lines have the direction of their page. The limit was chosen by hand."""
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_QUOTATION_MARKS = {"«": "»", "‹": "›"}
"""Quotation marks that are mirrored like brackets in a right-to-left line.

In other lines, languages differ in which of them opens a quotation."""
_EITHER_BRACKET = {*_BRACKETS, *_BRACKETS.values()}
_ALEFS = "اأإآٱ"
_STOPS = {".", "!", "?", "؟", "۔"}
_KINDS = {
    **dict.fromkeys(("R", "AL"), "R"),
    **dict.fromkeys(("EN", "AN"), "N"),
    **dict.fromkeys(("ES", "CS"), "S"),
    "L": "L",
}
"""Kinds of characters by their class in Unicode's bidirectional algorithm: letters read from the
right or the left, digits, and separators within numbers. All others are neutral ("W")."""


class Unit(NamedTuple):
    """A character with its marks, a ligature, or a space; for its kind see ``_KINDS``."""

    text: str
    kind: str


def unit(text: str) -> Unit:
    """Return the unit of a text, whose first character decides the kind."""
    is_space = text.isspace()
    return Unit(text, "W" if is_space else _KINDS.get(unicodedata.bidirectional(text[0]), "W"))


def is_vowel_sign(character: str) -> bool:
    """Whether a character is a vowel sign or another mark of a letter."""
    return unicodedata.category(character) == "Mn"


def ordered_by_place(characters: str, lefts: Sequence[float]) -> str:
    """Return the characters of a sign in the order of their places, from the right.

    The order is from the left if a vowel sign would otherwise be the first.
    """
    from_left = [character for _, character in sorted(zip(lefts, characters, strict=True))]
    is_from_left = is_vowel_sign(from_left[-1]) and not is_vowel_sign(from_left[0])
    return "".join(from_left if is_from_left else from_left[::-1])


def with_signs_after(text: str) -> str:
    """Return the characters of a sign in reading order: a letter before its signs."""
    letters = [character for character in text if not is_vowel_sign(character)]
    if len(letters) == 1:
        # in Unicode's canonical order
        marks = sorted(filter(is_vowel_sign, text), key=unicodedata.combining)
        return "".join([*letters, *marks])
    # in the ligature of lam and alef, lam is first
    return text[::-1] if len(text) == 2 and text[1] == "\u0644" and text[0] in _ALEFS else text


def has_right_to_left(text: str) -> bool:
    """Whether a text contains a right-to-left letter."""
    return not text.isascii() and _FROM_RIGHT.search(text) is not None


def reads_from_right(text: str) -> bool:
    """Whether at least half of the letters of a text are read from right to left."""
    if text.isascii():
        return False
    from_right = len(_FROM_RIGHT.findall(text))
    return from_right > 0 and 2 * from_right >= sum(map(_is_letter, text))


def in_reading_order(units: Sequence[Unit], *, page_from_right: bool) -> str:
    """Return the text of the units of a line.

    ``page_from_right`` says whether most lines of the page are read from right to left.
    """
    text = "".join(each.text for each in units)
    if not has_right_to_left(text):
        return _with_brackets(text)
    is_from_right = _is_from_right(units, page_from_right=page_from_right)
    if any(unicodedata.bidirectional(character) == "AL" for character in text):
        units = [_as_after_arabic(each) for each in units]
    if is_from_right:
        return _with_brackets(_with_brackets("".join(_from_right(units)), _QUOTATION_MARKS))
    return _with_brackets("".join(_from_left(units)))


def _is_from_right(units: Sequence[Unit], *, page_from_right: bool) -> bool:
    """Whether a line is read from the right; see :func:`in_reading_order`.

    If the letters do not decide, a full stop at one of the line's ends does. Vowel signs are not
    counted.
    """
    letters = [each.text[0] for each in units if _is_letter(each.text[0])]
    from_right = [has_right_to_left(letter) for letter in letters]
    if not letters:
        return page_from_right
    share = sum(from_right) / len(letters)
    if share >= _CLEAR:
        return True
    is_mixed = share > 1 - _CLEAR
    stops_left, stops_right = units[0].text in _STOPS, units[-1].text in _STOPS
    if stops_left != stops_right and (is_mixed or page_from_right):
        return stops_left
    # the rightmost letter is the first one if the line is read from the right
    return page_from_right and (is_mixed or from_right[-1])


def _as_after_arabic(each: Unit) -> Unit:
    """Return the unit for a line with Arabic letters, in which a hyphen is not part of a number."""
    is_hyphen = unicodedata.bidirectional(each.text[0]) == "ES"
    return each._replace(kind="W") if is_hyphen else each


def _is_letter(character: str) -> bool:
    return character.isalpha() or _FROM_RIGHT.match(character) is not None


def _from_right(units: Sequence[Unit]) -> Iterator[str]:
    """Yield the texts of a right-to-left line in reading order; the units are in drawn order."""
    chunks: list[str] = []
    place = 0
    while place < len(units):
        end = _end_from_left(units, place)
        chunks.append("".join(each.text for each in units[place:end]))
        place = end
    return reversed(chunks)


def _end_from_left(units: Sequence[Unit], start: int) -> int:
    """Return the end of the part that is read from left to right; at least one unit."""
    kind = units[start].kind
    if kind == "L":
        return _end_of_phrase(units, start)
    if kind != "N" and not _leads_number(units, start):
        return start + 1
    end = letter = _end_of_number(units, start)
    while letter < len(units) and units[letter].text == " ":
        letter += 1  # a date ("20 March")
    is_phrase = letter < len(units) and units[letter].kind == "L"
    return _end_of_phrase(units, letter) if is_phrase else end


def _end_of_phrase(units: Sequence[Unit], start: int) -> int:
    """Return the end of a phrase of letters and numbers that begins with a letter."""
    brackets = inside = 0
    place = end = start
    while place < len(units) and units[place].kind != "R":
        text, kind = units[place]
        brackets += text in _EITHER_BRACKET
        # a number after an unpaired bracket does not belong to the phrase
        if kind == "L" or (kind == "N" and brackets % 2 == 0):
            end = _end_of_number(units, place) if kind == "N" else place + 1
            place, inside = end, brackets
        else:
            place += 1
    closes = inside % 2 and end < len(units) and units[end].text in _EITHER_BRACKET
    return end + 1 if closes else end


def _leads_number(units: Sequence[Unit], place: int) -> bool:
    """Whether a currency sign is directly to the left of a number."""
    is_currency = unicodedata.category(units[place].text[0]) == "Sc"
    return is_currency and place + 1 < len(units) and units[place + 1].kind == "N"


def _end_of_number(units: Sequence[Unit], start: int) -> int:
    """Return the end of a number, with the separators in it and a percent sign after it."""
    place = start + 1
    while place < len(units):
        follows = place + 1 < len(units) and units[place + 1].kind == "N"
        if units[place].kind == "N":
            place += 1
        elif units[place].kind == "S" and units[place].text.strip() and follows:
            place += 2
        else:
            break
    if place < len(units) and unicodedata.bidirectional(units[place].text[0]) == "ET":
        place += 1
    return place


def _from_left(units: Sequence[Unit]) -> Iterator[str]:
    """Yield the texts of a left-to-right line in reading order."""
    place = 0
    while place < len(units):
        if units[place].kind != "R":
            yield units[place].text
            place += 1
            continue
        end = place + 1
        for number in range(place + 1, len(units)):
            if units[number].kind == "L":
                break
            if units[number].kind == "R":
                end = number + 1
        yield from _from_right(units[place:end])
        place = end


def _with_brackets(text: str, pairs: Mapping[str, str] = _BRACKETS) -> str:
    """Return a text whose brackets, or other pairs, open and close as their places demand.

    Some files store the bracket that is drawn, and others the bracket that is read.
    """
    characters = list(text)
    is_open = dict.fromkeys(pairs, False)
    openings = {closing: opening for opening, closing in pairs.items()}
    for place, character in enumerate(characters):
        opening = character if character in pairs else openings.get(character)
        if opening is None:
            continue
        before = text[place - 1 : place].strip() if place else ""
        after = text[place + 1 : place + 2].strip()
        if not before and not after:  # between spaces, nothing decides
            continue
        # with text on both sides, brackets open and close by turns
        opens = not is_open[opening] if bool(before) == bool(after) else not before
        is_open[opening] = opens
        characters[place] = opening if opens else pairs[opening]
    return "".join(characters)
