"""Applies styles that change the meaning of text, such as superscripts and list numbers."""

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from conflictscore.retrieval.html.style_sheets import Sheets, declared

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

# Styles that change what a text means or how it is divided; only these are looked up.
_STYLED = re.compile(
    r"(?:^|;)\s*(?:vertical-align\s*:\s*(?:super|sub)\b|list-style(?:-type)?\s*:"
    r"|white-space\s*:\s*(?:pre|break-spaces)"
    r"|display\s*:\s*(?:table-row|block|list-item)\b)",
    re.IGNORECASE,
)
# Declarations in a style attribute that change how text is read.
_SHIFTED = re.compile(r"(?:^|;)\s*vertical-align\s*:\s*(super|sub)\b", re.IGNORECASE)
_LIST = re.compile(r"(?:^|;)\s*list-style(?:-type)?\s*:([^;]{1,60})", re.IGNORECASE)
_PREFORMATTED = re.compile(r"(?:^|;)\s*white-space\s*:\s*(?:pre|break-spaces)", re.IGNORECASE)
_ROW = re.compile(r"(?:^|;)\s*display\s*:\s*table-row", re.IGNORECASE)
_BLOCK = re.compile(r"(?:^|;)\s*display\s*:\s*(?:block|list-item)\b", re.IGNORECASE)
_BOXES = re.compile(r"(?:^|;)\s*display\s*:\s*(?:inline-)?(?:flex|grid)\b", re.IGNORECASE)
# Classes with which several style libraries turn the parts of an element into boxes.
_BOXES_BY_CLASS = ".d-flex,.d-inline-flex,.d-grid,.flex,.inline-flex,.grid"
_FLOAT = re.compile(r"(?:^|;)\s*(?:float|position)\s*:", re.IGNORECASE)
# Elements within a line of text unless a style makes them blocks.
_INLINE = frozenset(("a", "span", "b", "strong", "em", "i", "small", "label", "u", "font", "time"))
LIST_KINDS = {
    "lower-alpha": "a",
    "lower-latin": "a",
    "upper-alpha": "A",
    "upper-latin": "A",
    "lower-roman": "i",
    "upper-roman": "I",
    "lower-greek": "α",
    "decimal": "1",
    "decimal-leading-zero": "1",
    "none": "none",
    "disc": "none",
    "circle": "none",
    "square": "none",
}
"""Maps list styles in CSS to the ``type`` attribute of a list."""
_BLOCKS = "p,div,ul,ol,table,pre,section,article,h1,h2,h3,h4,h5,h6,blockquote,dl"
# Characters. A row with a longer cell is part of a layout, so its cells stay on separate lines. In
# a real table, cells may be longer, since such rows are seldom layouts. Chosen by hand.
_LONGEST_CELL = 200


def apply_styles(page: "LexborHTMLParser", body: "LexborNode", sheets: Sheets) -> None:
    """Apply styles to the tree: add attributes or line breaks, or join a row into one line."""
    for node, declarations in declared(body, sheets, _STYLED):
        if shifted := _SHIFTED.search(declarations):
            node.attrs["data-shifted"] = "sup" if shifted[1].lower() == "super" else "sub"
        if node.tag in ("ol", "li") and (style := _LIST.search(declarations)):
            kinds = (LIST_KINDS.get(word) for word in style[1].lower().split())
            if kind := next(filter(None, kinds), ""):
                node.attrs["type"] = kind
        if _PREFORMATTED.search(declarations):
            _keep_lines(page, node)
        if _ROW.search(declarations):
            node.attrs["data-row"] = ""
        elif node.tag in _INLINE and _BLOCK.search(declarations):
            _set_apart(page, node, declarations)
    _part_boxes(body, sheets)
    # inner rows first: an outer row replaces the elements inside it with text
    for node in reversed(body.css("[role=row],[data-row]")):
        _join_cells(page, node)


def _set_apart(page: "LexborHTMLParser", node: "LexborNode", declarations: str) -> None:
    """Put an inline element that is drawn as a block on its own line, unless it is an initial."""
    if not _FLOAT.search(declarations) and len(node.text().strip()) > 1:
        node.insert_before(page.create_node("br"))
        node.insert_after(page.create_node("br"))


def _part_boxes(body: "LexborNode", sheets: Sheets) -> None:
    """Put a space between elements that a flexible box or a grid draws apart from each other.

    Single characters side by side are the letters of a word that a style draws one by one.
    """
    boxes = [node for node, _ in declared(body, sheets, _BOXES)]
    for box in [*boxes, *body.css(_BOXES_BY_CLASS)]:
        for before, node in pairwise(list(box.iter())):
            if max(len(part.text().strip()) for part in (before, node)) > 1:
                node.insert_before(" ")


def _keep_lines(page: "LexborHTMLParser", node: "LexborNode") -> None:
    """Replace the line ends in an element's own text with ``br`` elements."""
    if node.tag in ("pre", "code", "textarea", "body") or node.css_first(_BLOCKS) not in (
        None,
        node,
    ):
        return
    if "\n" not in node.text().strip():
        return
    for part in list(node.iter(include_text=True)):
        if not part.is_text_node:
            continue
        lines = (part.text() or "").split("\n")
        for number, line in enumerate(lines):
            if number:
                part.insert_before(page.create_node("br"))
            part.insert_before(line)
        part.decompose()


def _join_cells(page: "LexborHTMLParser", row: "LexborNode") -> None:
    """Put a row that is not a ``tr`` on one line, with separators between its cells.

    A row with text outside its cells is left unchanged, so that the text is kept.
    """
    if row.tag == "tr" or row.text(deep=False).strip():
        return
    cells = [cell for cell in row.iter() if cell.tag != "br"]
    texts = [" ".join(cell.text(separator=" ").split()) for cell in cells]
    if len(cells) < 2 or max(map(len, texts)) > _LONGEST_CELL:
        return
    line = page.create_node("p")
    row.insert_before(line)
    created = row.prev
    if created is not None:
        created.insert_child(" | ".join(texts))
        row.decompose()
