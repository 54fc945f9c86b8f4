"""Reads rows of delimited text (CSV), as spreadsheets and databases write them.

Limits without a stated reason were chosen by hand.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from conflictscore.errors import InputError
from conflictscore.retrieval.cleaning import clean_text
from conflictscore.retrieval.documents import TEXT_KEYS
from conflictscore.retrieval.pages.page import UnreadableError

_SEPARATORS = ",;\t|"


MOST_ROWS = 200_000
"""Maximum number of rows in a file; this many documents fit into a laptop's memory."""
_HEADER_WITHIN = 10
"""Number of rows at the top that may contain the header, since a title may precede the header."""

_QUOTED_WITHIN = 20_000
"""Number of characters at the top of a file that decide whether its cells are quoted with
apostrophes.

Only the first ten lines are examined, and this limit bounds their length.
"""

# The first line of a file, in which Excel declares the separator.
_EXCEL_SEPARATOR = re.compile(r"sep=(.)\n", re.IGNORECASE)


class DelimitedRow(NamedTuple):
    """The cells of a row, and the row's location for notes.

    ``fault`` says what was wrong with the row if it was repaired; otherwise it is empty.
    """

    where: str
    cells: list[str]
    fault: str = ""


class DelimitedTable(NamedTuple):
    """The rows of a table below its header; ``columns`` are the column names in the header.

    ``above`` contains the rows above the header, such as the title of the table.
    """

    columns: list[str]
    rows: Iterator[DelimitedRow]
    separator: str
    above: list[DelimitedRow]


def allow_long_cells(characters: int) -> None:
    """Let Python's csv module read cells of this length.

    The limit applies to the whole process. It is never lowered, since another thread may be reading
    a longer file.
    """
    if csv.field_size_limit() < characters:
        csv.field_size_limit(characters)


def read_table(text: str, url: str) -> DelimitedTable:
    """Read the table in a text, using a separator that yields a header with a text column."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    separators = _SEPARATORS
    if declaration := _EXCEL_SEPARATOR.match(text):
        # the line is emptied, not removed, so that line numbers in notes are correct
        separators, text = declaration[1], text[declaration.end() - 1 :]
    first_line = next((line for line in text.split("\n", _HEADER_WITHIN) if line.strip()), "")
    names: list[str] = []
    # the most frequent first, since the texts may contain the others
    by_count = sorted(separators, key=first_line.count, reverse=True)
    for separator in by_count:
        quote = _quote_of(text, separator)
        escape = _escape_of(text, separator, quote)
        rows = rows_of(text, url, separator, escape, quote)
        above: list[DelimitedRow] = []
        # the range comes first, so that zip takes no row after the last one examined
        for _, row in zip(range(_HEADER_WITHIN), rows, strict=False):
            columns = _columns(row.cells)
            names = names or [clean_text(cell) for cell in row.cells]
            if not set(columns).isdisjoint(TEXT_KEYS):
                return DelimitedTable(columns, rows, separator, above)
            above.append(row)
    raise UnreadableError(
        "has no column called text, content or page_content, but"
        f" {', '.join(map(repr, names)):.300}"
    )


def _columns(header: Sequence[str]) -> list[str]:
    names = [clean_text(cell) for cell in header]
    ours = {*TEXT_KEYS, "title", "url"}
    # the columns that are read here may be capitalised; other names go into the metadata as written
    columns = [name.lower() if name.lower() in ours else name for name in names]
    while columns and not columns[-1]:  # the line ends with separators
        columns.pop()
    return columns


def _quote_of(text: str, separator: str) -> str:
    """Return the file's quotation mark: an apostrophe if the first lines use it, otherwise ``"``.

    The apostrophe is chosen only if every line below the header has a cell in apostrophes, and no
    line has an apostrophe anywhere else.
    """
    lines = [line for line in text[:_QUOTED_WITHIN].split("\n")[:_HEADER_WITHIN] if line.strip()]
    if len(text) > _QUOTED_WITHIN:
        lines = lines[:-1]  # the last line may be incomplete
    # possessive quantifiers keep the matching linear
    cell = rf"(?:'(?:[^'\\]|''|\\.)*+'|[^'{re.escape(separator)}]*+)"
    row = re.compile(rf"{cell}(?:{re.escape(separator)}{cell})*+")
    have_cells = [row.fullmatch(line) and "'" in line for line in lines]
    return "'" if len(have_cells) > 1 and all(have_cells[1:]) and row.fullmatch(lines[0]) else '"'


def _escape_of(text: str, separator: str, quote: str) -> str | None:
    r"""Return a backslash if the cells contain ``\"``, which MySQL and pandas write for ``"``.

    Otherwise None. ``quote`` is the file's quotation mark.
    """
    escaped_quote = f"\\{quote}"
    if escaped_quote not in text:
        return None
    # at the end of a cell, the backslash belongs to the text, as in "C:\\logs\\"
    plain = sum(text.count(f"{escaped_quote}{end}") for end in (separator, "\n"))
    plain += text.endswith(escaped_quote)
    return "\\" if text.count(escaped_quote) > plain else None


class _Fault(Enum):
    """Possible faults of a quotation mark at the start of a cell, as worded in notes."""

    NOT_CLOSED = "a quotation mark is not closed; the line was read as a row"
    NEVER_CLOSED = "a quotation mark is not closed; from here on, each line was read as a row"


class _Marks(NamedTuple):
    """The file's separator, its quotation mark, and the character that escapes a quotation mark."""

    separator: str
    quote: str
    escape: str | None

    def rows(self, lines: Iterable[str], *, strict: bool = False) -> Iterator[list[str]]:
        """Return the rows in lines; if ``strict``, a misplaced quotation mark raises csv.Error."""
        return csv.reader(
            lines,
            delimiter=self.separator,
            escapechar=self.escape,
            quotechar=self.quote,
            strict=strict,
        )

    def plain_rows(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """Yield a row for each line, treating quotation marks as ordinary characters."""
        for cells in csv.reader(lines, delimiter=self.separator, quoting=csv.QUOTE_NONE):
            yield [cell.strip().strip(self.quote) for cell in cells]


class _Lines:
    """Iterates over lines; ``place`` is the number of the next line, from 0, and may be set."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines, self.place = lines, 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        """Return the next line."""
        if self.place >= len(self._lines):
            raise StopIteration
        self.place += 1
        return self._lines[self.place - 1]


def rows_of(
    text: str, url: str, separator: str, escape: str | None = None, quote: str = '"'
) -> Iterator[DelimitedRow]:
    """Yield the rows that are not blank, read as spreadsheets read them.

    Text between a closing quotation mark and the next separator belongs to the cell. An unclosed
    quotation mark would swallow all rows up to the next quotation mark, or up to the end of the
    file. So a line with an unclosed mark is read as a separate row. If no other mark follows, each
    later line is read as a row too. A note reports both.
    """
    allow_long_cells(len(text) + 1)
    try:
        for number, row in enumerate(_rows(text, url, _Marks(separator, quote, escape))):
            if number > MOST_ROWS:  # row 0 is the header
                raise InputError(f"{row.where}: more than {MOST_ROWS:,} rows; split the file")
            if any(cell.strip() for cell in row.cells):
                yield row
    except csv.Error as error:
        raise UnreadableError(f"is not comma-separated values ({error})") from None


def _rows(text: str, url: str, marks: _Marks) -> Iterator[DelimitedRow]:
    """Yield the rows, including blank ones."""
    lines = [*io.StringIO(text, newline="\n")]
    rest = _Lines(lines)
    rows = marks.rows(rest)
    width = start = 0
    while (cells := next(rows, None)) is not None:
        width = width or len(cells)
        fault = None
        if rest.place - start > 1:
            fault = _quote_fault(lines[start : rest.place], marks, width)
        if fault is _Fault.NEVER_CLOSED:
            for place, cells in enumerate(marks.plain_rows(lines[start:]), start):
                sentence = fault.value if place == start else ""
                yield DelimitedRow(f"{url}, line {place + 1}", cells, sentence)
            return
        if fault:
            rest.place = start + 1
            rows = marks.rows(rest)
            cells = next(marks.plain_rows(lines[start : rest.place]))
        yield DelimitedRow(f"{url}, line {start + 1}", cells, fault.value if fault else "")
        start = rest.place


def _quote_fault(lines: Sequence[str], marks: _Marks, width: int) -> _Fault | None:
    """Return what is wrong with a row that extends over several lines; None if nothing is.

    If text follows a closing quotation mark, this mark may really open a cell, because an earlier
    mark was not closed. It opens a cell if it is at the beginning of one, and each line has as
    many cells as the table has columns. In a table with a single column, this cannot be decided, so
    the row is left unchanged.
    """
    try:
        next(marks.rows(lines, strict=True))
    except csv.Error as error:
        if "unexpected end" in str(error):  # the file ends here; csv has no kinds of errors
            return _Fault.NEVER_CLOSED
        before = lines[-1].partition(marks.quote)[0]
        begins_cell = not before or before.endswith(marks.separator)
        is_row = (len(next(marks.plain_rows([line]), [])) == width for line in lines)
        return _Fault.NOT_CLOSED if width > 1 and begins_cell and all(is_row) else None
    return None
