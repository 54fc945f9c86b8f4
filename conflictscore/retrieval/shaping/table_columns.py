"""Writes tables as text, one line for each row; spanning cells appear in all their columns."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

_LONGEST_REPEATED = 80
"""Maximum number of characters in a cell that is repeated in each place it spans. A longer cell
appears once."""
_MOST_COLUMNS, MOST_SPANNED = 200, 1_000
"""Maximum number of columns that spanning cells and padding may fill, and of rows that a cell may
span. A hostile file may state any number. Cells beyond the last column are kept.
"""
_HEADER_EVERY = 1_200
"""Number of characters after which the header is repeated, so that each window of a long table
contains it (a window has 384 tokens, or about 1,500 characters)."""
_LONGEST_HEADER = 400  # in characters; a longer header would take up much of each window


class Cell(NamedTuple):
    """A cell, with the number of columns and rows that it spans, each at least 1."""

    text: str
    columns: int = 1
    rows: int = 1


def grid(rows: Iterable[Sequence[Cell]]) -> list[list[str]]:
    """Return the texts of a table's cells by row and column.

    A short cell is repeated in every place that it spans. The text of a long cell is put in the
    first place, and the other places are empty. A cell that spans a whole row appears only once.
    """
    lines: list[list[str]] = []
    spanning: dict[int, tuple[str, int]] = {}
    for row in rows:
        line: list[str] = []
        below: dict[int, tuple[str, int]] = {}
        cells = iter(row)
        while True:
            if len(line) in spanning:
                text, count = spanning[len(line)]
                if count > 1:
                    below[len(line)] = text, count - 1
                line.append(text)
                continue
            cell = next(cells, None)
            if cell is None:
                if not any(column > len(line) for column in spanning):
                    break
                line.append("")
                continue
            texts = _across(cell, _MOST_COLUMNS - len(line))
            if cell.rows > 1:
                below |= _down(cell, len(line), len(texts))
            line += texts
        spans_all = len(row) == 1 and row[0].columns == len(line) > 1
        lines.append([row[0].text] if spans_all else line)
        spanning = below
    return lines


def _across(cell: Cell, room: int) -> list[str]:
    """Return a cell's text for each column that it spans, at least one and at most ``room``."""
    width = max(1, min(cell.columns, room))
    return [cell.text, *[_again(cell)] * (width - 1)]


def _down(cell: Cell, column: int, width: int) -> dict[int, tuple[str, int]]:
    """Map each column of a cell to the cell's text and the number of further rows that it spans."""
    rows = min(cell.rows, MOST_SPANNED) - 1
    return dict.fromkeys(range(column, column + width), (_again(cell), rows))


def _again(cell: Cell) -> str:
    """Return the text of a spanning cell in the places after the first one."""
    return cell.text if len(cell.text) <= _LONGEST_REPEATED else ""


def table_lines(lines: Sequence[Sequence[str]], headers: int = 0) -> Iterator[str]:
    """Yield a line for each row with text; a long table repeats its first ``headers`` rows."""
    # shorter rows are padded; the limit keeps a hostile table with one long row small
    width = min(max(map(len, lines), default=0), _MOST_COLUMNS)
    header = [" | ".join(line) for line in lines[:headers] if any(map(str.strip, line))]
    repeats = bool(header) and sum(map(len, header)) <= _LONGEST_HEADER
    characters = 0
    for number, line in enumerate(lines):
        if not any(cell.strip() for cell in line):
            continue
        if repeats and number >= headers and characters > _HEADER_EVERY:
            yield from header
            characters = 0
        cells = line if len(line) == 1 else [*line, *[""] * (width - len(line))]
        text = " | ".join(cells)
        characters += len(text)
        yield text.rstrip() if len(line) == 1 else text
