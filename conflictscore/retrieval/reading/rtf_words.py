"""The control words of Rich Text files (.rtf), and the parts of a document while it is read."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple
from xml.etree.ElementTree import Element  # used only to create elements

from conflictscore.retrieval.shaping.table_columns import Cell, grid, table_lines

# The tokens of RTF: control words with a number, hexadecimal bytes, escaped characters, braces and
# text. Numbers have at most 32 bits, so ten digits. A backslash alone can only end the file.
TOKEN = re.compile(
    rb"\\(?P<word>[a-zA-Z]{1,32})(?P<number>-?[0-9]{1,10})? ?|\\'(?P<code>[0-9a-fA-F]{2})"
    rb"|\\(?P<sign>[^a-zA-Z])|(?P<brace>[{}])|(?P<break>[\r\n]+)|(?P<text>[^\\{}\r\n]+)|\\",
)
UNTOUCHED = 25
"""The state of a check box that nobody has changed."""
MOST_GROUPS = 1_000
"""Maximum depth of nested groups; a hostile file may nest any number. Chosen by hand."""
_NEAR = 20
"""Maximum distance, in twentieths of a point, between cell edges of the same column; chosen by
hand."""
_MOST_COLUMNS = 200
"""Maximum number of column edges in a table. If there are more, none is used, since a hostile file
may state any number. Chosen by hand."""
# Words that stand for signs. A nested table is read as text of the cell that contains it, so its
# cells and rows end with a space.
SIGNS = {
    "tab": "\t", "line": "\n", "lbr": "\n",
    "emdash": "\u2014", "endash": "\u2013", "lquote": "\u2018",
    "rquote": "\u2019", "ldblquote": "\u201c", "rdblquote": "\u201d", "bullet": "\u2022",
    "emspace": "\u2003", "enspace": "\u2002", "qmspace": "\u2005", "nestcell": " ", "nestrow": " ",
}  # fmt: skip
# Signs after a backslash: a space and a hyphen that do not break the line, and a possible hyphen.
ESCAPED = {"~": "\u00a0", "_": "\u2011", "-": ""}
# Destinations that are not shown, or that repeat a shape or picture for older programs.
SKIPPED = frozenset(
    (
        "stylesheet", "listtable", "listoverridetable", "rsidtbl", "pn",
        "nonshppict", "shprslt", "objdata", "sn", "sv", "filetbl", "xmlnstbl", "objclass",
        "objname", "bkmkstart", "bkmkend", "template", "xe", "tc", "atnid", "atnauthor",
    )
)  # fmt: skip
STARRED = frozenset(
    ("shppict", "shpinst", "annotation", "ud", "nesttableprops", "fldinst", "moMath", "background")
)
"""Destinations that are marked as optional but are read anyway, since they contain text or objects
to count."""
# Headers and footers: of all pages, of left, right and first pages.
MARGINS = ("header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf")
PARTS = {
    **dict.fromkeys(MARGINS, "margins"),
    "title": "title",
    "fonttbl": "font",
    "info": "other properties",
}
"""Maps the first word of a group to the part of the document that the group contains.

Of the document's properties, only the title is read.
"""
SWITCHES = {
    "v": "is_hidden", "strike": "is_struck", "striked": "is_struck", "deleted": "is_deleted",
}  # fmt: skip
"""Maps the words that turn a setting on or off to the name of the setting."""
_MOST_COLORS = 10_000  # chosen by hand; a hostile file may define any number
_BLACK = (0, 0, 0)
# Encodings by the number of a font's character set (``fcharset``).
CHARSETS = {
    0: "cp1252", 77: "mac_roman", 128: "cp932", 129: "cp949", 134: "gbk", 136: "big5",
    161: "cp1253", 162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257",
    204: "cp1251", 222: "cp874", 238: "cp1250", 254: "cp437",
}  # fmt: skip


@dataclass(slots=True)
class RtfField:
    """A field: its instruction, whether its result has text, and its check box if it has one."""

    outer: "RtfField | None"
    instruction: list[str] = field(default_factory=list)
    shows: bool = False
    is_check_box: bool = False
    box: dict[str, int] = field(default_factory=dict)

    def is_checked(self) -> bool:
        """Return whether the check box is checked, initially or by a reader who changed it."""
        now = self.box.get("now", UNTOUCHED)
        return (self.box.get("first", 0) if now == UNTOUCHED else now) == 1


@dataclass(slots=True)
class RtfState:
    """How the text of a group is shown, and the part of the document to which it belongs."""

    part: str = "body"
    is_hidden: bool = False
    is_struck: bool = False
    is_deleted: bool = False
    position: str = ""
    font: int = -1
    skips: int = 1
    """How many characters after a Unicode character replace it in older programs."""
    is_new: bool = False
    """Whether the group has just begun, so that its first word may name a part."""
    is_optional: bool = False
    """Whether a program may skip the group if it does not know the next word."""
    field: RtfField | None = None
    formula: Element | None = None
    color: int = 0
    ground: int = 0
    """The number of the colour behind the text; 0 if none is set."""
    is_painted: bool = False
    """Whether every program paints the colour behind the text. Word ignores a colour set by
    ``cb``."""
    in_shape: bool = False
    in_table: bool = False
    is_filled: bool = False
    """Whether the paragraph has a background."""
    part_of_both: str = ""
    """For a text that is stored twice, in ANSI and in Unicode: the part to which it belongs."""


class RtfCell(NamedTuple):
    """A cell of a table row.

    ``merges`` says whether the cell continues the cell before it (``across``) or above it
    (``down``). ``right`` is the position of the cell's right edge, in twentieths of a point; 0 if
    it is not stated.
    """

    text: str
    merges: str
    right: int


@dataclass(slots=True)
class RtfPart:
    """A part of a document: its finished lines, its unfinished line, and its unfinished table."""

    lines: list[str] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)
    rows: list[list[RtfCell]] = field(default_factory=list)
    headers: int = 0

    def line(self) -> str:
        """Return the unfinished line and start a new one."""
        # RTF writes a character above U+FFFF as two surrogates, which UTF-16 joins
        text = "".join(self.pieces).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        self.pieces = []
        return text

    def close_table(self) -> None:
        """Finish the current table and add its lines."""
        self.lines += table_lines(grid(_spanning(self.rows)), self.headers)
        self.rows, self.headers = [], 0

    def close_line(self) -> None:
        """Finish the current line, and first add the table that precedes it.

        An empty line in a cell does not end a table, since some programs do not mark the paragraphs
        of cells.
        """
        text = self.line().strip()
        if text or not self.cells:
            self.close_table()
        if text:
            self.lines.append(text)


def _spanning(rows: list[list[RtfCell]]) -> Iterator[list[Cell]]:
    """Yield the rows of a table with the columns that each cell spans.

    A cell that continues the cell above it gets that cell's text.
    """
    edges = _edges(rows)
    above: dict[int, str] = {}
    for row in rows:
        cells: list[Cell] = []
        texts: dict[int, str] = {}
        column = 0
        for text, merges, right in row:
            end = max(column, bisect_left(edges, right - _NEAR)) + 1 if edges else column + 1
            shown = above.get(column, "") if merges == "down" else text
            if merges == "across" and cells:
                shown = cells[-1].text
                cells[-1] = cells[-1]._replace(columns=cells[-1].columns + end - column)
            else:
                cells.append(Cell(shown, end - column))
            texts |= dict.fromkeys(range(column, end), shown)
            column = end
        above = texts
        yield cells


def _edges(rows: list[list[RtfCell]]) -> list[int]:
    """Return the right edges of a table's columns, in ascending order.

    The list is empty if all rows have the same number of cells, since edges are then not needed.
    The list is also empty if a row does not state the edges of its cells.
    """
    if len({*map(len, rows)}) < 2:
        return []
    for row in rows:
        if any(before.right >= after.right for before, after in pairwise(row)):
            return []
    edges: list[int] = []
    for right in sorted({cell.right for row in rows for cell in row}):
        if not edges or right - edges[-1] > _NEAR:
            edges.append(right)
    return edges if len(edges) <= _MOST_COLUMNS else []


class RtfColors:
    """The colours that a document defines, by number; number 0 is the default text colour."""

    def __init__(self) -> None:
        self._colors: list[list[int]] = [[*_BLACK]]

    def define(self, count: int) -> None:
        """Begin the definition of the next colour, ``count`` times."""
        room = _MOST_COLORS - len(self._colors)
        self._colors += ([*_BLACK] for _ in range(min(count, room)))

    def mix(self, place: int, number: int | None) -> None:
        """Set the red (0), green (1) or blue (2) of the colour that is being defined."""
        self._colors[-1][place] = number or 0

    def of(self, number: int) -> Sequence[int]:
        """Return the red, green and blue of a colour; black if it is not defined."""
        return self._colors[number] if 0 <= number < len(self._colors) else _BLACK


class RtfRows:
    """Collects the rows of a table in a part of a document."""

    def __init__(self, part: RtfPart) -> None:
        self._part, self.is_filled = part, False
        self._defined: list[tuple[str, int]] = []
        self._merges = ""

    def end_cell(self) -> None:
        """End a cell of a table."""
        self._part.cells.append(" ".join(self._part.line().split()))

    def end_row(self) -> None:
        """End a row; the file defines a row's cells before their texts."""
        defined = [*self._defined, *[("", 0)] * len(self._part.cells)]
        self._part.rows.append(
            [RtfCell(text, *defined[place]) for place, text in enumerate(self._part.cells)]
        )
        self._part.cells = []

    def begin_row(self) -> None:
        """Begin the definition of a row."""
        self.is_filled = False
        self._defined, self._merges = [], ""

    def merge_across(self) -> None:
        """Merge the cell that is being defined with the cell before it."""
        self._merges = "across"

    def merge_down(self) -> None:
        """Merge the cell that is being defined with the cell above it."""
        self._merges = "down"

    def define_cell(self, right: int | None) -> None:
        """End the definition of a cell, whose right edge is at this position."""
        self._defined.append((self._merges, right or 0))
        self._merges = ""

    def head(self) -> None:
        """Make the row a header if all rows above it are headers."""
        self._part.headers += self._part.headers == len(self._part.rows)


def _begin_field(state: RtfState) -> None:
    state.field = RtfField(state.field)


def _begin_formula(state: RtfState) -> None:
    state.part, state.formula = "formula", Element("oMath")


def _begin_instruction(state: RtfState) -> None:
    state.part = "instruction" if state.field is not None else "skipped"


def _begin_shape(state: RtfState) -> None:
    state.in_shape = True


def _begin_both(state: RtfState) -> None:
    state.part_of_both, state.part = state.part, "ansi"


def _begin_unicode(state: RtfState) -> None:
    state.part = state.part_of_both or state.part


def _begin_colors(state: RtfState) -> None:
    state.part = "colors"


DESTINATIONS: dict[str, Callable[[RtfState], None]] = {
    "field": _begin_field,
    "fldinst": _begin_instruction,
    "moMath": _begin_formula,
    "shpinst": _begin_shape,
    "colortbl": _begin_colors,
    "upr": _begin_both,
    "ud": _begin_unicode,
}
"""Maps the first word of a group to a function that begins a field, a formula, a shape, the
colours, or a text that is stored twice."""
