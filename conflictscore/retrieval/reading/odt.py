"""Reads the text of an OpenDocument file (.odt) as it is shown.

The content is converted to HTML, because the reader of web pages handles tables, formulas and
hidden text.

Limits without a stated reason were chosen by hand.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from html import escape
from io import BytesIO
from xml.etree.ElementTree import Element, tostring
from zipfile import ZipFile

from conflictscore.retrieval.html.whole import whole_text
from conflictscore.retrieval.pages.page import UnreadableError
from conflictscore.retrieval.reading.odt_styles import ListNumbers, Look, OdtStyles
from conflictscore.retrieval.reading.ooxml import Package, attribute, child, children, name_of
from conflictscore.retrieval.reading.texts import (
    RichText,
    described,
    left_out_notes,
    mark,
    pictures_note,
)
from conflictscore.retrieval.shaping.formulas import raised
from conflictscore.retrieval.shaping.symbol_fonts import with_signs

# Elements that are not read at their place: deleted text, settings, and text that is shown
# elsewhere or not at all. "title" and "desc" are the alternative text of pictures, which is read
# with the picture. "ruby-text" is the pronunciation above a word. "covered-table-cell" is a cell
# that a merged cell covers.
_LEFT_OUT = frozenset(
    (
        "tracked-changes", "forms", "sequence-decls", "variable-decls", "user-field-decls",
        "dde-connection-decls", "title", "desc", "event-listeners", "ruby-text", "script",
        "table-of-content-source", "alphabetical-index-source", "index-entry-template",
        "table-column", "table-columns", "table-header-columns", "covered-table-cell", "glue-point",
    )
)  # fmt: skip
# Maximum copies of a repeated cell or space; some files declare a million empty ones.
_MOST_REPEATED = 200
_DEEPEST = 100  # Maximum nesting depth; a deeper file would exceed Python's recursion limit.


def read_odt(data: bytes) -> RichText:
    """Return the text of an .odt file.

    Deleted, struck-out and hidden text is left out. Lists and headings are numbered, superscripts
    and subscripts are marked (10^6, H_2O), and footnotes and endnotes follow the body. Headers and
    footers appear once.

    Raises:
        UnreadableError: The file is protected by a password.
        ValueError: The file is not an .odt file, unpacks to more than 100 MB, or declares entities.
        Exception: The file is damaged.
    """
    with ZipFile(BytesIO(data)) as file:
        package = Package(file)
        manifest = package.part("META-INF/manifest.xml")
        if manifest is not None and any(name_of(e) == "encryption-data" for e in manifest.iter()):
            raise UnreadableError("is locked by a password")
        return _Walk(package).read()


class _Walk:
    """Reads one document and collects the notes on it."""

    def __init__(self, package: Package) -> None:
        content, styles = package.needed("content.xml", "document"), package.part("styles.xml")
        self._package, self._content, self._style_part = package, content, styles
        self._styles = OdtStyles(styles, content)
        self._page_ground = _page_ground(styles)
        self._headings = ListNumbers(self._styles.outline)
        self._lists: dict[str, ListNumbers] = {}
        self._not_in_words: Counter[str] = Counter()
        self._notes: list[str] = []
        self._boxes: list[str] = []
        self._pictures = 0
        self._controls = {attribute(e, "id") or "": e for e in _form_parts(content)}

    def read(self) -> RichText:
        """Return the document's text, its title, and notes on non-text content."""
        body = child(self._content, "body", "text")
        if body is None:
            raise ValueError("it is not a text document")
        # before headers and footers, so that a heading there does not change the body's numbers
        page = "".join(self._blocks(body, 0))
        notes = "".join(self._notes)
        above, below = (self._margins(kind) for kind in ("header", "footer"))
        text = "\n".join(filter(None, (above, self._shown(f"{page}{notes}"), below)))
        pictures = (pictures_note(self._pictures),) if self._pictures else ()
        return RichText(text, self._title(), (*pictures, *left_out_notes(self._not_in_words)))

    def _shown(self, html: str) -> str:
        """Return the text of a part that was converted to HTML, and count its pictures."""
        # white text is read if any page has a coloured background, since it may be on that page
        look = Look(css=self._page_ground and f"background:{self._page_ground}")
        whole = whole_text(f"<div{_css(look)}>{html}</div>")
        self._pictures += whole.pictures
        return whole.text

    def _title(self) -> str:
        meta = self._package.part("meta.xml")
        parts = meta.iter() if meta is not None else iter(())
        return next((part.text or "" for part in parts if name_of(part) == "title"), "")

    def _margins(self, kind: str) -> str:
        """Return the lines of headers or footers, without repetitions or bare page numbers."""
        pages = children(child(self._style_part, "master-styles"))
        # first pages and left pages may have headers of their own
        names = (kind, f"{kind}-first", f"{kind}-left")
        parts = [
            part
            for page in pages
            for part in page
            if name_of(part) in names and attribute(part, "display") != "false"
        ]
        html = "".join(block for part in parts for block in self._blocks(part, 0))
        lines = self._shown(html).split("\n") if html else []
        # lines without a letter are page numbers and rules
        return "\n".join(line for line in dict.fromkeys(lines) if any(map(str.isalpha, line)))

    def _blocks(self, parts: Iterable[Element], depth: int, number: str = "") -> Iterator[str]:
        """Yield the blocks in parts of the document; ``number`` precedes the first paragraph."""
        if depth > _DEEPEST:
            raise ValueError(f"its parts are nested more than {_DEEPEST} deep")
        for each in parts:
            name = name_of(each)
            if name in ("p", "h"):
                yield self._paragraph(each, number)
                number = ""
                yield from self._boxes
                self._boxes = []
            elif name == "list":
                yield from self._list(each, depth + 1, "", 1)
            elif name == "table":
                yield f"<table>{''.join(self._table(each, depth + 1))}</table>"
            elif name in ("frame", "g", "custom-shape"):  # anchored to the page
                yield f"<p>{''.join(self._inline_parts([each], ''))}</p>"
                yield from self._boxes
                self._boxes = []
            elif not (_is_left_out(each) or _is_hidden(each)):
                yield from self._blocks(each, depth + 1)

    def _paragraph(self, element: Element, number: str) -> str:
        look = self._styles.look("paragraph", attribute(element, "style-name"))
        # a field may hide the paragraph that contains it, also from within a span
        fields = (*element, *(part for span in element for part in span))
        if look.is_hidden or any(
            name_of(e) == "hidden-paragraph" and _is_hidden(e) for e in fields
        ):
            return ""
        text = "".join(self._inline(element, look.font))
        if name_of(element) == "h" and text.strip() and not number:
            level = attribute(element, "outline-level") or "1"
            number = self._headings.mark(int(level) if level in _LEVELS else 1)
        # only now, since a heading is counted even if it is struck out
        if look.is_struck:
            return ""
        return f"<p{_css(look)}>{escape(number) if text.strip() else ''}{text}</p>"

    def _list(self, element: Element, depth: int, style: str, level: int) -> Iterator[str]:
        """Yield the blocks of a list; a nested list without a style uses the outer list's style."""
        own_style = attribute(element, "style-name") or ""
        if level == 1 or own_style not in ("", style):
            style = own_style
            goes_on = attribute(element, "continue-numbering") == "true"
            if not (goes_on or attribute(element, "continue-list")) or style not in self._lists:
                self._lists[style] = ListNumbers(self._styles.list_style(style))
        numbers = self._lists[style]
        for item in element:
            number = ""
            # an item that contains only a list has no number of its own
            if name_of(item) == "list-item" and any(name_of(each) != "list" for each in item):
                number = numbers.mark(level, attribute(item, "start-value"))
            for each in item:
                if name_of(each) == "list":
                    yield from self._list(each, depth + 1, style, level + 1)
                    continue
                yield from self._blocks([each], depth + 1, number)
                number = ""

    def _table(self, table: Element, depth: int, cell_name: str = "td") -> Iterator[str]:
        for each in table:
            name = name_of(each)
            if name == "table-header-rows":
                yield f"<thead>{''.join(self._table(each, depth + 1, 'th'))}</thead>"
            elif name in ("table-rows", "table-row-group"):
                yield from self._table(each, depth + 1)
            elif name == "table-row" and attribute(each, "visibility") not in _HIDDEN_ROW:
                cells = "".join(self._cells(each, depth + 1, cell_name))
                yield f"<tr>{cells}</tr>"

    def _cells(self, row: Element, depth: int, cell_name: str) -> Iterator[str]:
        for cell in row:
            if name_of(cell) != "table-cell":
                continue
            spans = "".join(
                f" {name}='{_count(attribute(cell, f'number-{kind}-spanned'))}'"
                for name, kind in (("colspan", "columns"), ("rowspan", "rows"))
            )
            look = self._styles.look("table-cell", attribute(cell, "style-name"))
            blocks = "".join(self._blocks(cell, depth + 1))
            again = _count(attribute(cell, "number-columns-repeated"))
            yield f"<{cell_name}{spans}{_css(look)}>{blocks}</{cell_name}>" * again

    def _inline(self, parent: Element, font: str) -> Iterator[str]:
        """Yield the text in a paragraph as HTML; the text of its text boxes follows later."""
        yield self._words(parent.text, font)
        yield from self._inline_parts(parent, font)

    def _inline_parts(self, parts: Iterable[Element], font: str) -> Iterator[str]:
        for each in parts:
            name = name_of(each)
            if name == "span":
                yield self._span(each, font)
            elif name in _SIGNS:
                yield _SIGNS[name] * _count(attribute(each, "c"))
            elif name == "note":
                yield self._note(each)
            elif name == "annotation":
                self._not_in_words["comment"] += 1
            elif name == "frame":
                yield self._frame(each)
            elif name == "control":
                control = self._controls.get(attribute(each, "control") or "")
                yield escape(_state(control)) if control is not None else ""
            elif name in ("p", "h", "list", "text-box"):
                blocks = self._enclosed([each])
                self._boxes += blocks
            elif not (_is_left_out(each) or _is_hidden(each)):
                yield from self._inline(each, font)
            yield self._words(each.tail, font)

    def _enclosed(self, parts: Iterable[Element]) -> list[str]:
        """Return the blocks of a text box or note, without the boxes of the paragraph around it."""
        boxes, self._boxes = self._boxes, []
        # The depth of the paragraph is not passed on. Deeply nested boxes and spans end in a
        # RecursionError, which refuses the file like any other damage.
        blocks = list(self._blocks(parts, 1))
        self._boxes = boxes
        return blocks

    def _span(self, span: Element, font: str) -> str:
        look = self._styles.look("text", attribute(span, "style-name"))
        if look.is_hidden or look.is_struck:
            return ""
        text = "".join(self._inline(span, look.font or font))
        text = raised(text, look.position)
        return f"<span{_css(look)}>{text}</span>" if look.css else text

    def _words(self, text: str | None, font: str) -> str:
        text = _LINE_ENDS.sub(" ", text or "")  # in OpenDocument, a line end is a space
        return escape(with_signs(text, font, self._not_in_words))

    def _note(self, note: Element) -> str:
        """Return the number of a footnote or endnote, whose text follows the body."""
        citation, body = child(note, "note-citation"), child(note, "note-body")
        number = "".join(citation.itertext()) if citation is not None else ""
        blocks = "".join(self._enclosed(children(body)))
        words = self._shown(blocks) if blocks else ""
        self._notes.append(f"<p>[{escape(number)}] {escape(' '.join(words.split()))}</p>")
        return f"[{escape(number)}]"

    def _frame(self, frame: Element) -> str:
        """Return the content of a frame as HTML: an image, a formula, a text, or a placeholder."""
        # the first content is shown; any others are alternatives for programs that cannot show it
        content = next((each for each in frame if not _is_left_out(each)), None)
        if content is None:
            return ""
        if name_of(content) == "image":
            words = _described(frame)
            return f"<img src='image' alt='{words}'>" if words else "<img src='image'>"
        if name_of(content) == "object":
            return self._object(content, _described(frame))
        if name_of(content) in _EMBEDDED:
            self._not_in_words["embedded object"] += 1
            return mark("embedded object", _described(frame))
        return "".join(self._inline_parts([content], ""))

    def _object(self, element: Element, words: str) -> str:
        """Return an object as HTML: MathML for a formula, or a placeholder for anything else."""
        place = (attribute(element, "href") or "").removeprefix("./").strip("/")
        root = self._package.part(f"{place}/content.xml")
        root = next(children(element), None) if root is None else root
        if root is not None and name_of(root) == "math":
            for part in root.iter():
                part.tag = name_of(part)  # in HTML, these elements have no namespace
            return tostring(root, "unicode")
        kind = "chart" if child(root, "body", "chart") is not None else "embedded object"
        self._not_in_words[kind] += 1
        return mark(kind, words)


def _page_ground(styles: Element | None) -> str:
    """Return the first background colour of a page, such as ``#000000``; empty if there is none."""
    pages = children(child(styles, "master-styles"))
    names = {attribute(page, "page-layout-name") or "" for page in pages}
    colors = (
        attribute(child(layout, "page-layout-properties"), "background-color") or ""
        for layout in children(child(styles, "automatic-styles"))
        if name_of(layout) == "page-layout" and attribute(layout, "name") in names
    )
    return next((color for color in colors if color.startswith("#")), "")


def _is_left_out(element: Element) -> bool:
    """Return whether an element is left out here; a field that shows the file's title is kept."""
    return name_of(element) in _LEFT_OUT and not element.tag.endswith(_TITLE_FIELD)


def _is_hidden(element: Element) -> bool:
    """Return whether a section or field is hidden, either always or because its condition holds."""
    return attribute(element, "display") == "none" or attribute(element, "is-hidden") == "true"


def _form_parts(content: Element) -> Iterator[Element]:
    for forms in content.iter():
        if name_of(forms) == "forms":
            yield from forms.iter()


def _state(control: Element) -> str:
    """Return what a form control shows: its state or text, and its label."""
    kind, label = name_of(control), attribute(control, "label") or ""
    if kind in ("checkbox", "radio"):
        states = (attribute(control, f"current-{name}") for name in ("state", "selected"))
        first = (attribute(control, name) for name in ("state", "selected"))
        state = next(filter(None, (*states, *first)), "")
        return f"{'☒' if state in ('checked', 'true') else '☐'} {label}".strip()
    if kind in ("listbox", "combobox") and not attribute(control, "current-value"):
        options = (each for each in control if attribute(each, "current-selected") == "true")
        return next((attribute(each, "label") or "" for each in options), "")
    return attribute(control, "current-value") or attribute(control, "value") or label


def _described(frame: Element) -> str:
    """Return the alternative text for a frame's content, as HTML."""
    parts = (child(frame, name) for name in ("desc", "title"))
    words = next((part.text for part in parts if part is not None and part.text), "")
    return escape(described(words), quote=True)


# The levels of headings and lists in OpenDocument.
_LEVELS = frozenset(map(str, range(1, 11)))
_HIDDEN_ROW = ("collapse", "filter")
# Elements for objects embedded from other programs; their text is not read.
_EMBEDDED = ("plugin", "applet", "floating-frame", "object-ole")
_TITLE_FIELD = ":text:1.0}title"
_LINE_ENDS = re.compile("[\n\r\x85\u2028\u2029]+")
# The element "s" stands for repeated spaces, which an HTML parser would reduce to one.
_SIGNS = {"s": "\u00a0", "tab": "\t", "line-break": "<br>"}


def _css(look: Look) -> str:
    return f" style='{escape(look.css, quote=True)}'" if look.css else ""


def _count(text: str | None) -> int:
    # six digits are enough for _MOST_REPEATED; a hostile file may contain many more
    is_number = bool(text) and (text or "").isascii() and (text or "").isdecimal()
    return max(1, min(int((text or "")[:6]), _MOST_REPEATED)) if is_number else 1
