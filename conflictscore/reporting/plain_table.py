"""Small tables of numbers at a terminal, whose texts are never read as markup."""

from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = ["Card", "add_row", "aside", "heading", "plain_table", "print_card"]


@dataclass(frozen=True)
class Card:
    """A table of texts with what stands around it."""

    title: str
    """Empty for a table that belongs to the one above."""
    columns: tuple[str, ...] = ()
    """None for rows without a head."""
    rows: tuple[tuple[str, ...], ...] = ()
    """As many cells as there are columns."""
    note: str = ""
    """What explains it, a line each."""
    after: tuple[str, ...] = ()
    """Sentences that belong to it."""
    free_text: bool = False
    """Whether the first column may hold long text, which folds; names of methods stay whole."""
    faint: frozenset[int] = frozenset()
    """Rows that are another's, such as a paper's."""
    bold: bool = True
    """Whether the title is a heading."""
    gap: int = 1
    """Spaces between the cells of rows without a head."""


def print_card(card: Card, console: Console) -> None:
    """Print a card, below an empty line."""
    console.print(Text(f"\n{card.title}" if card.title else "", style="bold" if card.bold else ""))
    if card.rows:
        table = Table.grid(padding=(0, card.gap))
        if card.columns:
            table = plain_table(*card.columns, free_text=card.free_text)
        for number, row in enumerate(card.rows):
            add_row(table, *row, style="dim" if number in card.faint else "")
        console.print(table)
    for line in card.note.splitlines():
        aside(console, line)
    for sentence in card.after:
        console.print(Text(sentence))


def plain_table(first: str, *others: str, free_text: bool = False) -> Table:
    """A table of numbers, so narrow that eight columns of them fit 80 characters.

    Args:
        first: The first column's name.
        others: The names of the others, which stand to the right.
        free_text: Whether the first column may hold long text, which folds; names of methods stay
            whole.
    """
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(Text(first), overflow="fold", no_wrap=not free_text)
    for name in others:
        table.add_column(Text(name), justify="right", overflow="fold")
    return table


def add_row(table: Table, *cells: str, style: str = "") -> None:
    """Add cells as they are: Rich would read markup in a plain string."""
    table.add_row(*(Text(cell, style=style) for cell in cells))


def heading(console: Console, words: str) -> None:
    """Print what comes next, below an empty line."""
    console.print(Text(f"\n{words}", style="bold"))


def aside(console: Console, words: str) -> None:
    """Print what explains the table above."""
    console.print(Text(words, style="dim"))
