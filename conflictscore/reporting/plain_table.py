"""Small tables at a terminal, whose texts are never read as markup."""

from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = ["Card", "add_row", "aside", "heading", "plain_table", "print_card"]


@dataclass(frozen=True)
class Card:
    """A table with its title and notes."""

    title: str
    """Empty for a table that belongs to the one above."""
    columns: tuple[str, ...] = ()
    """Empty for a table without a header."""
    rows: tuple[tuple[str, ...], ...] = ()
    """Each with as many cells as there are columns."""
    note: str = ""
    """Explanation, one remark a line."""
    after: tuple[str, ...] = ()
    """Sentences below it."""
    free_text: bool = False
    """Whether the first column may wrap; names of methods must not."""
    faint: frozenset[int] = frozenset()
    """Rows shown dim, such as a paper's."""
    bold: bool = True
    """Whether the title is a heading."""


def column_name(header: str) -> str:
    """A header in one line, as pages and exports show it."""
    return " ".join(header.replace("-\n", "-").split())


def print_card(card: Card, console: Console) -> None:
    """Print a card, below an empty line."""
    console.print(Text(f"\n{card.title}" if card.title else "", style="bold" if card.bold else ""))
    if card.rows:
        table = Table.grid(padding=(0, 1))
        if card.columns:
            table = plain_table(*card.columns, free_text=card.free_text)
            cells = list(zip(card.columns, *card.rows, strict=True))
            for column, texts in list(zip(table.columns, cells, strict=True))[1:]:
                # a word or number that cannot wrap between words would be cut in its middle
                column.no_wrap = not any(len(text.split()) > 1 for text in texts)
        for number, row in enumerate(card.rows):
            add_row(table, *row, style="dim" if number in card.faint else "")
        console.print(table)
    for line in card.note.splitlines():
        aside(console, line)
    for sentence in card.after:
        console.print(Text(sentence))


def plain_table(first: str, *others: str, free_text: bool = False) -> Table:
    """A table of numbers, narrow enough for eight columns in 80 characters.

    The first column may wrap if it is ``free_text``; names of methods must not.
    """
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(Text(first), overflow="fold", no_wrap=not free_text)
    for name in others:
        table.add_column(Text(name), justify="right", overflow="fold")
    return table


def add_row(table: Table, *cells: str, style: str = "") -> None:
    """Add cells as plain text: Rich would read markup in a string."""
    table.add_row(*(Text(cell, style=style) for cell in cells))


def heading(console: Console, words: str) -> None:
    """Print a heading below an empty line."""
    console.print(Text(f"\n{words}", style="bold"))


def aside(console: Console, words: str) -> None:
    """Print a remark on the table above."""
    console.print(Text(words, style="dim"))
