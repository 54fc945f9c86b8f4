"""Reads the text of a Word file (.docx) as Word shows it.

This module reads the body element by element, since the available libraries lose parts of the text.
We tried four libraries on 16 small test files, each with one kind of markup. python-docx read 2
files correctly, mammoth 10, markitdown 11 and docx2python 13.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple
from xml.etree.ElementTree import Element

from conflictscore.retrieval.reading.ooxml import (
    FALSE,
    Package,
    attribute,
    chart_title,
    child,
    children,
    diagram_texts,
    is_on,
    name_of,
    number_of,
    opened,
)
from conflictscore.retrieval.reading.texts import RichText, left_out_notes, mark
from conflictscore.retrieval.reading.word_blocks import (
    chosen,
    descend,
    goes_on,
    is_used,
    numbered,
)
from conflictscore.retrieval.reading.word_fields import (
    WordFields,
    check_box,
    fields_of,
    selected_entry,
)
from conflictscore.retrieval.reading.word_formulas import formula
from conflictscore.retrieval.reading.word_numbering import Numbering
from conflictscore.retrieval.reading.word_styles import Styles, has_fill
from conflictscore.retrieval.shaping.counting import roman
from conflictscore.retrieval.shaping.formulas import raised
from conflictscore.retrieval.shaping.symbol_fonts import (
    UNKNOWN_SIGN,
    UNKNOWN_SIGN_NAME,
    signs_of,
    with_signs,
)
from conflictscore.retrieval.shaping.table_columns import Cell, grid, table_lines

# Elements whose text is not shown: deleted and moved text, field instructions, properties, the
# pronunciation above a word (rt), and the positions of drawings, which are numbers.
_LEFT_OUT = frozenset(
    (
        "del", "moveFrom", "delText", "delInstrText", "instrText", "rPr", "pPr", "tblPr", "tblGrid",
        "trPr", "tcPr", "sectPr", "sdtPr", "sdtEndPr", "proofErr", "fldData", "rt", "posOffset",
        "pctWidth", "pctHeight", "align",
    )
)  # fmt: skip
_MARKED = {
    "chart": "chart",
    "OLEObject": "embedded object",
    "altChunk": "embedded document",
    "pic": "picture",
    "imagedata": "picture",
    "contentPart": "drawing by hand",
}
"""Visible elements without text, which are replaced with a placeholder."""


def read_docx(data: bytes) -> RichText:
    """Return the text of a .docx file.

    Inserted and moved text is read; deleted, struck-out and hidden text is left out. Lists and
    clauses are numbered, and superscripts and subscripts are marked (10^6, H_2O). A merged cell is
    repeated in each place that it covers. Footnotes and endnotes follow the body.

    Raises:
        ValueError: The file is not a .docx file, unpacks to more than 100 MB, or declares entities.
        Exception: The file is damaged.
    """
    with opened(data, "docx", "word/document.xml") as (package, main):
        return _Walk(package, main).read()


class _Ground(NamedTuple):
    """The context of a run (text with uniform formatting), such as its paragraph and background."""

    paragraph: Element | None = None
    shaded: bool = False  # Whether the background may be dark.
    boxes: list[str] = []  # noqa: RUF012 - a paragraph brings its own
    fields: WordFields = WordFields(set(), {})
    described: str = ""  # The author's alternative text for a picture.
    font: str = ""  # Empty for the document's default font.


class _Walk:
    """Reads one document and collects notes on its content."""

    def __init__(self, package: Package, main: str) -> None:
        self._package, self._main, self._related = package, main, package.related(main)
        self._styles = Styles(self._part("styles"))
        self._numbering = Numbering(self._part("numbering"))
        self._notes: dict[tuple[str, str], str] = {}
        self._note_keys: list[tuple[str, str]] = []
        self._note_texts: dict[tuple[str, str], Element] = {}
        self._note_counts: Counter[str] = Counter()
        self._not_in_words: Counter[str] = Counter()

    def read(self) -> RichText:
        """Return the document's text, its title, and notes about non-text content."""
        root = self._package.needed(self._main, "document")
        color = (attribute(child(root, "background"), "color") or "ffffff").lower()
        dark_page = color != "ffffff" and is_on(self._part("settings"), "displayBackgroundShape")
        # the body is read first, so that lists in headers do not change its numbers, and the notes
        # are read last, since any part may refer to one
        lines = list(self._lines(root, dark_page))
        above, below = (self._margins(root, kind) for kind in ("header", "footer"))
        text = "\n".join([*above, *lines, *self._note_lines(dark_page), *below])
        return RichText(text, self._package.title(), left_out_notes(self._not_in_words))

    def _part(self, kind: str) -> Element | None:
        return self._package.part(self._package.target(self._main, kind))

    def _margins(self, root: Element, kind: str) -> list[str]:
        """Return the lines of headers or footers, without repetitions or bare page numbers."""
        has_even = is_on(self._part("settings"), "evenAndOddHeaders")
        ids = [
            attribute(each, "id")
            for section in root.iter()
            if name_of(section) == "sectPr"
            for each in section
            if name_of(each) == f"{kind}Reference" and is_used(each, section, has_even)
        ]
        lines: list[str] = []
        for name in {self._related.get(i or "", ("", ""))[1]: None for i in ids}:
            # headers and footers often lie on a drawn shape, so their background may be dark
            lines += self._part_lines(name, self._package.part(name), dark_ground=True)
        return [line for line in dict.fromkeys(lines) if any(map(str.isalpha, line))]

    def _part_lines(self, name: str, parent: Element | None, *, dark_ground: bool) -> list[str]:
        """Return the lines of an element outside the main part.

        References to pictures and charts are looked up in the part that contains them.
        """
        of_main, self._related = self._related, self._package.related(name)
        lines = list(self._lines(children(parent), dark_ground))
        self._related = of_main
        return lines

    def _lines(self, parent: Iterable[Element], dark_ground: bool) -> Iterator[str]:
        """Yield the lines in an element, one for each paragraph or table row.

        A paragraph that continues ends with the next paragraph, or before anything else with text.
        """
        number = initial = ""
        boxes: list[str] = []
        for each in parent:
            after: list[str] = []
            if name_of(each) == "p":
                properties = child(each, "pPr")
                initial += self._paragraph(each, boxes, dark_ground)
                continues = goes_on(properties)
                # a list item is not counted if its whole text was deleted
                if not number and (initial.strip() or not continues):
                    number = self._number(properties)
                if continues:
                    continue
            elif not (after := list(self._other_lines(each, dark_ground))):
                continue
            yield from filter(str.strip, (*numbered(number, initial), *boxes, *after))
            number, initial, boxes = "", "", []
        yield from filter(str.strip, (*numbered(number, initial), *boxes))

    def _other_lines(self, element: Element, dark_ground: bool) -> Iterator[str]:
        """Yield the lines of an element that is not a paragraph."""
        name = name_of(element)
        if name == "tbl":
            yield from self._table(element, dark_ground)
        elif name in _MARKED:
            yield self._mark(element, "")
        elif name in ("oMath", "oMathPara"):
            yield formula(element)
        elif name not in _LEFT_OUT and not _is_placeholder(element):
            yield from self._lines(chosen(element), dark_ground)

    def _paragraph(self, paragraph: Element, boxes: list[str], dark_ground: bool) -> str:
        properties = child(paragraph, "pPr")
        ground = _Ground(properties, dark_ground, boxes, fields_of(paragraph))
        return "".join(self._inline(paragraph, ground))

    def _number(self, properties: Element | None) -> str:
        """Count a list paragraph and return its number; return an empty string outside lists."""
        place = self._styles.list_of(properties)
        if place is None:
            return ""
        number, level = place
        if isinstance(level, str):
            level = self._numbering.level_of(number, level)
        return self._numbering.mark(number, level)

    def _table(self, table: Element, dark_ground: bool) -> Iterator[str]:
        dark_ground = dark_ground or self._styles.fills_table(table)
        rows: list[list[Cell]] = []
        above: dict[int, tuple[int, int]] = {}
        headers = 0
        for row in descend(table, "tr"):
            properties = child(row, "trPr")
            if is_on(properties, "del", "hidden"):
                continue
            # only rows at the top are headers
            headers += is_on(properties, "tblHeader") and headers == len(rows)
            rows.append(self._row(row, rows, above, dark_ground))
        yield from table_lines(grid(rows), headers)

    def _row(
        self,
        row: Element,
        rows: list[list[Cell]],
        above: dict[int, tuple[int, int]],
        dark_ground: bool,
    ) -> list[Cell]:
        """Return the cells of a row.

        A cell that continues the cell above it is not returned. Instead, the upper cell is extended
        by one row; ``above`` contains the row and index of the upper cell for each column.
        """
        properties = child(row, "trPr")
        # one empty cell stands for all columns before the row; ``grid`` limits how many it spans
        column = max(0, number_of(properties, "gridBefore", default=0))
        cells = [Cell("", column)] if column else []
        for cell in descend(row, "tc"):
            kind = child(cell, "tcPr")
            if is_on(kind, "cellDel"):
                continue
            width = max(1, number_of(kind, "gridSpan", default=1))
            # without the value "restart", a merged cell continues the one above or before it
            down, along = child(kind, "vMerge"), child(kind, "hMerge")
            if along is not None and attribute(along, "val") != "restart" and cells:
                cells[-1] = cells[-1]._replace(columns=cells[-1].columns + width)
            elif down is not None and attribute(down, "val") != "restart" and column in above:
                number, place = above[column]
                origin = rows[number][place]
                rows[number][place] = origin._replace(rows=origin.rows + 1)
            else:
                text = " ".join(self._lines(cell, dark_ground or has_fill(kind)))
                above[column] = len(rows), len(cells)
                cells.append(Cell(text, width))
            column += width
        after = max(0, number_of(properties, "gridAfter", default=0))
        return [*cells, *([Cell("", after)] if after else [])]

    def _inline(self, parent: Element, ground: _Ground) -> Iterator[str]:
        """Yield the text in a paragraph; the text of text boxes is added to ``ground.boxes``."""
        for each in parent:
            name = name_of(each)
            is_unseen = name in _LEFT_OUT or each in ground.fields.unseen
            if is_unseen or _is_placeholder(each):
                continue
            if name == "r":
                yield self._run(each, ground)
            elif name == "t":
                yield with_signs(each.text or "", ground.font, self._not_in_words)
            elif each in ground.fields.drawn:
                yield self._counted(ground.fields.drawn[each])
            elif name in _MARKED:
                yield self._mark(each, _alternative(each, parent) or ground.described)
            elif name in _SIGNS:
                yield _SIGNS[name](each)
            elif name == "txbxContent":
                # the shape around a text box may have any colour
                ground.boxes.extend(self._lines(each, dark_ground=True))
            elif (text := self._referred(name, each)) is not None:
                yield text
            else:
                yield from self._inline(chosen(each), _described(each, ground))

    def _referred(self, name: str, element: Element) -> str | None:
        """Return the text for a note, comment, diagram, object or symbol, and otherwise None."""
        if name in ("footnoteReference", "endnoteReference"):
            return self._note(name.removesuffix("Reference"), element)
        if name == "commentReference":  # comments are remarks on the text, so they are not read
            self._not_in_words["comment"] += 1
            return ""
        if name == "relIds":
            return self._diagram(element)
        # an embedded object is stored with its picture, and the two get one placeholder
        if name == "object" and (embedded := child(element, "OLEObject")) is not None:
            shape = next((each for each in element if name_of(each) == "shape"), element)
            return self._mark(embedded, _alternative(embedded, shape))
        return self._sign(element) if name == "sym" else None

    def _run(self, run: Element, ground: _Ground) -> str:
        properties = child(run, "rPr")
        if self._styles.hides(ground.paragraph, properties, ground.shaded):
            return ""
        font = self._styles.font(ground.paragraph, properties)
        text = "".join(self._inline(run, ground._replace(font=font)))
        position = {"superscript": "^", "subscript": "_"}.get(
            self._styles.raised(ground.paragraph, properties), ""
        )
        return raised(text, position)

    def _sign(self, element: Element) -> str:
        """Return a character of a symbol font as Unicode."""
        char = attribute(element, "char") or ""
        if not _CODE.fullmatch(char):
            return self._counted(UNKNOWN_SIGN)
        code, font = int(char, 16), attribute(element, "font")
        # Word adds 0xF000 to the codes of symbol fonts; a code without a font is a plain character
        is_plain = not font and 0xF000 <= code <= 0xF0FF
        return self._counted(signs_of(font or "", [code & 0xFFF if is_plain else code]))

    def _counted(self, text: str) -> str:
        """Count the unknown symbols in a text, and return the text unchanged."""
        self._not_in_words[UNKNOWN_SIGN_NAME] += text.count(UNKNOWN_SIGN)
        return text

    def _mark(self, element: Element, alternative: str) -> str:
        """Return the placeholder for a picture or other object, with its title or description."""
        kind = _MARKED[name_of(element)]
        self._not_in_words[kind] += 1
        part = self._related.get(attribute(element, "id") or "", ("", ""))[1]
        title = chart_title(self._package.part(part)) if kind == "chart" else ""
        return mark(kind, title or alternative)

    def _diagram(self, element: Element) -> str:
        """Return the text in a diagram (SmartArt), which is in a separate part of the file."""
        part = self._package.part(self._related.get(attribute(element, "dm") or "", ("", ""))[1])
        self._not_in_words["diagram"] += 1
        return f"[diagram: {'; '.join(diagram_texts(part))}]"

    def _note(self, kind: str, reference: Element) -> str:
        """Return the number of a footnote or endnote, whose text follows the body."""
        if kind not in self._note_counts:  # the part is read only once, even if it has no notes
            self._note_counts[kind] = 0
            for note in children(self._part(f"{kind}s")):
                # the other types are the lines that separate notes from the body
                if attribute(note, "type") in (None, "normal"):
                    self._note_texts[kind, attribute(note, "id") or ""] = note
        key = kind, attribute(reference, "id") or ""
        if key not in self._notes:
            self._note_keys.append(key)
            # for a note with a mark of its own, both the text and the note contain this mark
            has_mark = attribute(reference, "customMarkFollows") not in (None, *FALSE)
            self._note_counts[kind] += not has_mark
            # Word's default numbering for endnotes and footnotes
            written = (roman if kind == "endnote" else str)(self._note_counts[kind])
            self._notes[key] = "" if has_mark else written
        return f"[{self._notes[key]}]" if self._notes[key] else ""

    def _note_lines(self, dark_page: bool) -> list[str]:
        """Return a line for each note; notes to which other notes refer come last."""
        note_lines: list[str] = []
        parts = {k: self._package.target(self._main, f"{k}s") for k in ("footnote", "endnote")}
        for kind, name in self._note_keys:  # the list grows if a note refers to another note
            note, number = self._note_texts.get((kind, name)), self._notes[kind, name]
            lines = self._part_lines(parts[kind] or "", note, dark_ground=dark_page)
            if text := " ".join(lines).strip():
                note_lines.append(f"[{number}] {text}" if number else text)
        return note_lines


def _described(element: Element, ground: _Ground) -> _Ground:
    """Return the context inside an element, including the alternative text of a drawing."""
    words = child(element, "docPr")
    return ground if words is None else ground._replace(described=words.get("descr") or "")


def _alternative(picture: Element, shape: Element) -> str:
    """Return the author's alternative text of a picture, or of the shape that contains it."""
    for each in (*picture.iter(), shape):
        if name_of(each) in ("docPr", "cNvPr", "shape"):
            words = each.get("descr") or each.get("alt")
            if words:
                return words
    return ""


def _is_placeholder(element: Element) -> bool:
    """Return whether a form control has only Word's prompt, such as "Click here to enter text"."""
    return is_on(child(element, "sdtPr"), "showingPlcHdr")


_CODE = re.compile(r"[0-9A-Fa-f]{1,5}")  # five digits suffice for every character that Word stores
_SIGNS: dict[str, Callable[[Element], str]] = {
    "oMath": formula,
    "tab": lambda _: "\t",
    "ptab": lambda _: "\t",
    "br": lambda _: "\n",
    "cr": lambda _: "\n",
    "noBreakHyphen": lambda _: "-",
    "softHyphen": lambda _: "",  # shown only at the end of a line
    "ddList": selected_entry,
    "checkBox": check_box,
    "textpath": lambda element: element.get("string") or "",
}
