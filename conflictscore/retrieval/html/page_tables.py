"""Turns tables in web pages into text with one line for each row."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from conflictscore.retrieval.shaping.table_columns import MOST_SPANNED, Cell, grid, table_lines

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_LONGEST_CELL = 2_000
"""Maximum number of characters in a data cell. A table with a longer cell is a layout table.
Chosen by hand: about 300 words, more than a cell of data has."""


def tables_as_lines(page: "LexborHTMLParser", body: "LexborNode") -> None:
    """Replace data tables with lines of text, and the cells of layout tables with blocks.

    A layout table has only one cell, or a cell that contains another layout table or a heading, or
    a cell that is as long as an article. A data table inside a cell stays in it, with semicolons
    between its rows.
    """
    # inner tables come later in the list, but must be replaced first
    for table in reversed(body.css("table")):
        rows = list(_rows(table))
        cells = [cell for row in rows for cell in _cells(row)]
        if not cells:
            continue
        # such a block was a cell of an inner layout table
        if table.css_first("div.layout-block") or _is_layout(table, cells):
            _unwrap_layout(page, table, cells)
            continue
        if lines := _lines(table, rows):
            table.insert_before(page.create_node("pre"))
            block = table.prev
            if block is not None:
                block.attrs["data-rows"] = ""
                block.insert_child("\n".join(lines))
        table.decompose()


def _lines(table: "LexborNode", rows: list["LexborNode"]) -> list[str]:
    """Return the caption and the rows of a data table as lines."""
    headers = 0
    while headers < len(rows) and _is_header(rows[headers]):
        headers += 1
    texts = [[_cell(cell) for cell in _cells(row)] for row in rows]
    # if all rows look like headers, none of them is a header
    lines = list(table_lines(grid(texts), headers % len(rows)))
    caption = table.css_first("caption")
    if caption is not None and (title := " ".join(caption.text().split())):
        lines.insert(0, title)
    return lines


def _is_layout(table: "LexborNode", cells: list["LexborNode"]) -> bool:
    if (table.attributes.get("role") or "").lower() in ("presentation", "none"):
        return True
    if len(cells) == 1 or table.css_first("td h1,td h2,td h3,td article,td form"):
        return True
    return any(len(cell.text()) > _LONGEST_CELL for cell in cells)


def _unwrap_layout(
    page: "LexborHTMLParser", table: "LexborNode", cells: list["LexborNode"]
) -> None:
    for cell in cells:
        cell.insert_before(page.create_node("div"))
        block = cell.prev
        if block is None:
            continue
        block.attrs["class"] = "layout-block"
        for part in list(cell.iter(include_text=True)):
            block.insert_child(part, move=True)
        cell.decompose()
    for part in [*table.css("tr"), *table.css("tbody,thead,tfoot,colgroup")]:
        part.unwrap()
    table.unwrap()


def _rows(table: "LexborNode") -> Iterator["LexborNode"]:
    for part in table.iter():
        if part.tag == "tr":
            yield part
        elif part.tag in ("thead", "tbody", "tfoot"):
            yield from (row for row in part.iter() if row.tag == "tr")


def _cells(row: "LexborNode") -> Iterator["LexborNode"]:
    return (cell for cell in row.iter() if cell.tag in ("td", "th"))


def _is_header(row: "LexborNode") -> bool:
    if row.parent is not None and row.parent.tag == "thead":
        return True
    tags = [cell.tag for cell in _cells(row)]
    return bool(tags) and all(tag == "th" for tag in tags)


def _cell(cell: "LexborNode") -> Cell:
    """Return a cell with its text on one line, keeping blocks and list items separate."""
    for node in cell.css("pre[data-rows]"):
        node.replace_with(f" {node.text().replace(chr(10), '; ')} ")
    for node in cell.css("p,div,br,dd,dt,pre,h4,h5,h6"):
        node.insert_before(" ")
        node.insert_after(" ")
    for node in cell.css("li + li"):
        node.insert_before("; ")
    text = " ".join(cell.text().split())
    return Cell(text, _span(cell, "colspan"), _span(cell, "rowspan"))


def _span(cell: "LexborNode", name: str) -> int:
    """Return the number of columns or rows that a cell spans.

    A ``rowspan`` of 0 extends to the end of the row group. A ``colspan`` of 0 counts as 1.
    """
    span = (cell.attributes.get(name) or "1").strip()
    if not (span.isascii() and span.isdigit()):
        return 1
    # Browsers allow at most 1,000 columns and 65,534 rows. Five digits are enough for both limits;
    # a hostile number may have many more.
    return int(span[:5]) or (MOST_SPANNED if name == "rowspan" else 1)
