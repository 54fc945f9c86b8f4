"""Reads the cells of an Excel file as they are shown, with their number format, font and fill.

Limits without a stated reason were chosen by hand.
"""

import math
import re
from collections import Counter
from typing import NamedTuple
from xml.etree.ElementTree import Element

from conflictscore.retrieval.reading.ooxml import attribute, child, children, is_on, name_of
from conflictscore.retrieval.shaping.formulas import raised
from conflictscore.retrieval.shaping.number_formats import BUILT_IN, shown_number, shown_text
from conflictscore.retrieval.shaping.symbol_fonts import is_symbol_font, signs_of, with_signs

# Matches the codes that Excel writes for characters that XML does not allow.
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
# White in Excel's notation, with or without opacity.
_WHITE = frozenset(("FFFFFFFF", "00FFFFFF", "FFFFFF"))
_MOST_CHARACTERS = 20_000_000
"""Maximum number of characters in all cells together; a file can repeat one text in a million
cells."""
# A number that may be a year.
_YEAR = re.compile(r"(?:1[5-9]|20|21)\d\d")
FORMULA_MARK = "[formula]"
"""The text of a cell whose formula has no stored result; this reader computes no formulas."""


class ShownCell(NamedTuple):
    """The text of a cell, and whether the text can be a column name (a word or a year)."""

    text: str
    is_name: bool


class _Font(NamedTuple):
    """The properties of a font that determine what is visible."""

    name: str = ""
    is_struck: bool = False
    is_white: bool = False


class _Style(NamedTuple):
    """A cell's format code and font, and whether the cell has a background."""

    code: str = "General"
    font: _Font = _Font()
    is_filled: bool = False


class Cells:
    """The styles and shared texts that the cells of a workbook refer to."""

    def __init__(
        self,
        styles: Element | None,
        strings: Element | None,
        not_in_words: Counter[str],
        *,
        from_1904: bool,
    ) -> None:
        self._styles = _styles(styles)
        self._strings = [_rich_text(each) for each in children(strings) if name_of(each) == "si"]
        self._not_in_words, self._from_1904 = not_in_words, from_1904
        self._characters = 0

    def shown(self, cell: Element, *, on_white: bool) -> ShownCell:
        """Return the cell as it is shown.

        ``on_white`` says that only the cell's own style can give it a background.

        Raises:
            ValueError: The cells have more than 20 million characters.
        """
        place = cell.get("s") or "0"
        number = int(place) if place.isdecimal() else 0
        style = self._styles[number] if number < len(self._styles) else _Style()
        if style.font.is_struck or (on_white and style.font.is_white and not style.is_filled):
            return ShownCell("", False)
        text, is_number = self._text(cell, style)
        text = " ".join(text.split())
        self._characters += len(text)
        if self._characters > _MOST_CHARACTERS:
            raise ValueError(f"its cells have more than {_MOST_CHARACTERS:,} characters")
        return ShownCell(text, not is_number or bool(_YEAR.fullmatch(text)))

    def _text(self, cell: Element, style: _Style) -> tuple[str, bool]:
        """Return the text of a cell, and whether it is a number or a date."""
        kind, part = cell.get("t") or "n", child(cell, "v")
        raw = (part.text or "") if part is not None else ""
        # a formula whose stored result is an empty string (type "str") is an empty cell
        if child(cell, "f") is not None and not raw and (part is None or kind != "str"):
            self._not_in_words["formula without a stored result"] += 1
            return FORMULA_MARK, False
        if kind in ("n", "d"):
            return self._number(raw, style), bool(raw)
        if kind == "e" and cell.get("vm"):  # a picture in a cell
            self._not_in_words["picture"] += 1
            return "[picture]", False
        return self._words(self._stored_text(kind, raw, cell), style), False

    def _stored_text(self, kind: str, raw: str, cell: Element) -> str:
        if kind == "inlineStr":
            return _rich_text(child(cell, "is"))
        if not raw:
            return ""
        if kind == "s":
            return self._strings[int(raw)]
        if kind == "b":
            return "TRUE" if raw in ("1", "true") else "FALSE"
        return raw

    def _number(self, raw: str, style: _Style) -> str:
        try:
            number = float(raw)
        except ValueError:  # an ISO date, such as 1932-03-09T00:00:00
            return raw.replace("T", " ").removesuffix(" 00:00:00")
        if not math.isfinite(number):
            return raw
        return shown_number(number, style.code, from_1904=self._from_1904)

    def _words(self, text: str, style: _Style) -> str:
        text = shown_text(_unescaped(text), style.code)
        return with_signs(text, style.font.name, self._not_in_words)


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda code: chr(int(code[1], 16)), text) if "_x" in text else text


def _rich_text(element: Element | None) -> str:
    """Return a text without struck-out parts or phonetic guides, and with superscripts marked."""
    pieces: list[str] = []
    for part in children(element):
        looks = child(part, "rPr")
        if name_of(part) == "t":
            pieces.append(part.text or "")
        elif name_of(part) == "r" and not is_on(looks, "strike"):
            words = child(part, "t")
            text = (words.text or "") if words is not None else ""
            font = attribute(child(looks, "rFont"), "val") or ""
            if is_symbol_font(font):
                text = signs_of(font, map(ord, text))
            place = attribute(child(looks, "vertAlign"), "val")
            pieces.append(raised(text, {"superscript": "^", "subscript": "_"}.get(place or "", "")))
    return "".join(pieces)


def _styles(tree: Element | None) -> list[_Style]:
    """Return the cell styles in the order of their numbers."""
    codes = BUILT_IN | {
        _whole(each.get("numFmtId")): each.get("formatCode") or "General"
        for each in children(child(tree, "numFmts"))
    }
    fonts = [_font(each) for each in children(child(tree, "fonts"))]
    fills = [_is_fill(each) for each in children(child(tree, "fills"))]
    styles: list[_Style] = []
    for each in children(child(tree, "cellXfs")):
        font, fill = _whole(each.get("fontId")), _whole(each.get("fillId"))
        styles.append(
            _Style(
                codes.get(_whole(each.get("numFmtId")), "General"),
                fonts[font] if font < len(fonts) else _Font(),
                fills[fill] if fill < len(fills) else False,
            )
        )
    return styles


def _font(element: Element) -> _Font:
    color = child(element, "color")
    rgb = (attribute(color, "rgb") or "").upper()
    # colour 0 of a theme is the background; a tint makes it darker
    is_white = rgb in _WHITE or (attribute(color, "theme") == "0" and not attribute(color, "tint"))
    name = attribute(child(element, "name"), "val") or ""
    return _Font(name, is_on(element, "strike"), is_white)


def _is_fill(element: Element) -> bool:
    """Return whether a fill has a colour other than white."""
    pattern = child(element, "patternFill")
    if pattern is None:
        return child(element, "gradientFill") is not None
    color = child(pattern, "fgColor")
    # a colour of the theme or palette counts as a fill, since it may be dark
    is_none = (pattern.get("patternType") or "none") == "none"
    return not is_none and (attribute(color, "rgb") or "").upper() not in _WHITE


def _whole(text: str | None) -> int:
    """Return the number of a style; 0, the default, unless the text has one to nine digits."""
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 10 else 0
