"""The control words of Rich Text files (.rtf), and the parts of a document while it is read."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element  # only for making elements

from conflictscore.retrieval.shaping.table_columns import Cell, grid, table_lines

# The tokens of RTF: control words with a number, bytes in hexadecimal, escaped signs, braces and
# text.
TOKEN = re.compile(
    rb"\\(?P<word>[a-zA-Z]{1,32})(?P<number>-?[0-9]{1,9})? ?|\\'(?P<code>[0-9a-fA-F]{2})"
    rb"|\\(?P<sign>[^a-zA-Z])|(?P<brace>[{}])|[\r\n]+|(?P<text>[^\\{}\r\n]+)|\\",
    re.DOTALL,
)
UNTOUCHED = 25
"""The state of a check box that nobody has changed."""
MOST_GROUPS = 1_000
"""Maximum depth of nested groups."""
SIGNS = {
    "tab": "\t", "line": "\n", "emdash": "\u2014", "endash": "\u2013", "lquote": "\u2018",
    "rquote": "\u2019", "ldblquote": "\u201c", "rdblquote": "\u201d", "bullet": "\u2022",
    "emspace": "\u2003", "enspace": "\u2002", "nestcell": " ", "nestrow": " ",
}  # fmt: skip
ESCAPED = {"~": "\u00a0", "_": "\u2011", "-": "", "\n": "\n", "\r": "\n"}
SKIPPED = frozenset(
    (
        "stylesheet", "listtable", "listoverridetable", "rsidtbl", "pn",
        "nonshppict", "shprslt", "objdata", "sn", "sv", "author", "operator", "company", "comment",
        "doccomm", "category", "subject", "keywords", "creatim", "revtim", "printim", "buptim",
        "filetbl", "xmlnstbl", "objclass", "objname", "bkmkstart", "bkmkend", "template", "xe",
        "tc", "manager", "hlinkbase", "atnid", "atnauthor",
    )
)  # fmt: skip
STARRED = frozenset(
    ("shppict", "shpinst", "annotation", "ud", "nesttableprops", "fldinst", "moMath")
)
"""Destinations that are marked as optional but are read nevertheless, since they contain text or
objects to count."""
MARGINS = ("header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf")
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
        """Whether the check box is checked now or, if it was never touched, at first."""
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
    is_new: bool = False
    is_optional: bool = False
    field: RtfField | None = None
    formula: Element | None = None
    color: int = 0
    ground: int = 0
    in_shape: bool = False


@dataclass(slots=True)
class RtfPart:
    """A part of a document: its finished lines, its unfinished line, and its unfinished table."""

    lines: list[str] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)
    rows: list[list[Cell]] = field(default_factory=list)
    headers: int = 0

    def line(self) -> str:
        """Return the unfinished line and start a new one."""
        text = "".join(self.pieces).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        self.pieces = []
        return text

    def close_table(self) -> None:
        """Finish the current table and add its lines."""
        self.lines += table_lines(grid(self.rows), self.headers)
        self.rows, self.headers = [], 0

    def close_line(self) -> None:
        """Finish the current line; if it has text, first add the table that precedes it."""
        if text := self.line().strip():
            self.close_table()
            self.lines.append(text)


class RtfRows:
    """Collects the rows of a table with their merged cells."""

    def __init__(self, body: RtfPart) -> None:
        self._body, self.is_filled = body, False
        self._merged: list[str] = []
        self._merges = ""

    def end_cell(self) -> None:
        """End a cell of a table."""
        body = self._body
        body.cells.append(" ".join(body.line().split()))

    def end_row(self) -> None:
        """End a row; a merged cell gets the text of the cell before or above it."""
        body = self._body
        above = body.rows[-1] if body.rows else []
        row: list[Cell] = []
        for number, text in enumerate(body.cells):
            merged = self._merged[number] if number < len(self._merged) else ""
            if merged == "across" and row:
                row[-1] = row[-1]._replace(columns=row[-1].columns + 1)
            elif merged == "down" and number < len(above):
                row.append(above[number])
            else:
                row.append(Cell(text))
        body.rows.append(row)
        body.cells = []

    def begin_row(self) -> None:
        """Begin the definition of a row."""
        self.is_filled = False
        self._merged, self._merges = [], ""

    def merge_across(self) -> None:
        """Merge the cell that is being defined with the one before it."""
        self._merges = "across"

    def merge_down(self) -> None:
        """Merge the cell that is being defined with the one above it."""
        self._merges = "down"

    def define_cell(self) -> None:
        """End the definition of a cell."""
        self._merged.append(self._merges)
        self._merges = ""

    def head(self) -> None:
        """Make the row a header if all rows above it are headers."""
        body = self._body
        body.headers += body.headers == len(body.rows)


def _begin_field(state: RtfState) -> None:
    state.field = RtfField(state.field)


def _begin_formula(state: RtfState) -> None:
    state.part, state.formula = "formula", Element("oMath")


def _begin_instruction(state: RtfState) -> None:
    state.part = "instruction" if state.field is not None else "skipped"


def _begin_shape(state: RtfState) -> None:
    state.in_shape = True


def _begin_colors(state: RtfState) -> None:
    state.part = "colors"


DESTINATIONS: dict[str, Callable[[RtfState], None]] = {
    "field": _begin_field,
    "fldinst": _begin_instruction,
    "moMath": _begin_formula,
    "shpinst": _begin_shape,
    "colortbl": _begin_colors,
}
"""Functions that begin a field, a formula, a shape or the colours, by the first word of a group."""
