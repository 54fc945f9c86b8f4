"""Reads the styles of a Word file, which determine hidden text, fonts and list numbers."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from conflictscore.retrieval.reading.ooxml import (
    FALSE,
    attribute,
    child,
    children,
    name_of,
    number_of,
    value_of,
)

_HIDING = ("vanish", "strike", "dstrike")
_DEEPEST = 12
"""Maximum length of a chain of styles, each based on the next; a damaged file may have a cycle.
Chosen by hand."""
# Colours that the eye cannot distinguish from white; chosen by hand.
_WHITE = frozenset(("ffffff", "fefefe", "fdfdfd", "fcfcfc"))
# Values that Word writes for a background that is white or has no colour.
_NO_FILL = frozenset(("auto", "ffffff", "", "none"))
# Values for shading without a pattern. A pattern is drawn over the background in another colour.
_NO_PATTERN = frozenset(("clear", "nil"))
_HIGHLIGHTS = {
    "black": "000000", "blue": "0000ff", "cyan": "00ffff", "green": "00ff00",
    "magenta": "ff00ff", "red": "ff0000", "yellow": "ffff00", "darkBlue": "000080",
    "darkCyan": "008080", "darkGreen": "008000", "darkMagenta": "800080", "darkRed": "800000",
    "darkYellow": "808000", "darkGray": "808080", "lightGray": "c0c0c0",
}  # fmt: skip
_RAISED = 6
"""Minimum shift of a superscript or subscript, in half points; chosen by hand."""
_SMALLEST = 4
"""Minimum visible font size, in half points; chosen by hand."""


class Styles:
    """The styles of a document, which apply to its runs and paragraphs."""

    def __init__(self, tree: Element | None) -> None:
        self._styles = {
            attribute(style, "styleId") or "": style
            for style in children(tree)
            if name_of(style) == "style"
        }
        self._default = next(
            (
                name
                for name, style in self._styles.items()
                if attribute(style, "type") == "paragraph"
                and attribute(style, "default") in ("1", "true", "on")
            ),
            "",
        )

    def layers(self, style: str | None) -> Iterator[Element]:
        """Yield a style and the styles that it is based on, nearest first."""
        name = style or ""
        for _ in range(_DEEPEST):
            definition = self._styles.get(name)
            if definition is None:
                return
            yield definition
            name = value_of(definition, "basedOn") or ""

    def hides(self, paragraph: Element | None, run: Element | None, dark_ground: bool) -> bool:
        """Return whether a run's text is hidden, struck out, too small, or white on white.

        In all methods, ``paragraph`` and ``run`` are properties (``pPr`` and ``rPr``).
        ``dark_ground`` says whether the run's background may be dark.
        """
        looks = list(self._looks(paragraph, run))
        if _is_struck_or_tiny(looks):
            return True
        grounds = [*looks, *self._paragraph_looks(paragraph)]
        if _is_blacked_out(looks, grounds):
            return True
        if dark_ground or not _is_white(_nearest(looks, "color")):
            return False
        return not any(map(has_fill, grounds))

    def font(self, paragraph: Element | None, run: Element | None) -> str:
        """Return the font of a run's Latin letters; if empty, the default font is used."""
        for looks in self._looks(paragraph, run):
            fonts = child(looks, "rFonts")
            if name := attribute(fonts, "ascii") or attribute(fonts, "hAnsi"):
                return name
        return ""

    def raised(self, paragraph: Element | None, run: Element | None) -> str:
        """Return the position of a run: ``superscript``, ``subscript`` or empty."""
        for looks in self._looks(paragraph, run):
            if place := value_of(looks, "vertAlign"):
                return place
            height = number_of(looks, "position", default=0)
            if abs(height) >= _RAISED:
                return "superscript" if height > 0 else "subscript"
        return ""

    def list_of(self, paragraph: Element | None) -> tuple[str, int | str] | None:
        """Return the number of a paragraph's list and its level in the list; None outside lists.

        If neither the paragraph nor its style states the level, the style's name is returned
        instead of the level, since the list may link a level to the style.
        """
        layers = [paragraph, *(child(each, "pPr") for each in self._paragraph_styles(paragraph))]
        number = level = None
        for layer in layers:
            properties = child(layer, "numPr")
            number = value_of(properties, "numId") if number is None else number
            level = value_of(properties, "ilvl") if level is None else level
        if number is None:
            return None
        if level is None:
            return number, value_of(paragraph, "pStyle") or self._default
        return number, int(level) if level.isdecimal() else 0

    def fills_table(self, table: Element) -> bool:
        """Return whether a table's style gives any of its cells a background."""
        style = value_of(table, "tblPr", "tblStyle")
        return any(has_fill(part) for layer in self.layers(style) for part in layer.iter())

    def _paragraph_styles(self, paragraph: Element | None) -> Iterator[Element]:
        return self.layers(value_of(paragraph, "pStyle") or self._default)

    def _paragraph_looks(self, paragraph: Element | None) -> Iterator[Element]:
        if paragraph is not None:
            yield paragraph
        for layer in self._paragraph_styles(paragraph):
            if (looks := child(layer, "pPr")) is not None:
                yield looks

    def _looks(self, paragraph: Element | None, run: Element | None) -> Iterator[Element]:
        """Yield the properties that apply to a run, nearest first."""
        if run is not None:
            yield run
        for layer in (*self.layers(value_of(run, "rStyle")), *self._paragraph_styles(paragraph)):
            if (looks := child(layer, "rPr")) is not None:
                yield looks


def _nearest(looks: list[Element], name: str) -> Element | None:
    """Return a setting from the nearest properties that have it; this is the one that applies."""
    return next((part for each in looks if (part := child(each, name)) is not None), None)


def _is_struck_or_tiny(looks: list[Element]) -> bool:
    """Return whether the properties hide a run, strike it through, or make it too small to read."""
    for name in _HIDING:
        setting = _nearest(looks, name)
        if setting is not None and attribute(setting, "val") not in FALSE:
            return True
    size = next((points for each in looks if (points := value_of(each, "sz"))), "")
    return size.isdecimal() and int(size) < _SMALLEST


def _is_blacked_out(looks: list[Element], grounds: list[Element]) -> bool:
    """Return whether text has the same colour as its background, as in a blacked-out passage."""
    color = (attribute(_nearest(looks, "color"), "val") or "").lower()
    if color in ("", "auto") or color in _WHITE:  # white text has a rule of its own, in ``hides``
        return False
    highlight = attribute(_nearest(looks, "highlight"), "val") or "none"
    if highlight != "none":  # a highlight covers the background
        return _HIGHLIGHTS.get(highlight) == color
    shading = _nearest(grounds, "shd")
    return (attribute(shading, "fill") or "").lower() == color


def has_fill(properties: Element | None) -> bool:
    """Return whether a run, paragraph or cell has a background that is not white."""
    shading = child(properties, "shd")
    fill = (attribute(shading, "fill") or "").lower()
    if shading is not None and (fill not in _NO_FILL or attribute(shading, "themeFill")):
        return True
    if (attribute(shading, "val") or "nil") not in _NO_PATTERN:
        return True
    return (value_of(properties, "highlight") or "none") not in ("none", "white")


def _is_white(color: Element | None) -> bool:
    if color is None:
        return False
    theme = attribute(color, "themeColor")
    if theme:
        # a shade makes the theme's white darker
        return theme in ("background1", "light1") and not attribute(color, "themeShade")
    return (attribute(color, "val") or "").lower() in _WHITE
