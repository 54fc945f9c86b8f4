"""Reads the styles of an OpenDocument file: hidden and struck-out text, fonts, and list numbers.

Limits without a stated reason were chosen by hand.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple
from xml.etree.ElementTree import Element

from conflictscore.retrieval.reading.ooxml import attribute, child, children, name_of
from conflictscore.retrieval.shaping.counting import letters, roman
from conflictscore.retrieval.shaping.symbol_fonts import answer_of

_DEEPEST = 12
"""Maximum length of a chain of styles, each based on the next; a damaged file may have a cycle."""
_LEVEL_STYLES = ("list-level-style-number", "list-level-style-bullet", "outline-level-style")
_GROUNDS = ("text", "paragraph", "table-cell", "graphic")
# OpenDocument's codes for numbering styles.
_NUMBERS: dict[str, Callable[[int], str]] = {
    "1": str,
    "a": letters,
    "A": lambda number: letters(number).upper(),
    "i": roman,
    "I": lambda number: roman(number).upper(),
}


class Look(NamedTuple):
    """How a style shows text; ``position`` is "^" for a superscript and "_" for a subscript."""

    is_hidden: bool = False
    is_struck: bool = False
    position: str = ""
    font: str = ""
    css: str = ""


class OdtStyles:
    """The styles of a file by family and name, and its list styles by name."""

    def __init__(self, *trees: Element | None) -> None:
        self._styles: dict[tuple[str, str], Element] = {}
        self._lists: dict[str, Element] = {}
        self.outline: Element | None = None
        for style in (style for tree in trees for style in _style_elements(tree)):
            name = attribute(style, "name") or ""
            if name_of(style) == "style":
                self._styles[attribute(style, "family") or "", name] = style
            elif name_of(style) == "list-style":
                self._lists[name] = style
            elif name_of(style) == "outline-style":
                self.outline = style
        self._looks: dict[tuple[str, str], Look] = {}

    def look(self, family: str, name: str | None) -> Look:
        """Return how a style shows its text; ``family`` is a kind of style such as ``text``."""
        key = family, name or ""
        if key not in self._looks:
            self._looks[key] = _look(list(self._layers(*key)))
        return self._looks[key]

    def list_style(self, name: str | None) -> Element | None:
        """Return a list style by its name; None if there is no such style."""
        return self._lists.get(name or "")

    def _layers(self, family: str, name: str) -> Iterator[Element]:
        """Yield a style and the styles that it is based on, nearest first."""
        for _ in range(_DEEPEST):
            style = self._styles.get((family, name))
            if style is None:
                return
            yield style
            name = attribute(style, "parent-style-name") or ""


def _style_elements(tree: Element | None) -> Iterator[Element]:
    for part in children(tree):
        if name_of(part) in ("styles", "automatic-styles"):
            yield from part


def _look(layers: list[Element]) -> Look:
    def nearest(properties: str, name: str) -> str:
        settings = (attribute(child(layer, properties), name) for layer in layers)
        return next(filter(None, settings), "")

    # a file may state the style of the line (solid, dotted), its type (single, double), or both
    struck = nearest("text-properties", "text-line-through-style")
    struck = struck or nearest("text-properties", "text-line-through-type")
    place = nearest("text-properties", "text-position")
    lowered = place.startswith(("sub", "-"))
    # the value is "super" or a share of the line's height such as "33% 58%"; 0% is the baseline
    raised = not lowered and not place.startswith("0%") and place != ""
    grounds = (nearest(f"{part}-properties", "background-color") for part in _GROUNDS)
    ground = next(filter(None, grounds), "")
    css = {"color": nearest("text-properties", "color"), "background": ground}
    return Look(
        is_hidden=nearest("text-properties", "display") == "none",
        is_struck=struck not in ("", "none"),
        position="_" if lowered else "^" * raised,
        font=nearest("text-properties", "font-name"),
        css=";".join(f"{name}:{setting}" for name, setting in css.items() if setting),
    )


class ListNumbers:
    """Counts the items of a list, or the headings of a document, at each level."""

    def __init__(self, style: Element | None) -> None:
        self._levels = {
            attribute(level, "level") or "1": level
            for level in children(style)
            if name_of(level) in _LEVEL_STYLES
        }
        self._counts: dict[int, int] = {}

    def mark(self, level: int, start: str | None = None) -> str:
        """Return the label of the next item at a level (from 1); empty for bullets."""
        for deeper in [each for each in self._counts if each > level]:
            del self._counts[deeper]
        style = self._levels.get(str(level))
        first = _whole(attribute(style, "start-value"), default=1)
        number = self._counts[level] + 1 if level in self._counts else first
        self._counts[level] = _whole(start, default=number)
        if style is None:
            return ""
        if not attribute(style, "num-format"):  # bullets, or a level without numbers
            return _answer(style)
        shown = _whole(attribute(style, "display-levels"), default=1)
        numbers = (self._written(each) for each in range(max(1, level - shown + 1), level + 1))
        prefix, suffix = attribute(style, "num-prefix") or "", attribute(style, "num-suffix") or ""
        return f"{prefix}{'.'.join(filter(None, numbers))}{suffix} "

    def _written(self, level: int) -> str:
        kind = attribute(self._levels.get(str(level)), "num-format") or ""
        return _NUMBERS[kind](self._counts.get(level, 1)) if kind in _NUMBERS else ""


def _answer(style: Element) -> str:
    """Return a bullet that means yes or no, followed by a space; empty for other bullets."""
    properties = child(style, "text-properties")
    font = attribute(properties, "font-name") or attribute(properties, "font-family") or ""
    sign = answer_of(font, attribute(style, "bullet-char") or "")
    return f"{sign} " if sign else ""


def _whole(text: str | None, default: int) -> int:
    # six digits are enough for any list; a hostile file may contain many more
    is_number = text and text.isascii() and text.isdecimal() and len(text) < 7
    return int(text) if text and is_number else default
