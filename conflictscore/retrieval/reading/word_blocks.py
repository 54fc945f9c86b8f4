"""Finds the paragraphs, rows and cells of a Word file that belong together or are unused."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from conflictscore.retrieval.reading.ooxml import attribute, child, is_on, name_of


def is_used(reference: Element, section: Element, has_even: bool) -> bool:
    """Return whether Word uses a header or footer.

    Those for first or even pages are used only if a setting of the section or file says so.
    """
    kind = attribute(reference, "type")
    return has_even if kind == "even" else kind != "first" or is_on(section, "titlePg")


def numbered(number: str, text: str) -> list[str]:
    """Return the lines of a paragraph, with the paragraph's number before the first line."""
    return (f"{number} {text}" if number and text.strip() else text).split("\n")


def goes_on(properties: Element | None) -> bool:
    """Return whether a paragraph continues in the next one.

    A paragraph continues if it is a drop cap (a large first letter, which is a paragraph of its
    own), or if its end mark is hidden or was deleted.
    """
    if attribute(child(properties, "framePr"), "dropCap") in ("drop", "margin"):
        return True
    end = child(properties, "rPr")
    gone = child(end, "del") is not None or child(end, "moveFrom") is not None
    return gone or is_on(end, "vanish")


def descend(parent: Element, name: str) -> Iterator[Element]:
    """Yield the rows or cells in a table, which tracked changes and controls may enclose."""
    for each in parent:
        if name_of(each) == name:
            yield each
        elif name_of(each) in ("sdt", "sdtContent", "customXml", "ins", "moveTo"):
            yield from descend(each, name)


def chosen(element: Element) -> Element:
    """Return an element's version for Word 2010 and later, or the element if it has no versions."""
    return next((form for form in element if name_of(form) == "Choice" and len(form)), element)
