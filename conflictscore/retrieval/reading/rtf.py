"""Reads the text of a Rich Text file (.rtf) as it is shown.

This module interprets the control words itself, since the library striprtf keeps hidden and
struck-out text, drops footnotes, and reads "5 μg" as "5 mg".
"""

import codecs
import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

from conflictscore.retrieval.reading.texts import RichText, left_out_notes, mark
from conflictscore.retrieval.shaping.formulas import raised
from conflictscore.retrieval.shaping.symbol_fonts import with_signs
from conflictscore.retrieval.shaping.table_columns import Cell, grid, table_lines

# The tokens of RTF: control words with a number, bytes in hexadecimal, escaped signs, braces and
# text.
_TOKEN = re.compile(
    rb"\\(?P<word>[a-zA-Z]{1,32})(?P<number>-?[0-9]{1,9})? ?|\\'(?P<code>[0-9a-fA-F]{2})"
    rb"|\\(?P<sign>[^a-zA-Z])|(?P<brace>[{}])|[\r\n]+|(?P<text>[^\\{}\r\n]+)|\\",
    re.DOTALL,
)
_MOST_GROUPS = 1_000
"""Maximum depth of nested groups."""
_SIGNS = {
    "tab": "\t", "line": "\n", "emdash": "\u2014", "endash": "\u2013", "lquote": "\u2018",
    "rquote": "\u2019", "ldblquote": "\u201c", "rdblquote": "\u201d", "bullet": "\u2022",
    "emspace": "\u2003", "enspace": "\u2002", "nestcell": " ", "nestrow": " ",
}  # fmt: skip
_ESCAPED = {"~": "\u00a0", "_": "\u2011", "-": "", "\n": "\n", "\r": "\n"}
_SKIPPED = frozenset(
    (
        "colortbl", "stylesheet", "listtable", "listoverridetable", "rsidtbl", "fldinst", "pn",
        "nonshppict", "shprslt", "objdata", "sn", "sv", "author", "operator", "company", "comment",
        "doccomm", "category", "subject", "keywords", "creatim", "revtim", "printim", "buptim",
        "filetbl", "xmlnstbl", "objclass", "objname", "bkmkstart", "bkmkend", "template", "xe",
        "tc", "manager", "hlinkbase", "atnid", "atnauthor",
    )
)  # fmt: skip
_STARRED = frozenset(("shppict", "shpinst", "annotation", "ud", "nesttableprops"))
"""Destinations that are marked as optional but are read nevertheless, since they contain text or
objects to count."""
_MARGINS = ("header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf")
_CHARSETS = {
    0: "cp1252", 77: "mac_roman", 128: "cp932", 129: "cp949", 134: "gbk", 136: "big5",
    161: "cp1253", 162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257",
    204: "cp1251", 222: "cp874", 238: "cp1250", 254: "cp437",
}  # fmt: skip


def read_rtf(data: bytes) -> RichText:
    """Return the text of an .rtf file.

    Hidden, struck-out and deleted text is left out; superscripts and subscripts are marked, and
    footnotes follow the body. Headers and footers appear once.

    Raises:
        ValueError: The file is not an .rtf file, or its groups are nested too deeply.
    """
    if not data.lstrip()[:6].startswith(b"{\\rtf"):
        raise ValueError("it does not begin with {\\rtf")
    return _Walk(data).read()


@dataclass(slots=True)
class _State:
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


@dataclass(slots=True)
class _Part:
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


class _Walk:
    """Reads one document and collects the notes on it."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._state = _State()
        self._stack: list[_State] = []
        self._parts = {name: _Part() for name in ("body", "notes", "margins", "title")}
        self._not_in_words: Counter[str] = Counter()
        self._fonts: dict[int, tuple[str, str]] = {}
        self._font_codec = ""
        self._codec = "cp1252"
        self._bytes = bytearray()
        self._to_skip = self._notes = 0
        self._merged: list[str] = []
        self._merges = self._font_name = ""
        self._in_table = False

    def read(self) -> RichText:
        """Return the document's text, its title, and notes on content without words."""
        place = 0
        while match := _TOKEN.match(self._data, place):
            place = match.end()
            if match["code"]:
                self._byte(int(match["code"], 16))
                continue
            self._flush()
            if match["word"]:
                number = int(match["number"]) if match["number"] else None
                word = match["word"].decode()
                place += max(0, number or 0) if word == "bin" else 0
                self._control(word, number)
            elif match["brace"]:
                self._brace(match["brace"] == b"{")
            elif match["sign"]:
                self._sign(match["sign"].decode("latin-1"))
            elif match["text"]:
                self._plain(match["text"])
        self._flush()
        for part in self._parts.values():
            part.close_line()
            part.close_table()
        notes = (" ".join(line.split()) for line in self._parts["notes"].lines)
        text = "\n".join([*self._margin_lines(), *self._parts["body"].lines, *notes])
        title = " ".join(self._parts["title"].lines)
        return RichText(text, title, left_out_notes(self._not_in_words))

    def _margin_lines(self) -> list[str]:
        """Return the lines of headers and footers, without repetitions or bare page numbers."""
        lines = dict.fromkeys(self._parts["margins"].lines)
        return [line for line in lines if any(map(str.isalpha, line))]

    def _brace(self, opens: bool) -> None:
        self._to_skip = 0
        if opens:
            if len(self._stack) >= _MOST_GROUPS:
                raise ValueError(f"its groups are nested more than {_MOST_GROUPS:,} deep")
            self._stack.append(self._state)
            self._state = replace(self._state, is_new=True, is_optional=False)
        elif self._stack:
            ended, self._state = self._state.part, self._stack.pop()
            if ended != self._state.part and ended in self._parts:
                self._parts[ended].close_line()

    def _sign(self, sign: str) -> None:
        if sign == "*":
            self._state.is_optional = True
        elif sign in "\r\n":
            self._control("par", None)
        else:
            self._add(_ESCAPED.get(sign, sign))

    def _control(self, word: str, number: int | None) -> None:
        state = self._state
        if state.is_new or state.is_optional:
            state.is_new = False
            self._destination(word)
        if word in _SWITCHES:
            setattr(state, _SWITCHES[word], number != 0)
        elif word in _SIGNS:
            self._add(_SIGNS[word])
        elif word in _COMMANDS:
            _COMMANDS[word](self, number)

    def _destination(self, word: str) -> None:
        """Begin the part of the document that the first word of a group names."""
        state = self._state
        if state.part == "skipped":
            return
        if word in _SKIPPED or (state.is_optional and word not in _STARRED):
            state.part = "skipped"
        elif word == "pict":
            self._mark("picture")
        elif word == "annotation":
            self._not_in_words["comment"] += 1
            state.part = "skipped"
        elif word == "footnote":
            self._notes += 1
            self._parts["notes"].close_line()
            state.part, state.position = "notes", ""
            self._add(f"[{self._notes}] ")
        elif word in _MARGINS:
            state.part = "margins"
        elif word in ("title", "fonttbl"):
            state.part = "title" if word == "title" else "font"
        elif word == "info":
            state.part = "skipped info"
        state.is_optional = False

    def _mark(self, kind: str) -> None:
        if self._is_seen():
            self._not_in_words[kind] += 1
            self._add(mark(kind))
        self._state.part = "skipped"

    def _is_seen(self) -> bool:
        state = self._state
        return not (state.is_hidden or state.is_struck or state.is_deleted)

    def _plain(self, text: bytes) -> None:
        skipped = min(self._to_skip, len(text))
        self._to_skip -= skipped
        self._add(text[skipped:].decode("cp1252", "replace"))

    def _byte(self, code: int) -> None:
        if self._to_skip:
            self._to_skip -= 1
        else:
            self._bytes.append(code)

    def _flush(self) -> None:
        """Decode the collected bytes in the encoding of their font, and add the text."""
        if self._bytes:
            codec = self._fonts.get(self._state.font, ("", ""))[1] or self._codec
            text = self._bytes.decode(codec, "replace")
            self._bytes.clear()
            self._add(text)

    def _add(self, text: str) -> None:
        """Add text to the part of the document to which it belongs."""
        state = self._state
        state.is_new = False
        if state.part == "font":
            self._define_font(text)
        part = self._parts.get(state.part)
        if part is None or not self._is_seen():
            return
        font = self._fonts.get(state.font, ("", ""))[0]
        text = with_signs(text, font, self._not_in_words)
        part.pieces.append(raised(text, state.position))

    def unicode(self, number: int | None) -> None:
        """Add a character by its number, and skip the replacement that follows it."""
        # RTF writes codes above 32767 as negative numbers of 16 bits
        self._add(chr((number or 0) & 0xFFFF))
        self._to_skip = self._state.skips

    def end_paragraph(self, _: int | None) -> None:
        """End a line, or a line of a cell."""
        part = self._parts.get(self._state.part)
        if part is None:
            return
        if self._in_table and self._state.part == "body":
            part.pieces.append(" ")
        else:
            part.close_line()

    def end_cell(self, _: int | None) -> None:
        """End a cell of a table."""
        body = self._parts["body"]
        body.cells.append(" ".join(body.line().split()))

    def end_row(self, _: int | None) -> None:
        """End a row; a merged cell gets the text of the cell before or above it."""
        body = self._parts["body"]
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

    def begin_row(self, _: int | None) -> None:
        """Begin the definition of a row."""
        self._merged, self._merges = [], ""

    def merge_across(self, _: int | None) -> None:
        """Merge the cell that is being defined with the one before it."""
        self._merges = "across"

    def merge_down(self, _: int | None) -> None:
        """Merge the cell that is being defined with the one above it."""
        self._merges = "down"

    def define_cell(self, _: int | None) -> None:
        """End the definition of a cell."""
        self._merged.append(self._merges)
        self._merges = ""

    def head(self, _: int | None) -> None:
        """Make the row a header if all rows above it are headers."""
        body = self._parts["body"]
        body.headers += body.headers == len(body.rows)

    def reset_paragraph(self, _: int | None) -> None:
        """Reset the settings of the paragraph."""
        self._in_table = False

    def enter_table(self, _: int | None) -> None:
        """Make the paragraph a part of a cell."""
        self._in_table = True

    def reset_text(self, _: int | None) -> None:
        """Reset the settings of characters."""
        state = self._state
        state.is_hidden = state.is_struck = state.is_deleted = False
        state.position, state.font = "", -1

    def raise_text(self, number: int | None) -> None:
        """Begin a superscript."""
        self._state.position = "" if number == 0 else "^"

    def lower_text(self, number: int | None) -> None:
        """Begin a subscript."""
        self._state.position = "" if number == 0 else "_"

    def choose_font(self, number: int | None) -> None:
        """Use a font, or begin its definition."""
        self._state.font = number if number is not None else -1
        self._font_codec = ""

    def set_charset(self, number: int | None) -> None:
        """Set the encoding of the font that is being defined."""
        self._font_codec = "latin-1" if number == 2 else _CHARSETS.get(number or 0, "")

    def set_codec(self, number: int | None) -> None:
        """Set the encoding of the document."""
        with suppress(LookupError):
            self._codec = codecs.lookup(f"cp{number}").name

    def set_skips(self, number: int | None) -> None:
        """Set the number of replacement characters that follow a character given by its number."""
        self._state.skips = number if number is not None else 1

    def number_note(self, _: int | None) -> None:
        """Add the number of the footnote that follows."""
        if self._state.part == "body":
            self._add(f"[{self._notes + 1}]")

    def _define_font(self, text: str) -> None:
        name, ended, _ = (self._font_name + text).partition(";")
        self._font_name = "" if ended else name
        if ended:
            self._fonts[self._state.font] = name.strip(), self._font_codec


_SWITCHES = {
    "v": "is_hidden", "strike": "is_struck", "striked": "is_struck", "deleted": "is_deleted",
}  # fmt: skip
_COMMANDS: dict[str, Callable[[_Walk, int | None], None]] = {
    "u": _Walk.unicode,
    "uc": _Walk.set_skips,
    "par": _Walk.end_paragraph,
    "sect": _Walk.end_paragraph,
    "page": _Walk.end_paragraph,
    "pard": _Walk.reset_paragraph,
    "plain": _Walk.reset_text,
    "intbl": _Walk.enter_table,
    "trowd": _Walk.begin_row,
    "clmrg": _Walk.merge_across,
    "clvmrg": _Walk.merge_down,
    "cellx": _Walk.define_cell,
    "trhdr": _Walk.head,
    "cell": _Walk.end_cell,
    "row": _Walk.end_row,
    "super": _Walk.raise_text,
    "sub": _Walk.lower_text,
    "nosupersub": lambda walk, _: walk.raise_text(0),
    "f": _Walk.choose_font,
    "fcharset": _Walk.set_charset,
    "ansicpg": _Walk.set_codec,
    "pc": lambda walk, _: walk.set_codec(437),
    "chftn": _Walk.number_note,
}
