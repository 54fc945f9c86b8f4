"""Numbers the items of a page's ordered lists as a browser would."""

from typing import TYPE_CHECKING

from conflictscore.retrieval.shaping.counting import greek, letters, roman

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode


def number_lists(body: "LexborNode") -> None:
    """Put a number before each item of an ordered list, unless the list's numbers are hidden."""
    for ordered in body.css("ol"):
        attributes = ordered.attributes
        if attributes.get("type") == "none":
            continue
        items = [item for item in ordered.iter() if item.tag == "li"]
        backwards = "reversed" in attributes
        number = _integer(attributes.get("start"), len(items) if backwards else 1)
        for item in items:
            number = _integer(item.attributes.get("value"), number)
            first = item.child
            kind = item.attributes.get("type") or attributes.get("type") or "1"
            if first is not None:
                _before_words(item, f"{counted(number, kind)}. ")
            number += -1 if backwards else 1


def _before_words(item: "LexborNode", mark: str) -> None:
    """Put a list mark before an item's first words, inside their paragraph if they have one."""
    inner = item
    while (first := _first_part(inner)) is not None and first.tag in (
        "p",
        "div",
        "span",
        "b",
        "strong",
    ):
        inner = first
    start = inner.child
    if start is not None:
        start.insert_before(mark)


def _first_part(node: "LexborNode") -> "LexborNode | None":
    return next(
        (
            part
            for part in node.iter(include_text=True)
            if not part.is_text_node or part.text().strip()
        ),
        None,
    )


def _integer(text: str | None, default: int) -> int:
    try:
        # a hostile page may contain a number of any length
        return int((text or "")[:9])
    except ValueError:
        return default


def counted(number: int, kind: str) -> str:
    """Return a number as a list of this kind shows it (the attribute ``type``)."""
    if kind in ("a", "A"):
        text = letters(number)
    elif kind in ("i", "I"):
        text = roman(number)
    elif kind == "α":
        text = greek(number)
    else:
        text = str(number)
    return text.upper() if kind in ("A", "I") else text
