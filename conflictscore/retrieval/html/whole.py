"""Reads all the text of a page, one line per block or row, without looking for the main text."""

import re
from typing import TYPE_CHECKING, NamedTuple

from conflictscore.retrieval.html.tree import BLOCKS, shown_page

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

# A non-breaking space is kept, since it may join a number to its unit.
_BLANKS = re.compile(r"[^\S\u00a0]+")
_BLANK_LINES = re.compile(r"\n{3,}")
_BLOCK_TAGS = frozenset(BLOCKS.split(","))
# Elements whose text is not shown, or is not part of the content, such as menus (nav).
_NO_TEXT = frozenset(("script", "style", "nav", "svg", "head", "title"))
_PREFORMATTED = frozenset(("pre", "textarea", "listing", "xmp"))


class WholeText(NamedTuple):
    """A page's title and text, and the number of pictures that were replaced with placeholders.

    ``is_unsure`` says whether the text may contain invisible parts.
    """

    title: str
    text: str
    pictures: int = 0
    is_unsure: bool = False


def whole_text(html: str) -> WholeText:
    """Return a page's title and all of its text, one line for each block or row.

    The text is empty if the page shows none.

    Raises:
        UnreadableError: For the same reasons as in
            :func:`~conflictscore.retrieval.html.tree.shown_page`.
    """
    shown = shown_page(html)
    title = shown.tree.css_first("head > title")
    body = shown.tree.body
    heading = " ".join(title.text().split()) if title else ""
    text = text_of(body) if body else ""
    return WholeText(heading, text, shown.pictures, shown.is_unsure)


def text_of(root: "LexborNode") -> str:
    """Return the text below a node.

    White space in the source is significant only in ``pre`` and similar elements.
    """
    writer = _Writer()
    # A stack, not recursion: a hostile page may nest elements more deeply than Python can nest
    # calls.
    stack: list[tuple[LexborNode, bool]] = [(root, False)]
    while stack:
        node, is_end = stack.pop()
        if node.is_text_node:
            writer.text(node.text() or "")
            continue
        tag = node.tag or ""
        if node.is_comment_node or tag in _NO_TEXT:
            continue
        if is_end:
            writer.close(tag)
            continue
        writer.open(tag)
        stack.append((node, True))
        stack.extend((part, False) for part in reversed(list(node.iter(include_text=True))))
    return writer.finished()


class _Writer:
    """Collects text: each block begins a new line, and white space becomes a single space."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._preformatted = 0
        self._ends_blank = True
        """Whether leading white space in the next piece of text is dropped."""

    def text(self, text: str) -> None:
        """Add the text of a node."""
        if self._preformatted:
            self._pieces.append(text)
            self._ends_blank = text.endswith("\n")
            return
        text = _BLANKS.sub(" ", text.replace("\u00ad", ""))  # without soft hyphens
        if self._ends_blank:
            text = text.lstrip(" ")
        if text:
            self._pieces.append(text)
            self._ends_blank = text.endswith(" ")

    def open(self, tag: str) -> None:
        """Begin an element."""
        if tag in _BLOCK_TAGS or tag == "br":
            self._break()
        self._preformatted += tag in _PREFORMATTED

    def close(self, tag: str) -> None:
        """End an element."""
        self._preformatted -= tag in _PREFORMATTED
        if tag in _BLOCK_TAGS:
            self._break()

    def finished(self) -> str:
        """Return the collected text."""
        lines = "".join(self._pieces).split("\n")
        return _BLANK_LINES.sub("\n\n", "\n".join(line.rstrip() for line in lines)).strip("\n")

    def _break(self) -> None:
        if self._pieces and not self._pieces[-1].endswith("\n"):
            self._pieces.append("\n")
        self._ends_blank = True
