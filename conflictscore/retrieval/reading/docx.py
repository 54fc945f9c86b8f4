"""The text of a Word file as Word shows it.

The body is walked element by element, since the libraries at hand lose parts of it: of 16 small
files of this project with one kind of markup each, python-docx read 2 rightly, mammoth 10,
markitdown 11 and docx2python 13.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from io import BytesIO
from posixpath import dirname, join, normpath
from xml.etree import ElementTree  # entities are refused below
from xml.etree.ElementTree import Element
from zipfile import ZipFile

from conflictscore.retrieval.reading.texts import Note, NoteKind, RichText

_OLE = b"\xd0\xcf\x11\xe0"
_LARGEST_UNPACKED = 100_000_000
"""Bytes of all parts; the tree of as much XML fills the memory that a reader may take."""
_LEFT_OUT = frozenset(
    (
        *("del", "moveFrom", "delText", "instrText", "rPr", "pPr", "tblPr", "tblGrid", "trPr"),
        *("tcPr", "sectPr", "sdtPr", "sdtEndPr", "proofErr", "fldData", "rt"),
    )
)
_NOTED = {
    "chart": "a chart",
    "relIds": "a diagram",
    "OLEObject": "an embedded object",
    "altChunk": "an embedded document",
    "commentReference": "a comment",
    "pic": "a picture",
}
_MERGED = ("vMerge", "hMerge")
_HIDING = ("vanish", "strike", "dstrike")
_FALSE = ("0", "false", "off", "none")


def read_docx(data: bytes) -> RichText:
    """The text of a .docx file.

    Insertions and moved text are read, deletions, struck and hidden text left out; raised and
    lowered text is marked (10^6, H_2O), and a merged cell stands once. Notes follow the body.

    Raises:
        ValueError: It is none, unpacks to more than 100 MB, or declares entities.
        Exception: It is damaged.
    """
    if data.startswith(_OLE):
        raise ValueError("it is locked by a password, or a .doc: save it as .docx without one")
    with ZipFile(BytesIO(data)) as file:
        if sum(part.file_size for part in file.infolist()) > _LARGEST_UNPACKED:
            raise ValueError(f"unpacked it is larger than {_LARGEST_UNPACKED // 1_000_000} MB")
        package = _Package(file)
        main = package.target("", "officeDocument") or "word/document.xml"
        return _Walk(package, main).read()


class _Package:
    def __init__(self, file: ZipFile) -> None:
        self._file = file
        self._names = set(file.namelist())

    def part(self, name: str | None) -> Element | None:
        if name not in self._names:
            return None
        data = self._file.read(name)
        if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
            raise ValueError("it declares entities, as no Word file does")
        return ElementTree.fromstring(data)  # noqa: S314 - see above

    def related(self, name: str) -> dict[str, tuple[str, str]]:
        """By its id, the kind and name of each part that a part refers to."""
        tree = self.part(join(dirname(name), "_rels", f"{name.rpartition('/')[2]}.rels"))
        found: dict[str, tuple[str, str]] = {}
        for one in tree if tree is not None else ():
            kind = one.get("Type", "").rpartition("/")[2]
            target = one.get("Target", "")
            place = target[1:] if target.startswith("/") else normpath(join(dirname(name), target))
            found[one.get("Id", "")] = kind, place
        return found

    def target(self, name: str, kind: str) -> str | None:
        """The first part of a kind that a part refers to."""
        return next((place for k, place in self.related(name).values() if k == kind), None)


class _Walk:
    def __init__(self, package: _Package, main: str) -> None:
        self._package, self._main = package, main
        self._related = package.related(main)
        self._hidden_styles = _hidden_styles(self._part("styles"))
        self._notes: dict[tuple[str, str], str] = {}
        self._left_out: Counter[str] = Counter()

    def read(self) -> RichText:
        body = self._package.part(self._main)
        if body is None:
            raise ValueError("it has no document in it")
        lines = list(self._lines(body))
        lines += [f"[{number}] {text}" for (_, number), text in self._notes.items() if text]
        above, below = (self._margins(body, kind) for kind in ("header", "footer"))
        counted = (f"{what} ({n} times)" if n > 1 else what for what, n in self._left_out.items())
        core = self._package.part(self._package.target("", "core-properties"))
        titles = (e.text for e in core if _name(e) == "title") if core is not None else iter(())
        title = next(titles, None) or ""
        left_out = ", ".join(counted)
        notes = (Note(NoteKind.NOT_IN_WORDS, f"left out {left_out}"),) if left_out else ()
        return RichText("\n".join([*above, *lines, *below]), title, notes)

    def _part(self, kind: str) -> Element | None:
        return self._package.part(self._package.target(self._main, kind))

    def _margins(self, body: Element, kind: str) -> list[str]:
        ids = [_attribute(e, "id") for e in body.iter() if _name(e) == f"{kind}Reference"]
        parts = (self._package.part(self._related.get(i or "", ("", ""))[1]) for i in ids)
        lines = (line for part in parts if part is not None for line in self._lines(part))
        return [line for line in dict.fromkeys(lines) if any(map(str.isalpha, line))]

    def _lines(self, parent: Element) -> Iterator[str]:
        """The lines below an element: one a paragraph, one a row of a table."""
        for child in parent:
            name = _name(child)
            if name == "p":
                boxes: list[str] = []
                text = "".join(self._inline(child, boxes, self._hides(_child(child, "pPr"))))
                yield from filter(str.strip, (*text.split("\n"), *boxes))
            elif name == "tbl":
                yield from filter(str.strip, self._rows(child))
            elif name in _NOTED:
                self._left_out[_NOTED[name]] += 1
            elif name not in _LEFT_OUT:
                yield from self._lines(child)

    def _rows(self, table: Element) -> Iterator[str]:
        for row in _descend(table, "tr"):
            if _is_on_in(_child(row, "trPr"), "del", "hidden"):
                continue
            cells: list[str] = []
            for cell in _descend(row, "tc"):
                kind = _child(cell, "tcPr")
                merged = () if kind is None else [e for e in kind if _name(e) in _MERGED]
                if any(_attribute(e, "val") != "restart" for e in merged):
                    continue  # it goes on from the cell above or before
                cells.append(" ".join(self._lines(cell)))
            yield " | ".join(cells)

    def _inline(self, parent: Element, boxes: list[str], hidden: bool) -> Iterator[str]:
        """The text in a paragraph; that of its boxes goes to ``boxes``."""
        for child in parent:
            name = _name(child)
            if name in _LEFT_OUT or _is_on_in(_child(child, "sdtPr"), "showingPlcHdr"):
                continue
            if name in _NOTED:
                self._left_out[_NOTED[name]] += 1
            elif name == "r":
                properties = _child(child, "rPr")
                if not (hidden or self._hides(properties)):
                    yield _raised("".join(self._inline(child, boxes, hidden)), properties)
            elif name in _SIGNS:
                yield _SIGNS[name](child)
            elif name in ("footnoteReference", "endnoteReference"):
                yield self._note(name.removesuffix("Reference"), _attribute(child, "id") or "")
            elif name == "txbxContent":
                boxes += self._lines(child)
            elif name == "AlternateContent":
                yield from self._inline(_chosen(child), boxes, hidden)
            else:
                yield from self._inline(child, boxes, hidden)

    def _hides(self, properties: Element | None) -> bool:
        given = properties if properties is not None else ()
        styles = [_attribute(one, "val") for one in given if _name(one) in ("rStyle", "pStyle")]
        return not self._hidden_styles.isdisjoint(styles) or _is_on_in(properties, *_HIDING)

    def _note(self, kind: str, number: str) -> str:
        if not any(known == kind for known, _ in self._notes):
            notes = self._part(f"{kind}s")
            for note in notes if notes is not None else ():
                if (mark := _attribute(note, "id")) and not _attribute(note, "type"):
                    self._notes[kind, mark] = ""
                    self._notes[kind, mark] = " ".join(self._lines(note)).strip()
        return f"[{number}]"


def _hidden_styles(tree: Element | None) -> frozenset[str]:
    """The styles that hide or strike their text, those based on such a one included."""
    based: dict[str, str] = {}
    hidden: set[str] = set()
    for style in tree if tree is not None else ():
        name = _attribute(style, "styleId") or ""
        parent, looks = _child(style, "basedOn"), _child(style, "rPr")
        based[name] = (_attribute(parent, "val") or "") if parent is not None else ""
        if _is_on_in(looks, *_HIDING):
            hidden.add(name)
    for _ in range(10):  # as deep as styles are based on each other
        hidden |= {name for name, parent in based.items() if parent in hidden}
    return frozenset(hidden)


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _attribute(element: Element, name: str) -> str | None:
    """An attribute in whatever namespace: strict files have another one."""
    return next((v for key, v in element.attrib.items() if key.rpartition("}")[2] == name), None)


def _child(element: Element, name: str) -> Element | None:
    return next((child for child in element if _name(child) == name), None)


def _is_on_in(properties: Element | None, *names: str) -> bool:
    given = properties if properties is not None else ()
    return any(_name(e) in names and _attribute(e, "val") not in _FALSE for e in given)


def _descend(parent: Element, name: str) -> Iterator[Element]:
    for child in parent:
        if _name(child) == name:
            yield child
        elif _name(child) in ("sdt", "sdtContent", "customXml", "ins", "moveTo"):
            yield from _descend(child, name)


def _chosen(alternatives: Element) -> Element:
    """Form that Word 2010 and later show, of two forms of the same content."""
    return next((c for c in alternatives if _name(c) == "Choice" and len(c)), alternatives)


def _raised(text: str, properties: Element | None) -> str:
    place = None if properties is None else _child(properties, "vertAlign")
    if place is None or not re.match(r"[\d+\u2212-]", text):
        return text
    return {"superscript": "^", "subscript": "_"}.get(_attribute(place, "val") or "", "") + text


def _symbol(element: Element) -> str:
    """A character of a symbol font; those fonts lay theirs into a private area."""
    code = int(_attribute(element, "char") or "0", 16)
    code -= 0xF000 if 0xF000 <= code <= 0xF0FF else 0
    return chr(code) if 0x20 <= code < 0x110000 else ""


def _selected_entry(element: Element) -> str:
    entries = [_attribute(e, "val") or "" for e in element if _name(e) == "listEntry"]
    result = _child(element, "result")
    number = int(_attribute(result, "val") or "0") if result is not None else 0
    return entries[number] if 0 <= number < len(entries) else ""


_BETWEEN = {"sSup": "^", "sSub": "_", "sSubSup": "_", "f": "/"}


def _formula(element: Element) -> str:
    """A formula on one line: x^2, a/b."""
    name = _name(element)
    if name == "t":
        return element.text or ""
    parts = [_formula(child) for child in element if not _name(child).endswith("Pr")]
    if name == "rad":
        return f"√({parts[-1]})" if parts else ""
    if name in _BETWEEN:
        parts = [f"({part})" if len(part) > 1 and not part.isalnum() else part for part in parts]
        return _BETWEEN[name].join(parts)
    return "".join(parts)


_SIGNS: dict[str, Callable[[Element], str]] = {
    "t": lambda element: element.text or "",
    "oMath": _formula,
    "tab": lambda _: "\t",
    "ptab": lambda _: "\t",
    "br": lambda _: "\n",
    "cr": lambda _: "\n",
    "noBreakHyphen": lambda _: "-",
    "softHyphen": lambda _: "",
    "sym": _symbol,
    "ddList": _selected_entry,
}
