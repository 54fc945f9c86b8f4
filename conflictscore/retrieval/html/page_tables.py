"""Turns tables of web pages into lines of text, with a line for each row."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from conflictscore.retrieval.shaping.table_columns import Cell, grid, table_lines

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_LONGEST_CELL = 2_000
"""Maximum characters of a data cell; a longer cell shows that the table lays out the page."""


def tables_as_lines(page: "LexborHTMLParser", body: "LexborNode") -> None:
    """Replace tables of data with lines of text; the cells of layout tables become blocks.

    A table lays out the page if it has a single cell, or if one of its cells contains another table
    or a heading, or is as long as an article.
    """
    for table in reversed(body.css("table")):  # inner tables come later in the page
        rows = list(_rows(table))
        cells = [cell for row in rows for cell in _cells(row)]
        if not cells:
            continue
        if table.css_first("div.layout-block") or _is_layout(table, cells):
            _unwrap_layout(page, table, cells)
            continue
        if lines := _lines(table, rows):
            table.insert_before(page.create_node("pre"))
            block = table.prev
            if block is not None:
                block.insert_child("\n".join(lines))
        table.decompose()


def _lines(table: "LexborNode", rows: list["LexborNode"]) -> list[str]:
    """The caption and rows of a table of data."""
    headers = 0
    while headers < len(rows) and _is_header(rows[headers]):
        headers += 1
    texts = [[_cell(cell) for cell in _cells(row)] for row in rows]
    # if all rows are headers, they head nothing
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
    for node in cell.css("p,div,br,dd,dt,pre,h4,h5,h6"):
        node.insert_before(" ")
        node.insert_after(" ")
    for node in cell.css("li + li"):
        node.insert_before("; ")
    text = " ".join(cell.text().split())
    return Cell(text, _span(cell, "colspan"), _span(cell, "rowspan"))


def _span(cell: "LexborNode", name: str) -> int:
    """The number of columns or rows that a cell spans.

    A ``rowspan`` of 0 goes to its group's end.
    """
    span = (cell.attributes.get(name) or "1").strip()
    if not (span.isascii() and span.isdigit()):
        return 1
    return int(span[:5]) or 1_000
