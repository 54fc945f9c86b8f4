"""Builds a tree of what a person sees on a page, changed so that extractors keep all text.

Libraries that extract a page's main text drop some elements (``time``, ``output``, text directly in
a ``div``) and join separate texts ("10" and a superscript "6"). The tree is therefore changed
before extraction, so that no text is lost or joined. Pages are read in the separate process of
:mod:`~conflictscore.retrieval.reading.box`.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from conflictscore.retrieval.html.generated_text import put_generated_text
from conflictscore.retrieval.html.page_tables import tables_as_lines
from conflictscore.retrieval.html.signs import put_formulas_into_words, put_signs_into_words
from conflictscore.retrieval.html.source import SHADOW_ROOT, parsable, with_shadow_trees
from conflictscore.retrieval.html.styled import apply_styles
from conflictscore.retrieval.html.unseen import leave_out_unseen

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

BLOCKS = (
    "address,article,aside,blockquote,body,center,dd,details,dialog,div,dl,dt,fieldset,figcaption,"
    "figure,footer,form,h1,h2,h3,h4,h5,h6,header,hgroup,hr,li,main,nav,ol,option,p,pre,section,"
    "summary,table,tbody,tfoot,thead,tr,ul,legend,caption"
)
"""Elements that begin a new line."""
_NOT_INLINE = frozenset((*BLOCKS.split(","), "td", "th"))
_CONTAINERS = (
    "article,aside,blockquote,body,center,dd,details,div,figure,footer,header,main,section"
)
"""Blocks whose text extractors lose if it is outside any paragraph."""
_INLINE = ["bdi", "bdo", "data", "dfn", "font", "label", "meter", "output", "tt", "wbr"]
"""Inline elements that extractors drop although their text is part of the surrounding sentence."""
_HOSTS = (
    "article",
    "aside",
    "blockquote",
    "body",
    "div",
    "footer",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "main",
    "nav",
    "section",
    "span",
)
"""Elements that may have a shadow tree, in addition to custom elements (names with a hyphen)."""
_CODE = "pre,code,samp,kbd"
_SHORTEST_PART = 2
"""Minimum number of characters in a label or value; a single character is usually a styled letter
within a word.
"""
_CHANGE = re.compile(r"[^\W\d_]\d|\d[^\W\d_]|[a-z][A-Z]")
"""Matches a place where a word ends: between a letter and a digit, or before a capital."""


class ShownPage(NamedTuple):
    """A page's tree, and the number of pictures that were replaced with placeholders.

    ``is_unsure`` is True if the page may still contain invisible text, since its style sheets have
    too many rules for its size to be applied completely.
    """

    tree: "LexborHTMLParser"
    pictures: int
    is_unsure: bool = False


def shown_page(html: str) -> ShownPage:
    """Return a page's tree without invisible parts, changed so that extractors keep its text.

    ``10<sup>6</sup>`` becomes ``10^6``, and a note number becomes ``[2]``. Text directly in a
    ``div`` becomes a paragraph, and a table becomes lines of text. The head is left unchanged.

    Raises:
        UnreadableError: The page has far more attributes in one tag, levels of nesting or options
            than any real page.
    """
    from selectolax.lexbor import LexborHTMLParser

    page = LexborHTMLParser(with_shadow_trees(parsable(html)))
    body = page.body
    if body is None:
        return ShownPage(page, 0)
    # First, keep only what is visible. Formulas come first, since their readable form may be hidden
    # next to a drawing. Styles come last, since hidden parts need no styles.
    _fill_slots(body)
    put_formulas_into_words(body)
    sheets = leave_out_unseen(page, body)
    put_generated_text(body, sheets)
    apply_styles(page, body, sheets)
    # Then replace symbols with text, while the elements that explain them still exist.
    pictures = put_signs_into_words(body)
    for node in body.css("time"):
        # the empty element is kept: its attribute may contain the page's date
        node.insert_after(node.text())
        while node.child:
            node.child.decompose()
    _open_fields(page, body)
    # Then unwrap elements that extractors drop. Words are separated before custom elements are
    # unwrapped, since two adjacent custom elements show that their texts are separate.
    page.unwrap_tags(_INLINE)
    _part_glued_words(body)
    for node in body.css("*"):
        if node.tag and "-" in node.tag and node.is_element_node:
            node.unwrap()
    for node in body.css("figcaption"):
        _wrap(page, list(node.iter(include_text=True)))
        node.unwrap()
    # the extractor drops paragraphs in a figure, such as the caption at the end of an article
    for node in body.css("figure:has(> p)"):
        node.unwrap()
    for node in body.css("summary"):
        _wrap(page, list(node.iter(include_text=True)))
    # Create the paragraphs last: tables and unwrapped elements leave text outside any block.
    tables_as_lines(page, body)
    body.merge_text_nodes()
    for node in [body, *body.css(_CONTAINERS)]:
        for run in list(_runs(node)):
            _wrap(page, run)
    page.unwrap_tags(["center"])  # this must come last, since extractors drop the element
    return ShownPage(page, pictures, sheets.is_cut)


def _fill_slots(body: "LexborNode") -> None:
    """Move the children of a shadow tree's host to the slots where they are drawn.

    Children without a slot are not drawn, so they are removed.
    """
    for shadow in body.css(f"[{SHADOW_ROOT}]"):
        host = shadow.parent
        if host is None or not (host.tag in _HOSTS or "-" in (host.tag or "")):
            continue
        by_slot = _parts_by_slot(host, shadow)
        for slot in shadow.css("slot"):
            parts = by_slot.pop(slot.attributes.get("name") or "", [])
            if any(part.text().strip() for part in parts):
                # a slot's own content is shown only if nothing fills the slot
                slot.attrs["hidden"] = ""
            for part in parts:
                slot.insert_before(part)
                part.decompose()
        for part in [part for rest in by_slot.values() for part in rest]:
            part.decompose()


def _parts_by_slot(host: "LexborNode", shadow: "LexborNode") -> "dict[str, list[LexborNode]]":
    """Group the children of a shadow tree's host by slot name.

    Text nodes have no slot name.
    """
    by_slot: dict[str, list[LexborNode]] = {}
    for part in list(host.iter(include_text=True)):
        if part.mem_id != shadow.mem_id:
            name = "" if part.is_text_node else part.attributes.get("slot") or ""
            by_slot.setdefault(name, []).append(part)
    return by_slot


def _open_fields(page: "LexborHTMLParser", body: "LexborNode") -> None:
    """Put the text of input fields into blocks, so that extractors read it."""
    for field in body.css("textarea"):
        text = field.text()
        field.insert_before(page.create_node("pre"))
        created = field.prev
        if created is not None and text.strip():
            created.insert_child(text)
        field.decompose()


def _part_glued_words(body: "LexborNode") -> None:
    """Put a space between labels and values that are separated only by a style sheet.

    Adjacent elements with different classes are separated, as are adjacent custom elements. Parts
    of one word have the same class or none.
    """
    code = {node.mem_id for block in body.css(_CODE) for node in block.css("*")}
    for node in body.css("span + span,a + a,button + button,b + span,span + b,strong + span"):
        before = node.prev
        if before is None or before.is_text_node or node.mem_id in code:
            continue
        if _are_two_parts(before, node):
            node.insert_before(" ")
    for node in body.css("*"):
        if node.tag and "-" in node.tag and node.prev is not None and not node.prev.is_text_node:
            node.insert_before(" ")


def _are_two_parts(before: "LexborNode", node: "LexborNode") -> bool:
    """Return whether adjacent elements are a label and its value rather than pieces of one word."""
    first, second = before.text().strip(), node.text().strip()
    if min(len(first), len(second)) < _SHORTEST_PART:
        return False
    if not (first[-1].isalnum() and second[0].isalnum()):
        return False
    classes = before.attributes.get("class"), node.attributes.get("class")
    changes = before.tag != node.tag and _CHANGE.match(first[-1] + second[0])
    return bool(classes[0] != classes[1] or changes or node.tag in ("a", "button"))


def _runs(container: "LexborNode") -> Iterator[list["LexborNode"]]:
    """Yield the sequences of text and inline elements that are direct children of a container."""
    run: list[LexborNode] = []
    for node in [*container.iter(include_text=True), None]:
        if node is not None and (node.is_text_node or node.tag not in _NOT_INLINE):
            run.append(node)
            continue
        if any(part.is_text_node and any(map(str.isalnum, part.text())) for part in run):
            yield run
        run = []


def _wrap(page: "LexborHTMLParser", nodes: list["LexborNode"]) -> None:
    """Move adjacent nodes into a new paragraph."""
    if not nodes:
        return
    paragraph = page.create_node("p")
    nodes[0].insert_before(paragraph)
    first = nodes[0].prev
    if first is None:
        return
    for node in nodes:
        first.insert_child(node, move=True)
    linked = sum(len(link.text()) for link in first.css("a"))
    if 2 * linked < len(first.text()):  # an extractor mistakes text with many links for a menu
        first.unwrap_tags(["a"])
