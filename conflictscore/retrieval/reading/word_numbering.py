"""Computes the numbers that Word draws before paragraphs of lists, clauses and headings."""

import re
from collections.abc import Callable
from typing import NamedTuple
from xml.etree.ElementTree import Element

from conflictscore.retrieval.reading.ooxml import (
    attribute,
    child,
    children,
    is_on,
    name_of,
    number_of,
    value_of,
)
from conflictscore.retrieval.shaping.counting import letters, ordinal, roman
from conflictscore.retrieval.shaping.numerals import in_form
from conflictscore.retrieval.shaping.symbol_fonts import signs_of

# The place of a level's number in the text of a list: "%1.%2".
_PLACE = re.compile(r"%([1-9])")
_LEVELS = 9  # the number of levels of every list in Word
_NONE = "0"
"""The list number of a paragraph that is excluded from its style's list."""


class _Level(NamedTuple):
    """A level of a list: the first number, the numbering style, and the text around the numbers."""

    start: int
    form: str
    text: str
    restarts_after: int
    """The level is restarted by items at levels 1 to this number.

    If the number is 0, no item restarts the level. If it is -1, items at every higher level do.
    """
    plain_digits: bool
    """Whether the label shows the numbers of all levels as digits, whatever their style."""
    font: str
    style: str
    """The paragraph style that is linked to this level; empty if there is none."""


class Numbering:
    """Counts the paragraphs of a document's lists in the order in which they are passed."""

    def __init__(self, tree: Element | None) -> None:
        definitions = {
            attribute(each, "abstractNumId") or "": each
            for each in children(tree)
            if name_of(each) == "abstractNum"
        }
        by_style = {
            style: name
            for name, definition in definitions.items()
            if (style := value_of(definition, "styleLink"))
        }
        self._levels: dict[str, list[_Level]] = {}
        self._shared: dict[str, str] = {}
        """Maps each list number to the key of its counter; lists with the same key are counted
        together."""
        for each in children(tree):
            if name_of(each) == "num":
                self._add_list(each, definitions, by_style)
        self._counts: dict[str, list[int]] = {}
        """The last number at each level of a list; -1 if the level has not begun."""

    def level_of(self, number: str, style: str) -> int:
        """Return the level of a list to which a paragraph style is linked; 0 if there is none."""
        levels = enumerate(self._levels.get(number, []))
        return next((place for place, level in levels if style and level.style == style), 0)

    def _add_list(
        self, element: Element, definitions: dict[str, Element], by_style: dict[str, str]
    ) -> None:
        """Record a list's levels, and the key of its counter.

        Instead of levels, a definition may contain a reference to a style's definition. A list that
        restarts has its own counter. All other lists with the same definition are counted together.
        """
        number = attribute(element, "numId") or ""
        name = value_of(element, "abstractNumId") or ""
        name = by_style.get(value_of(definitions.get(name), "numStyleLink") or "", name)
        overrides = {
            attribute(part, "ilvl") or "0": part
            for part in children(element)
            if name_of(part) == "lvlOverride"
        }
        self._levels[number] = _levels(definitions.get(name), overrides)
        begins_anew = any(child(part, "startOverride") is not None for part in overrides.values())
        # "!" makes the key unique, since definitions are named by numbers
        self._shared[number] = f"{number}!" if begins_anew else name

    def mark(self, number: str, level: int) -> str:
        """Count the next paragraph of a list and return its label, such as ``1.2`` or ``(a)``."""
        levels = self._levels.get(number, [])
        if number == _NONE or not 0 <= level < len(levels):
            return ""
        counts = self._counts.setdefault(self._shared[number], [-1] * _LEVELS)
        own = levels[level]
        counts[level] = own.start if counts[level] < 0 else counts[level] + 1
        for above in range(level):
            if counts[above] < 0:  # the list begins with a deeper level, which begins this one too
                counts[above] = levels[above].start
        for below in range(level + 1, len(levels)):
            after = levels[below].restarts_after
            if after < 0 or (after and level < after):
                counts[below] = -1
        if own.form == "bullet":
            return _bullet(own)
        return _PLACE.sub(lambda place: _shown(levels, counts, int(place[1]) - 1, own), own.text)


def _shown(levels: list[_Level], counts: list[int], level: int, own: _Level) -> str:
    if level >= len(levels):
        return ""
    form = "decimal" if own.plain_digits else levels[level].form
    number = max(0, counts[level])  # a label may name a deeper level, which has not begun
    return _FORMS[form](number) if form in _FORMS else in_form(number, form)


def _bullet(level: _Level) -> str:
    sign = signs_of(level.font, map(ord, level.text))
    # the characters that draw Word's usual bullets; "o" stands for an empty circle
    return "•" if sign in ("·", "∙", "●", "\ufffd", "▪", "o", "") else sign


def _levels(definition: Element | None, overrides: dict[str, Element]) -> list[_Level]:
    """Return the nine levels of a list; an override replaces a level or its first number."""
    own_levels = {
        attribute(each, "ilvl") or "0": each
        for each in children(definition)
        if name_of(each) == "lvl"
    }
    levels: list[_Level] = []
    for place in map(str, range(_LEVELS)):
        override = overrides.get(place)
        level = child(override, "lvl")
        level = own_levels.get(place) if level is None else level
        start = number_of(level, "start", default=0)  # the format's default
        fonts = child(level, "rPr", "rFonts")
        levels.append(
            _Level(
                start=number_of(override, "startOverride", default=start),
                form=value_of(level, "numFmt") or "decimal",
                text=value_of(level, "lvlText") or "",
                restarts_after=number_of(level, "lvlRestart", default=-1),
                plain_digits=is_on(level, "isLgl"),
                font=attribute(fonts, "ascii") or attribute(fonts, "hAnsi") or "",
                style=value_of(level, "pStyle") or "",
            )
        )
    return levels


_FORMS: dict[str, Callable[[int], str]] = {
    "decimalZero": lambda number: f"{number:02}",
    "upperRoman": lambda number: roman(number).upper(),
    "lowerRoman": roman,
    "upperLetter": lambda number: letters(number, double=True).upper(),
    "lowerLetter": lambda number: letters(number, double=True),
    "ordinal": ordinal,
    "none": lambda _: "",
}
