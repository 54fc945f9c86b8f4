"""Tables that are printed to a terminal. The text in the tables is never read as markup."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text


@dataclass(frozen=True)
class Card:
    """A table with its title and notes."""

    title: str
    """The title; empty if the table continues the one above."""
    columns: tuple[str, ...] = ()
    """The header of each column; empty if the table has no header."""
    rows: tuple[tuple[str, ...], ...] = ()
    """The rows, each with one cell per column."""
    note: str = ""
    """Remarks that explain the table, one per line."""
    after: tuple[str, ...] = ()
    """Sentences that are printed below the table."""
    free_text: bool = False
    """Whether lines may break in the first column.

    Names of methods in this column must not be broken.
    """
    faint: frozenset[int] = frozenset()
    """Indices of rows that are shown dim, such as a paper's figures."""
    bold: bool = True
    """Whether the title is shown as a heading."""


def card_of(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str | int | None]],
    note: str = "",
    **more: Any,
) -> Card:
    """Return a card with these cells; None is an empty cell, and empty columns are left out."""
    # a column that is empty in every row says nothing; without rows, the header is shown whole
    cells = [[f"{cell:,}" if isinstance(cell, int) else cell or "" for cell in row] for row in rows]
    used_columns = [n for n in range(len(columns)) if not cells or any(row[n] for row in cells)]
    return Card(
        title,
        tuple(columns[n] for n in used_columns),
        tuple(tuple(row[n] for n in used_columns) for row in cells),
        note,
        **more,
    )


def column_name(header: str) -> str:
    """Return a column's header on one line, as pages and exports show it."""
    # a header that breaks after a hyphen is one word
    return " ".join(header.replace("-\n", "-").split())


def print_card(card: Card, console: Console) -> None:
    """Print a table, preceded by an empty line."""
    console.print(Text(f"\n{card.title}" if card.title else "", style="bold" if card.bold else ""))
    if card.rows:
        table = _headed(card) if card.columns else Table.grid(padding=(0, 1))
        for number, row in enumerate(card.rows):
            style = "dim" if number in card.faint else ""
            table.add_row(*(Text(cell, style=style) for cell in row))
        console.print(table)
    for line in card.note.splitlines():
        console.print(Text(line, style="dim"))
    for sentence in card.after:
        console.print(Text(sentence))


def _headed(card: Card) -> Table:
    """Return a table with a header, in which eight columns fit into 80 characters."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    first, *others = zip(card.columns, *card.rows, strict=True)
    table.add_column(Text(first[0]), overflow="fold", no_wrap=not card.free_text)
    for texts in others:
        # a column of single words must not wrap, since words would be broken in the middle
        one_word = not any(len(text.split()) > 1 for text in texts)
        table.add_column(Text(texts[0]), justify="right", overflow="fold", no_wrap=one_word)
    return table
