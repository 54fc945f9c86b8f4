"""Reads rows of delimited text (CSV), as spreadsheets and databases write them."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from conflictscore.errors import InputError
from conflictscore.retrieval.cleaning import clean_text
from conflictscore.retrieval.documents import TEXT_KEYS
from conflictscore.retrieval.pages.page import UnreadableError

_SEPARATORS = ",;\t|"


MOST_ROWS = 200_000
"""Maximum number of rows in a file; this many documents fit into a laptop's memory."""
_HEADER_WITHIN = 10
"""Number of rows at the top among which the header must be, since a title may precede it."""

_QUOTED_WITHIN = 20_000
"""Number of characters at the top of a file that decide whether its cells are quoted with
apostrophes."""

# The first line by which Excel declares a separator.
_EXCEL_SEPARATOR = re.compile(r"sep=(.)\n", re.IGNORECASE)


class DelimitedRow(NamedTuple):
    """The cells of a row, and the row's location for notes.

    ``fault`` says what was wrong with the row if it was repaired; otherwise it is empty.
    """

    where: str
    cells: list[str]
    fault: str = ""


class DelimitedTable(NamedTuple):
    """The rows of a table below its header; ``columns`` are the column names in the header."""

    columns: list[str]
    rows: Iterator[DelimitedRow]
    separator: str


def read_table(text: str, url: str) -> DelimitedTable:
    """Read the table in a text, with the separator that yields a header with a text column."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    separators = _SEPARATORS
    if declaration := _EXCEL_SEPARATOR.match(text):
        # the line is emptied and not removed, so that notes give the right line numbers
        separators, text = declaration[1], text[declaration.end() - 1 :]
    first_line = next((line for line in text.split("\n", _HEADER_WITHIN) if line.strip()), "")
    names: list[str] = []
    # the most frequent first, since a text may contain the others
    by_count = sorted(separators, key=first_line.count, reverse=True)
    for separator in by_count:
        quote = _quote_of(text, separator)
        escape = _escape_of(text, separator, quote)
        rows = rows_of(text, url, separator, escape, quote)
        for _, row in zip(range(_HEADER_WITHIN), rows, strict=False):
            columns = _columns(row.cells)
            names = names or [clean_text(cell) for cell in row.cells]
            if not set(columns).isdisjoint(TEXT_KEYS):
                return DelimitedTable(columns, rows, separator)
    raise UnreadableError(
        "has no column called text, content or page_content, but"
        f" {', '.join(map(repr, names)):.300}"
    )


def _columns(header: Sequence[str]) -> list[str]:
    names = [clean_text(cell) for cell in header]
    ours = {*TEXT_KEYS, "title", "url"}
    columns = [name.lower() if name.lower() in ours else name for name in names]
    while columns and not columns[-1]:
        columns.pop()
    return columns


def _quote_of(text: str, separator: str) -> str:
    """Return the file's quotation mark: an apostrophe if the first lines use it, otherwise ``"``.

    The apostrophe is chosen only if every line below the header has a cell in apostrophes, and no
    line has any other apostrophe.
    """
    lines = [line for line in text[:_QUOTED_WITHIN].split("\n")[:_HEADER_WITHIN] if line.strip()]
    if len(text) > _QUOTED_WITHIN:
        lines = lines[:-1]  # the last line may be cut
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
    # before the end of a cell, the backslash is the cell's own, as in "C:\\logs\\"
    plain = sum(text.count(f"{escaped_quote}{end}") for end in (separator, "\n"))
    plain += text.endswith(escaped_quote)
    return "\\" if text.count(escaped_quote) > plain else None


def rows_of(
    text: str, url: str, separator: str, escape: str | None = None, quote: str = '"'
) -> Iterator[DelimitedRow]:
    """Yield the rows that are not blank, read as spreadsheets read them.

    If text follows a closing quotation mark in a cell, that text belongs to the cell up to the next
    separator. An unclosed quotation mark would swallow the rest of the file. From such a mark on,
    each line is therefore read as a row, and a note says so.
    """
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=separator, escapechar=escape, quotechar=quote
    )
    usual_limit = csv.field_size_limit(len(text) + 1)  # the limit applies to the whole process
    start, last_start = 1, 1
    pending: DelimitedRow | None = None
    try:
        for number, cells in enumerate(reader):
            if pending:
                yield pending
            where, last_start = f"{url}, line {start}", start
            start = reader.line_num + 1
            if number > MOST_ROWS:  # row 0 is the header
                raise InputError(f"{where}: more than {MOST_ROWS:,} rows; split the file")
            pending = DelimitedRow(where, cells) if any(cell.strip() for cell in cells) else None
        rest = text.split("\n", last_start - 1)[-1]
        if pending and start - last_start > 1 and _is_unclosed(rest, separator, escape, quote):
            yield from _unquoted_rows(rest, url, last_start, separator, quote)
        elif pending:
            yield pending
    except csv.Error as error:
        raise UnreadableError(f"is not comma-separated values ({error})") from None
    finally:
        csv.field_size_limit(usual_limit)


def _is_unclosed(rest: str, separator: str, escape: str | None, quote: str) -> bool:
    """Whether the last row of a table has an unclosed quotation mark."""
    reader = csv.reader(
        io.StringIO(rest, newline=""),
        delimiter=separator,
        escapechar=escape,
        quotechar=quote,
        strict=True,
    )
    try:
        next(reader)
    except csv.Error as error:
        return "unexpected end" in str(error)
    return False


def _unquoted_rows(
    rest: str, url: str, line: int, separator: str, quote: str
) -> Iterator[DelimitedRow]:
    reader = csv.reader(io.StringIO(rest, newline=""), delimiter=separator, quoting=csv.QUOTE_NONE)
    for number, cells in enumerate(reader, line):
        if number - line >= MOST_ROWS:
            raise InputError(f"{url}, line {number}: more than {MOST_ROWS:,} rows; split the file")
        fault = ""
        if number == line:
            fault = "a quotation mark is not closed; from here on, each line was read as a row"
        if any(cell.strip() for cell in cells):
            yield DelimitedRow(
                f"{url}, line {number}", [cell.strip().strip(quote) for cell in cells], fault
            )
