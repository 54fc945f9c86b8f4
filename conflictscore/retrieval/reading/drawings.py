"""Reads the shapes drawn on slides and spreadsheets: texts, tables, pictures and charts.

Limits without a stated reason were chosen by hand.
"""

from collections import Counter
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from conflictscore.retrieval.reading.ooxml import (
    Package,
    attribute,
    chart_title,
    child,
    children,
    diagram_texts,
    name_of,
)
from conflictscore.retrieval.reading.texts import mark
from conflictscore.retrieval.reading.word_formulas import formula
from conflictscore.retrieval.shaping.counting import letters, roman
from conflictscore.retrieval.shaping.formulas import raised
from conflictscore.retrieval.shaping.symbol_fonts import (
    answer_of,
    is_private,
    is_symbol_font,
    with_signs,
)
from conflictscore.retrieval.shaping.table_columns import Cell, grid, table_lines

_DEEPEST = 30
"""Maximum depth of nested groups of shapes; a hostile file could exhaust the stack."""
_STRUCK = ("sngStrike", "dblStrike")
_OBJECTS = {"chart": "chart", "oleObj": "embedded object", "contentPart": "drawing by hand"}
_LEVELS = frozenset("012345678")  # The nine levels of paragraphs.
# Functions that write numbers, by the first seven letters of a style such as "alphaLcPeriod".
_NUMBERS = {"alphaLc": letters, "romanLc": roman, "alphaUc": letters, "romanUc": roman}


class Drawing:
    """Reads the shapes in a part of a file, and counts shapes without words in ``not_in_words``."""

    def __init__(self, package: Package, part: str, not_in_words: Counter[str]) -> None:
        self._package, self._related = package, package.related(part)
        self._not_in_words, self._name = not_in_words, part

    def labels(self) -> dict[str, str]:
        """Map each shape's id to its text, including hidden shapes, which label controls."""
        root = self._package.part(self._name)
        return {
            attribute(properties_of(shape), "id") or "": " ".join(self.text(child(shape, "txBody")))
            for shape in (root.iter() if root is not None else ())
            if name_of(shape) == "sp"
        }

    def lines(self, shape: Element, depth: int = 0) -> list[str]:
        """Return the lines of a shape, or of all shapes in a group; empty for a hidden shape."""
        kind, about = name_of(shape), properties_of(shape)
        if depth > _DEEPEST:
            raise ValueError(f"its groups are nested more than {_DEEPEST} deep")
        if is_true(about, "hidden"):
            return []
        if kind == "AlternateContent":
            forms = (self._of_children(form, depth) for form in shape)
            return next((lines for lines in forms if lines), [])
        if kind in ("grpSp", "twoCellAnchor", "oneCellAnchor", "absoluteAnchor"):
            return self._of_children(shape, depth)
        if kind == "graphicFrame":
            return self._framed(shape, about)
        if kind == "pic":
            return self._mark("video" if _plays(shape) else "picture", about)
        if kind == "contentPart":
            return self._mark(_OBJECTS[kind], about)
        if kind not in ("sp", "cxnSp"):  # neither a shape nor a connector
            return []
        is_picture = child(shape, "spPr", "blipFill") is not None
        picture = self._mark("picture", about) if is_picture else []
        return [*picture, *self.text(child(shape, "txBody"))]

    def text(self, body: Element | None) -> list[str]:
        """Return the lines of a text, with numbers before numbered paragraphs."""
        lines: list[str] = []
        numbers: dict[int, tuple[str, int]] = {}
        for paragraph in children(body):
            if name_of(paragraph) != "p":
                continue
            text = "".join(self._inline(paragraph)).strip()
            if text:
                number = _number(body, child(paragraph, "pPr"), numbers)
                lines += filter(str.strip, f"{number}{text}".split("\n"))
        return lines

    def _of_children(self, group: Element, depth: int) -> list[str]:
        return [line for shape in group for line in self.lines(shape, depth + 1)]

    def _framed(self, frame: Element, about: Element | None) -> list[str]:
        """Return the lines of a table, or the placeholder for a chart or other object."""
        for content in children(child(frame, "graphic", "graphicData")):
            kind = name_of(content)
            if kind == "tbl":
                return list(self._table(content))
            if kind == "chart":
                return self._chart(content, about)
            if kind == "relIds":
                part = self._part(attribute(content, "dm"))
                self._not_in_words["diagram"] += 1
                return [f"[diagram: {'; '.join(diagram_texts(part))}]"]
            # an embedded object is stored in two forms, for older and newer programs
            if kind == "AlternateContent":
                return self._mark(_OBJECTS["oleObj"], about)
            return self._mark(_OBJECTS.get(kind, "object"), about)
        return []

    def _table(self, table: Element) -> Iterator[str]:
        rows = [
            [
                Cell(
                    " ".join(self.text(child(cell, "txBody"))),
                    _span(cell, "gridSpan"),
                    _span(cell, "rowSpan"),
                )
                for cell in row
                if name_of(cell) == "tc" and not _is_covered(cell)
            ]
            for row in table
            if name_of(row) == "tr"
        ]
        headers = int(is_true(child(table, "tblPr"), "firstRow"))
        yield from table_lines(grid(rows), headers)

    def _chart(self, content: Element, about: Element | None) -> list[str]:
        return self._mark("chart", about, chart_title(self._part(attribute(content, "id"))))

    def _part(self, relation: str | None) -> Element | None:
        return self._package.part(self._related.get(relation or "", ("", ""))[1])

    def _mark(self, kind: str, about: Element | None, title: str = "") -> list[str]:
        """Return the placeholder for an object without words, with a title or alternative text."""
        if _is_decoration(about):
            return []
        self._not_in_words[kind] += 1
        return [mark(kind, title.strip() or attribute(about, "descr") or "")]

    def _inline(self, parent: Element) -> Iterator[str]:
        """Yield the pieces of text in a paragraph."""
        for each in parent:
            name = name_of(each)
            if name in ("r", "fld"):
                yield self._run(each)
            elif name == "br":
                yield "\n"
            elif name == "oMath":
                yield formula(each)
            elif name == "AlternateContent":
                # the first form is for the newest programs; the others repeat it
                yield from self._inline(each[0] if len(each) else each)
            elif name in ("m", "oMathPara"):
                yield from self._inline(each)

    def _run(self, run: Element) -> str:
        looks = child(run, "rPr")
        if attribute(looks, "strike") in _STRUCK:
            return ""
        text = "".join(each.text or "" for each in run if name_of(each) == "t")
        # a line break in a title is a vertical tab, which XML can only contain in this form
        text = self._signs(text.replace("_x000B_", "\n"), looks)
        # the offset is written as 30000 or as 30%; zero means not shifted
        height = attribute(looks, "baseline") or "0"
        is_raised = any(digit in "123456789" for digit in height)
        return raised(text, "_" if height.startswith("-") else "^") if is_raised else text

    def _signs(self, text: str, looks: Element | None) -> str:
        """Return the text of a run with the symbols that its font draws.

        The font for symbols (``sym``) draws only characters that have no meaning in Unicode.
        """
        has_private = any(is_private(ord(character)) for character in text)
        names = ("latin", "sym") if has_private else ("latin",)
        fonts = (attribute(child(looks, name), "typeface") or "" for name in names)
        font = next(filter(is_symbol_font, fonts), "")
        return with_signs(text, font, self._not_in_words)


def properties_of(shape: Element) -> Element | None:
    """Return the properties that every kind of shape has, such as its name and alternative text."""
    parts = (child(each, "cNvPr") for each in shape if name_of(each).startswith("nv"))
    return next((part for part in parts if part is not None), None)


def _span(cell: Element, name: str) -> int:
    number = cell.get(name) or ""
    # a hostile file may contain a number of any length
    return int(number[:5]) if number.isascii() and number.isdecimal() else 1


def _is_covered(cell: Element) -> bool:
    """Return whether a merged neighbour covers this cell."""
    return is_true(cell, "hMerge") or is_true(cell, "vMerge")


def is_true(element: Element | None, name: str) -> bool:
    """Return whether an attribute is set to true."""
    return (attribute(element, name) or "") in ("1", "true", "on")


def _is_decoration(about: Element | None) -> bool:
    """Return whether the author marked a picture as decorative."""
    extensions = about.iter() if about is not None else ()
    return any(name_of(each) == "decorative" and is_true(each, "val") for each in extensions)


def _plays(picture: Element) -> bool:
    return any(name_of(each) == "videoFile" for each in picture.iter())


def _number(
    body: Element | None, paragraph: Element | None, numbers: dict[int, tuple[str, int]]
) -> str:
    """Return the number before a paragraph; empty outside numbered lists.

    ``numbers`` contains the kind and last number of each level, and is updated here.
    """
    level = _level(paragraph)
    for deeper in [each for each in numbers if each > level]:
        del numbers[deeper]
    of_body = child(body, "lstStyle", f"lvl{level + 1}pPr")
    bullet = _bullet(paragraph) if _bullet(paragraph) is not None else _bullet(of_body)
    if bullet is None or name_of(bullet) != "buAutoNum":
        numbers.pop(level, None)
        return _answer(bullet, child(paragraph, "buFont"), child(of_body, "buFont"))
    kind, start = bullet.get("type") or "arabicPeriod", bullet.get("startAt") or "1"
    # a hostile file may contain a number of any length
    first = int(start[:5]) if start.isascii() and start.isdecimal() else 1
    last = numbers.get(level, ("", 0))
    # another style or first number begins a new list
    number = last[1] + 1 if last[0] == f"{kind}{first}" else first
    numbers[level] = f"{kind}{first}", number
    return f"{_written(number, kind)} "


def _bullet(looks: Element | None) -> Element | None:
    kinds = ("buNone", "buChar", "buBlip", "buAutoNum")
    return next((each for each in children(looks) if name_of(each) in kinds), None)


def _answer(bullet: Element | None, *fonts: Element | None) -> str:
    """Return a bullet that means yes or no, followed by a space; empty for other bullets."""
    names = (attribute(font, "typeface") for font in fonts)
    sign = answer_of(next(filter(None, names), ""), attribute(bullet, "char") or "")
    return f"{sign} " if sign else ""


def _level(paragraph: Element | None) -> int:
    level = attribute(paragraph, "lvl") or "0"
    return int(level) if level in _LEVELS else 0


def _written(number: int, kind: str) -> str:
    """Return a number in a numbering style such as ``romanLcParenBoth``."""
    # the first seven letters are alphaLc, romanUc and so on; other styles are written in digits
    style = kind[:7]
    text = _NUMBERS[style](number) if style in _NUMBERS else str(number)
    text = text.upper() if style.endswith("Uc") else text
    if kind.endswith("ParenBoth"):
        return f"({text})"
    return f"{text})" if kind.endswith("ParenR") else text if kind.endswith("Plain") else f"{text}."
