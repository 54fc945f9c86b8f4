"""Numbers the items of a page's ordered lists as a browser would."""

import re
from typing import TYPE_CHECKING

from conflictscore.retrieval.shaping.counting import greek, letters, roman

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_UNNUMBERED = ("none", "disc", "circle", "square")
"""Kinds of lists that show no numbers."""
# Browsers read the digits at the start and ignore the rest. A hostile page may contain a number of
# any length, so longer numbers are ignored.
_INTEGER = re.compile(r"\s{0,9}([-+]?[0-9]{1,9})(?![0-9])", re.ASCII)
_AROUND_WORDS = (
    "p", "div", "span", "b", "strong", "h1", "h2", "h3", "h4", "h5", "h6", "section", "article",
    "header",
)  # fmt: skip
"""Elements inside which a number is put. In front of a block, the number would be a separate
line."""


def number_lists(body: "LexborNode") -> None:
    """Put a number before each item of an ordered list, unless the item's number is hidden."""
    for ordered in body.css("ol"):
        attributes = ordered.attributes
        items = [item for item in ordered.iter() if item.tag == "li"]
        backwards = "reversed" in attributes
        number = _integer(attributes.get("start"), len(items) if backwards else 1)
        for item in items:
            number = _integer(item.attributes.get("value"), number)
            first = item.child
            kind = item.attributes.get("type") or attributes.get("type") or "1"
            if first is not None and kind not in _UNNUMBERED:
                _before_words(item, f"{counted(number, kind)}. ")
            number += -1 if backwards else 1


def _before_words(item: "LexborNode", mark: str) -> None:
    """Put a list number before an item's first words, inside their paragraph if there is one."""
    inner = item
    while (first := _first_part(inner)) is not None and first.tag in _AROUND_WORDS:
        inner = first
    start = inner.child
    if start is not None:
        start.insert_before(mark)


def _first_part(node: "LexborNode") -> "LexborNode | None":
    """Return the first child that is an element or has words."""
    return next(
        (
            part
            for part in node.iter(include_text=True)
            if not part.is_text_node or part.text().strip()
        ),
        None,
    )


def _integer(text: str | None, default: int) -> int:
    match = _INTEGER.match(text or "")
    return int(match[1]) if match else default


def counted(number: int, kind: str) -> str:
    """Return a number in the style of a kind of list.

    The kind is the value of the attribute ``type``, or alpha for Greek letters.
    """
    if kind in ("a", "A"):
        text = letters(number)
    elif kind in ("i", "I"):
        text = roman(number)
    elif kind == "α":
        text = greek(number)
    else:
        text = str(number)
    return text.upper() if kind in ("A", "I") else text
