"""Reads the sheets of an Excel file as Excel shows them, one line for each row.

This module reads the parts of the file itself, since the available libraries return the stored
values instead of the displayed ones. We tried markitdown on ten small workbooks. Each workbook
tests one rule, for example on number formats or hidden rows. markitdown read none of them as Excel
shows it.

Limits without a stated reason were chosen by hand.
"""

import re
from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element

from conflictscore.retrieval.reading.drawings import Drawing, is_true
from conflictscore.retrieval.reading.ooxml import (
    Package,
    attribute,
    child,
    children,
    name_of,
    opened,
)
from conflictscore.retrieval.reading.texts import Note, NoteKind, RichText, left_out_notes
from conflictscore.retrieval.reading.xlsx_cells import Cells, ShownCell
from conflictscore.retrieval.shaping.table_columns import table_lines

_HEADER_WITHIN = 10
"""Number of rows at the top of a block that may contain its header, since a title may precede it;
chosen by hand."""
_LONGEST_REPEATED, _MOST_SPANNED = 80, 1_000
"""Limits for repeating a merged cell: maximum number of characters, and of rows and columns
covered. Both were chosen by hand; a longer text is not a row or column heading."""
_MOST_CELLS = 5_000_000
"""Maximum number of cells in a sheet, including empty cells between its filled rows and columns.
The limit bounds the memory that a small hostile file can take; chosen by hand."""
_MOST_COLUMNS = 16_384  # Excel's own limit.
_NAMES_NOTED = 5  # Maximum number of sheets named in a note.
_PLACE = re.compile(r"\$?([A-Za-z]{1,3})\$?([0-9]{1,7})")


def read_xlsx(data: bytes) -> RichText:
    """Return the text of the visible sheets row by row, with each sheet under its name.

    Numbers and dates are written as their format shows them. Formulas are replaced with their
    stored results. Hidden sheets, rows and columns are left out with a note, as are damaged sheets.
    A merged cell is repeated in each place that it covers.

    Raises:
        ValueError: The file is not an .xlsx file, unpacks to more than 100 MB, declares entities,
            has too many cells or characters, or no sheet that can be read.
        Exception: The file is damaged.
    """
    with opened(data, "xlsx", "xl/workbook.xml") as (package, main):
        return _Workbook(package, main).read()


class _Workbook:
    """Reads one workbook and collects notes on its content."""

    def __init__(self, package: Package, main: str) -> None:
        self._package, self._related = package, package.related(main)
        self._root = package.needed(main, "workbook")
        self._not_in_words: Counter[str] = Counter()
        self._hidden: Counter[str] = Counter()
        self._hidden_sheets: list[str] = []
        self._unreadable_sheets: list[str] = []
        styles, strings = (
            package.part(package.target(main, kind)) for kind in ("styles", "sharedStrings")
        )
        from_1904 = is_true(child(self._root, "workbookPr"), "date1904")
        self._cells = Cells(styles, strings, self._not_in_words, from_1904=from_1904)

    def read(self) -> RichText:
        """Return the text of the workbook, its title, and notes on what was left out."""
        pieces: list[str] = []
        for sheet in children(child(self._root, "sheets")):
            name = " ".join((sheet.get("name") or "").split())
            if (sheet.get("state") or "visible") != "visible":
                self._hidden_sheets.append(name)
                continue
            kind, part = self._related.get(attribute(sheet, "id") or "", ("", ""))
            root = self._package.whole_part(part)
            if root is None:
                self._unreadable_sheets.append(name)
                continue
            if lines := list(self._sheet(root, kind, part)):
                pieces.append("\n".join([name, *lines]))
        if self._unreadable_sheets and not pieces:
            raise ValueError(f"{_sheets_named(self._unreadable_sheets)} cannot be read")
        return RichText("\n\n".join(pieces), self._package.title(), self._notes())

    def _notes(self) -> tuple[Note, ...]:
        hidden = [_sheets_named(self._hidden_sheets)] if self._hidden_sheets else []
        hidden += [
            f"{count} {kind}{'s' * (count > 1)}" for kind, count in self._hidden.items() if count
        ]
        notes = left_out_notes(self._not_in_words)
        if names := self._unreadable_sheets:
            verb = "is" if len(names) == 1 else "are"
            sentence = f"{_sheets_named(names)} {verb} missing or damaged, and left out"
            notes += (Note(NoteKind.PAGES_WITHOUT_TEXT, sentence),)
        if hidden:
            sentence = f"hidden parts are left out: {', '.join(hidden)}"
            notes += (Note(NoteKind.UNSEEN, sentence),)
        return notes

    def _sheet(self, root: Element, kind: str, part: str) -> Iterator[str]:
        if kind == "worksheet":
            table = _Table(root, self._cells)
            yield from table.lines()
            self._hidden["row"] += table.hidden_rows
            self._hidden["column"] += table.hidden_columns
        yield from self._drawn(part)
        yield from self._boxes(root, part)
        # icons get one note for each sheet; data bars, colour scales and the fill colours of cells
        # get none
        if any(name_of(each) == "iconSet" for each in root.iter()):
            self._not_in_words["set of icons"] += 1

    def _boxes(self, root: Element, part: str) -> Iterator[str]:
        """Yield a line for each check box and option button, with its state and label."""
        controls = [each for each in root.iter() if name_of(each) == "control"]
        related = self._package.related(part) if controls else {}
        labels: dict[str, str] = {}
        for kind, place in related.values():
            if kind == "drawing":
                labels |= Drawing(self._package, place, self._not_in_words).labels()
        # without repetitions, since a sheet may list a control for older and for newer programs
        for number, relation in {c.get("shapeId"): attribute(c, "id") for c in controls}.items():
            control = self._package.part(related.get(relation or "", ("", ""))[1])
            if attribute(control, "objectType") in ("CheckBox", "Radio"):
                state = "☒" if attribute(control, "checked") == "Checked" else "☐"
                yield f"{state} {labels.get(number or '', '')}".strip()

    def _drawn(self, part: str) -> Iterator[str]:
        """Yield the lines of text in a sheet's shapes, and count its comments.

        Comments are left out with a note, as in all office files: they are remarks on the text.
        """
        for kind, place in self._package.related(part).values():
            if kind == "drawing":
                drawing = Drawing(self._package, place, self._not_in_words)
                anchors = sorted(children(self._package.part(place)), key=_anchored_at)
                for anchor in anchors:
                    yield from drawing.lines(anchor)
            elif kind == "comments":
                comments = child(self._package.part(place), "commentList")
                self._not_in_words["comment"] += len(comments) if comments is not None else 0
            elif kind in ("oleObject", "package"):
                self._not_in_words["embedded object"] += 1


def _sheets_named(names: Sequence[str]) -> str:
    """Return a phrase with the names of some sheets, such as ``the sheets “Log” and 7 more``."""
    shown = ", ".join(f"“{name}”" for name in names[:_NAMES_NOTED])
    more = len(names) - _NAMES_NOTED
    return (
        f"the {'sheet' if len(names) == 1 else 'sheets'} {shown}{f' and {more} more' * (more > 0)}"
    )


def _anchored_at(anchor: Element) -> tuple[int, int]:
    """Return the row and column where a shape begins."""
    texts = ((child(anchor, "from", name)) for name in ("row", "col"))
    row, column = (int(each.text or 0) if each is not None else 0 for each in texts)
    return row, column


class _Merged(NamedTuple):
    """A range of merged cells: its first and last row, and first and last column."""

    top: int
    bottom: int
    left: int
    right: int


class _Row(NamedTuple):
    """A visible row with its cells by column."""

    number: int
    cells: dict[int, ShownCell]
    header_end: int
    """The last row of the header, if a header begins with this row. The header ends with this row,
    unless the header contains a merged cell and extends over several rows.
    """
    is_title: bool


class _Table:
    """The cells of a sheet, except cells in hidden rows and columns."""

    def __init__(self, sheet: Element, cells: Cells) -> None:
        """Read the cells, and count the hidden rows and columns that contain text."""
        kinds = {name_of(each) for each in sheet}
        # with any of these, a cell may have a coloured background, on which white text is visible
        on_white = not kinds & {"conditionalFormatting", "tableParts", "picture"}
        self._hidden_rows: list[int] = []
        self._rows: dict[int, dict[int, ShownCell]] = {}
        number = 0
        for row in children(child(sheet, "sheetData")):
            place = row.get("r") or ""
            number = int(place) if place.isdecimal() else number + 1
            if is_true(row, "hidden") or row.get("ht") == "0":
                self._hidden_rows.append(number)
            self._rows[number] = dict(_cells_of(row, cells, on_white))
        self._hidden_rows.sort()
        self._hidden_columns = set(_hidden_columns(child(sheet, "cols")))
        self._merged = list(_merged(child(sheet, "mergeCells")))
        pane = child(sheet, "sheetViews", "sheetView", "pane")
        # "ySplit" is a number of rows if the pane is frozen, and a length if it is only split
        frozen = attribute(pane, "ySplit") if attribute(pane, "state") != "split" else None
        self._frozen = int(frozen) if frozen and frozen.isdecimal() else 0
        self.hidden_rows = sum(bool(self._texts(number)) for number in self._hidden_rows)
        filled = {
            column for row in self._rows.values() for column, cell in row.items() if cell.text
        }
        self.hidden_columns = len(filled & self._hidden_columns)

    def lines(self) -> Iterator[str]:
        """Yield a line for each row with text; a long table repeats its header."""
        titles, header_ends = self._spread()
        gone = set(self._hidden_rows)
        rows = [
            _Row(number, texts, header_ends.get(number, number), number in titles)
            for number in sorted(self._rows)
            if number not in gone and (texts := self._texts(number))
        ]
        columns = sorted({column for row in rows for column in row.cells})
        if len(rows) * len(columns) > _MOST_CELLS:
            raise ValueError(f"a sheet has more than {_MOST_CELLS:,} cells in its rows and columns")
        yield from _block_lines(self._blocks(rows), columns, self._frozen)

    def _texts(self, number: int) -> dict[int, ShownCell]:
        """Return the cells of a row that contain text in a visible column."""
        return {
            column: cell
            for column, cell in self._rows[number].items()
            if cell.text and column not in self._hidden_columns
        }

    def _blocks(self, rows: Sequence[_Row]) -> Iterator[list[_Row]]:
        """Divide the rows into blocks at empty visible rows."""
        block: list[_Row] = []
        for row in rows:
            if block:
                before = block[-1].number
                first, last = (bisect(self._hidden_rows, place) for place in (before, row.number))
                if row.number - before - 1 > last - first:
                    yield block
                    block = []
            block.append(row)
        if block:
            yield block

    def _spread(self) -> tuple[set[int], dict[int, int]]:
        """Copy the text of merged cells to all places that they cover.

        Returns:
            First, the rows whose only text is in a merged cell; such text is a title and is not
            copied. Second, for each row with merged cells, the last row of the header that may
            begin there.
        """
        titles: set[int] = set()
        header_ends: dict[int, int] = {}
        spread = 0
        for top, bottom, left, right in self._merged:
            origin = self._rows.get(top, {}).get(left)
            if origin is None or not origin.text:
                continue
            if top == bottom and sum(bool(cell.text) for cell in self._rows[top].values()) == 1:
                titles.add(top)
                continue
            # if a header cell extends over several columns, the row below has the columns' names
            end = max(bottom, top + (right > left))
            header_ends[top] = max(end, header_ends.get(top, top))
            again = ShownCell(
                origin.text if len(origin.text) <= _LONGEST_REPEATED else "", origin.is_name
            )
            columns = range(left, min(right, left + _MOST_SPANNED) + 1)
            for number in range(top, min(bottom, top + _MOST_SPANNED) + 1):
                if number in self._rows:
                    spread += len(columns)
                    covered = dict.fromkeys(columns, again)
                    self._rows[number] |= covered | ({left: origin} if number == top else {})
            if spread > _MOST_CELLS:
                raise ValueError(f"its merged cells cover more than {_MOST_CELLS:,} places")
        return titles, header_ends


class _Header(NamedTuple):
    """The current header, which also applies to later blocks that have no header."""

    lines: list[list[str]]
    columns: set[int]

    def fits(self, block: Sequence[_Row]) -> bool:
        """Return whether a block has several columns and the header names all of them."""
        columns = {column for row in block for column in row.cells}
        return len(columns) > 1 and columns <= self.columns


def _block_lines(
    blocks: Iterable[Sequence[_Row]], columns: Sequence[int], frozen: int
) -> Iterator[str]:
    """Yield the lines of all blocks of a sheet; ``frozen`` is the number of frozen rows."""
    header: _Header | None = None
    for block in blocks:
        # frozen rows contain a single header, so later blocks get no header from them
        start, end = _header_of(block, frozen if header is None else 0)
        shown = [_line(row, columns, position < start) for position, row in enumerate(block)]
        yield from table_lines(shown[:start])
        if end > start:
            names = {column for row in block[start:end] for column in row.cells}
            header = _Header(shown[start:end], names)
            yield from table_lines(shown[start:], end - start)
        elif header and header.fits(block):
            yield from table_lines([*header.lines, *shown], len(header.lines))
        else:
            yield from table_lines(shown)


def _header_of(block: Sequence[_Row], frozen: int) -> tuple[int, int]:
    """Return the start and end of a block's header; the two are equal if it has no header."""
    # the last row of a block is not a header, since a header has a row below it
    for place, row in enumerate(block[: min(_HEADER_WITHIN, len(block) - 1)]):
        if len(row.cells) < 2 or row.is_title:
            continue
        # if the first row with several cells contains values, the block has no header
        if not all(cell.is_name for cell in row.cells.values()) and row.number > frozen:
            break
        last = max(row.header_end, frozen)
        end = place + 1
        while end < len(block) - 1 and block[end].number <= last:
            end += 1
        return place, end
    return 0, 0


def _line(row: _Row, columns: Sequence[int], is_above_header: bool) -> list[str]:
    """Return the texts of a row's cells in these columns; a title row has only one text."""
    if row.is_title or (is_above_header and len(row.cells) == 1):
        return [cell.text for cell in row.cells.values()]
    return [row.cells[column].text if column in row.cells else "" for column in columns]


def _cells_of(row: Element, cells: Cells, on_white: bool) -> Iterator[tuple[int, ShownCell]]:
    column = -1
    for cell in row:
        place = _PLACE.fullmatch(cell.get("r") or "")
        column = _column(place[1]) if place else column + 1
        if column < _MOST_COLUMNS:
            yield column, cells.shown(cell, on_white=on_white)


def _column(letters: str) -> int:
    """Return the number of a column, from 0, given the column's letters."""
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1


def _hidden_columns(columns: Element | None) -> Iterator[int]:
    for each in children(columns):
        if is_true(each, "hidden") or each.get("width") == "0":
            # a hostile file may contain a number of any length
            first, last = (int((each.get(name) or "0")[:6]) for name in ("min", "max"))
            yield from range(first - 1, min(last, _MOST_COLUMNS))


def _merged(ranges: Element | None) -> Iterator[_Merged]:
    for each in children(ranges):
        start, _, end = (each.get("ref") or "").partition(":")
        first, last = _PLACE.fullmatch(start), _PLACE.fullmatch(end or start)
        if first and last:
            yield _Merged(int(first[2]), int(last[2]), _column(first[1]), _column(last[1]))
