"""Reads the slides of a PowerPoint file as they are shown, each followed by its speaker notes.

This module reads the parts of the file itself, since the available libraries lose some of the
content. We tried markitdown on ten small presentations, each of which tests one rule. markitdown
read only two of them as PowerPoint shows them.

Limits without a stated reason were chosen by hand.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple
from xml.etree.ElementTree import Element

from conflictscore.retrieval.reading.drawings import Drawing
from conflictscore.retrieval.reading.ooxml import (
    Package,
    attribute,
    child,
    children,
    name_of,
    opened,
)
from conflictscore.retrieval.reading.texts import Note, NoteKind, RichText, left_out_notes

_TITLES = ("title", "ctrTitle")
_MARGINS = ("dt", "ftr", "hdr")
"""Placeholders that repeat the same text on each slide. The number of a slide (``sldNum``) is left
out instead.
"""
_WIDTH, _HEIGHT = 9_144_000, 6_858_000
"""Size of a slide, in English Metric Units (914,400 to the inch), if the file does not state it: 10
by 7.5 inches."""
_BAND = 10
"""Shapes form a row, which is read from left to right, if their tops differ by less than a tenth of
the slide's height, and by less than half of the topmost shape's height.

The second condition keeps lines of text apart that are shapes of their own.
"""
_ON_MASTER = {"ctrTitle": "title"} | dict.fromkeys(
    ("chart", "clipArt", "dgm", "media", "obj", "pic", "subTitle", "tbl"), "body"
)
"""Maps kinds of placeholders to the kind of the master's placeholder whose position they take."""


def read_pptx(data: bytes) -> RichText:
    """Return the text of the slides in order: title, shapes from top to bottom, notes.

    Hidden slides and shapes, damaged slides, and shapes outside the slide are left out. Texts that
    are repeated on all slides appear once. The title is taken from the file's properties, or else
    from the first slide that has a title.

    Raises:
        ValueError: The file is not a .pptx file, unpacks to more than 100 MB, declares entities, or
            has no slide that can be read.
        Exception: The file is damaged.
    """
    with opened(data, "pptx", "ppt/presentation.xml") as (package, main):
        return _Slides(package, main).read()


class _Box(NamedTuple):
    """The position and size of a shape on its slide."""

    left: int
    top: int
    width: int
    height: int


class _Shape(NamedTuple):
    """A shape on a slide, its position, and the kind of its placeholder (empty if it has none).

    A shape without a position of its own (not ``is_placed``) has that of the preceding shape.
    """

    element: Element
    box: _Box
    kind: str
    is_placed: bool


class _Slides:
    """Reads one presentation and collects notes on its content."""

    def __init__(self, package: Package, main: str) -> None:
        self._package, self._related = package, package.related(main)
        self._root = package.needed(main, "presentation")
        size = child(self._root, "sldSz")
        self._width, self._height = _number(size, "cx", _WIDTH), _number(size, "cy", _HEIGHT)
        self._not_in_words: Counter[str] = Counter()
        self._repeated: set[str] = set()
        self._title = ""

    def read(self) -> RichText:
        """Return the text of the presentation, its title, and notes on what was left out."""
        pieces: list[str] = []
        hidden = missing = 0
        for part in self._parts():
            slide = self._package.whole_part(part)
            if slide is None:
                missing += 1
            elif slide.get("show") in ("0", "false"):
                hidden += 1
            else:
                pieces.append("\n".join(self._slide(slide, part)))
        text = "\n\n".join(filter(None, pieces))
        if missing and not text:
            raise ValueError("its slides are missing or damaged")
        notes = left_out_notes(self._not_in_words)
        if hidden:
            count = "a hidden slide is" if hidden == 1 else f"{hidden} hidden slides are"
            notes += (Note(NoteKind.UNSEEN, f"{count} left out"),)
        if missing:
            count = "a slide is" if missing == 1 else f"{missing} slides are"
            notes += (Note(NoteKind.PAGES_WITHOUT_TEXT, f"{count} missing or damaged"),)
        return RichText(text, self._package.title() or self._title, notes)

    def _parts(self) -> list[str]:
        """Return the names of the slides in order, without repetitions."""
        parts: dict[str, None] = {}
        for each in children(child(self._root, "sldIdLst")):
            ids = (text for name, text in each.items() if name.endswith("}id"))
            parts[self._related.get(next(ids, ""), ("", ""))[1]] = None
        return list(parts)

    def _slide(self, slide: Element, part: str) -> Iterator[str]:
        drawing = Drawing(self._package, part, self._not_in_words)
        backgrounds = self._backgrounds(part)
        places = _placeholder_boxes(root for _, root in backgrounds)
        shapes = [*filter(self._is_on_slide, _shapes(slide, places))]
        for shape in self._in_order(shapes):
            lines = drawing.lines(shape.element)
            if shape.kind in _TITLES and not self._title:
                self._title = " ".join(lines)
            yield from self._new(lines) if shape.kind in _MARGINS else lines
        if slide.get("showMasterSp") not in ("0", "false"):
            yield from self._background_lines(backgrounds)
        yield from self._notes_and_comments(part)

    def _backgrounds(self, part: str) -> list[tuple[str, Element]]:
        """Return the layout of a slide and the layout's master, with their names."""
        backgrounds: list[tuple[str, Element]] = []
        name: str | None = part
        for kind in ("slideLayout", "slideMaster"):
            name = self._package.target(name, kind) if name else None
            root = self._package.part(name)
            if name is not None and root is not None:
                backgrounds.append((name, root))
        return backgrounds

    def _background_lines(self, backgrounds: Iterable[tuple[str, Element]]) -> Iterator[str]:
        """Yield the texts on the layout and its master; pictures there are decorative."""
        for name, root in backgrounds:
            drawing = Drawing(self._package, name, Counter())
            for shape in filter(self._is_on_slide, _shapes(root, {})):
                # a placeholder here contains only a prompt, such as "Click to edit"
                if not shape.kind and name_of(shape.element) in ("sp", "grpSp"):
                    yield from self._new(drawing.lines(shape.element))
            if root.get("showMasterSp") in ("0", "false"):
                return  # the layout hides what its master draws

    def _new(self, lines: Iterable[str]) -> list[str]:
        """Return the lines that have not appeared yet among the repeated texts."""
        new_lines = [line for line in lines if line not in self._repeated]
        self._repeated.update(new_lines)
        return new_lines

    def _notes_and_comments(self, part: str) -> Iterator[str]:
        for kind, name in self._package.related(part).values():
            if kind == "comments":
                comments = children(self._package.part(name))
                self._not_in_words["comment"] += sum(name_of(each) == "cm" for each in comments)
            root = self._package.part(name) if kind == "notesSlide" else None
            if root is None:
                continue
            drawing = Drawing(self._package, name, self._not_in_words)
            bodies = (shape for shape in _shapes(root, {}) if shape.kind == "body")
            lines = [line for shape in bodies for line in drawing.lines(shape.element)]
            if lines:
                yield "\n".join([f"Notes: {lines[0]}", *lines[1:]])

    def _is_on_slide(self, shape: _Shape) -> bool:
        """Return whether a shape lies on the slide; a shape without a position counts as on it."""
        box = shape.box
        return not shape.is_placed or (
            box.left < self._width
            and box.top < self._height
            and box.left + box.width >= 0
            and box.top + box.height >= 0
        )

    def _in_order(self, shapes: Sequence[_Shape]) -> list[_Shape]:
        """Return the shapes in reading order: titles, then others from top to bottom, then margins.

        Shapes at about the same height are ordered from left to right.
        """
        titles = [shape for shape in shapes if shape.kind in _TITLES]
        margins = [shape for shape in shapes if shape.kind in _MARGINS]
        body = [s for s in shapes if s.kind not in (*_TITLES, *_MARGINS, "sldNum")]
        bands: list[list[_Shape]] = []
        end = -1
        for shape in sorted(body, key=lambda shape: shape.box.top):
            if not bands or shape.box.top >= end:
                bands.append([])
                # plus one, so that shapes with the same top and no height form a row
                end = shape.box.top + min(shape.box.height // 2, self._height // _BAND) + 1
            bands[-1].append(shape)
        ordered = (sorted(band, key=lambda shape: shape.box.left) for band in bands)
        return [*titles, *chain.from_iterable(ordered), *margins]


def _shapes(slide: Element, places: dict[tuple[str, str], _Box]) -> Iterator[_Shape]:
    """Yield the shapes of a slide.

    A shape without a position takes the position of its placeholder. If the placeholder has no
    position either, the shape stays after the preceding shape.
    """
    box = _Box(0, 0, 0, 0)
    for element in children(child(slide, "cSld", "spTree")):
        kind, index = _placeholder(element)
        # the placeholder with the same number, or else of the same or the corresponding kind
        keys = ((kind, index), (kind, ""), (_ON_MASTER.get(kind, ""), ""))
        own = _box(element) or next(filter(None, map(places.get, keys)), None)
        box = own or box
        yield _Shape(element, box, kind, own is not None)


def _placeholder(element: Element) -> tuple[str, str]:
    """Return the kind and number of the placeholder that a shape fills; empty if there is none."""
    if name_of(element) == "AlternateContent":  # for example, a title with a formula
        placeholders = (_placeholder(shape) for form in element for shape in form)
        return next((each for each in placeholders if each[0]), ("", ""))
    properties = next((each for each in element if name_of(each).startswith("nv")), None)
    placeholder = child(properties, "nvPr", "ph")
    if placeholder is None:
        return "", ""
    return placeholder.get("type") or "obj", placeholder.get("idx") or ""


def _placeholder_boxes(backgrounds: Iterable[Element]) -> dict[tuple[str, str], _Box]:
    """Map placeholders (kind and number) to their positions; the layout overrides the master."""
    boxes: dict[tuple[str, str], _Box] = {}
    for root in backgrounds:
        for element in children(child(root, "cSld", "spTree")):
            kind, index = _placeholder(element)
            box = _box(element)
            if kind and box:
                boxes.setdefault((kind, index), box)
                boxes.setdefault((kind, ""), box)
    return boxes


def _box(element: Element) -> _Box | None:
    """Return the position that the shape itself specifies."""
    if name_of(element) == "AlternateContent":
        boxes = (_box(shape) for form in element for shape in form)
        return next(filter(None, boxes), None)
    for path in (("spPr", "xfrm"), ("grpSpPr", "xfrm"), ("xfrm",)):
        if (place := child(element, *path)) is not None:
            offset, extent = child(place, "off"), child(place, "ext")
            if offset is not None and extent is not None:
                left, top = _number(offset, "x", 0), _number(offset, "y", 0)
                return _Box(left, top, _number(extent, "cx", 0), _number(extent, "cy", 0))
    return None


def _number(element: Element | None, name: str, default: int) -> int:
    # twelve characters suffice for any place on a slide; a hostile file may contain many more
    text = (attribute(element, name) or "")[:12]
    return int(text) if text.removeprefix("-").isdecimal() and text.isascii() else default
