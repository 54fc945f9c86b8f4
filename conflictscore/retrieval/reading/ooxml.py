"""Reads the parts of a Word, Excel or PowerPoint file, and the references between them."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from posixpath import join, normpath
from xml.etree import ElementTree  # this parser is safe here, since entities are rejected below
from xml.etree.ElementTree import Element
from zipfile import BadZipFile, ZipFile

_OLE = b"\xd0\xcf\x11\xe0"  # the first bytes of the file format that Office used before 2007
_LARGEST_UNPACKED = 100_000_000
"""Maximum number of bytes in all unpacked parts. Parsing this much XML uses all the memory that a
child process may use."""
DAMAGE = (ElementTree.ParseError, BadZipFile, zlib.error, EOFError)
"""The errors raised when a damaged part is unpacked or parsed."""
FALSE = ("0", "false", "off", "none")  # Values that turn a property off.


class Package:
    """A file made up of parts that refer to one another.

    Raises:
        ValueError: The file unpacks to more than 100 MB.
    """

    def __init__(self, file: ZipFile) -> None:
        # zipfile unpacks no more of a part than the size that the file states
        if sum(part.file_size for part in file.infolist()) > _LARGEST_UNPACKED:
            raise ValueError(f"it unpacks to more than {_LARGEST_UNPACKED // 1_000_000} MB")
        self._file = file
        self._names = set(file.namelist())
        self._parts_by_id: dict[str, dict[str, tuple[str, str]]] = {}

    def part(self, name: str | None) -> Element | None:
        """Return the root element of a part; None if there is no such part.

        Raises:
            ValueError: The part declares entities.
        """
        if name not in self._names:
            return None
        data = self._file.read(name)
        letters = data.replace(b"\0", b"")  # without zero bytes, UTF-16 can be searched too
        if b"<!DOCTYPE" in letters or b"<!ENTITY" in letters:
            raise ValueError("it declares entities, which no file of its kind does")
        return ElementTree.fromstring(data)  # noqa: S314 - see above

    def whole_part(self, name: str | None) -> Element | None:
        """Return the root element of a part; None if the part is missing or damaged.

        Raises:
            ValueError: The part declares entities.
        """
        try:
            return self.part(name)
        except DAMAGE:
            return None

    def needed(self, name: str, content: str) -> Element:
        """Return the root element of a part that every valid file has.

        The error names the part by its ``content``.

        Raises:
            ValueError: There is no such part, or it declares entities.
        """
        root = self.part(name)
        if root is None:
            raise ValueError(f"it has no {content} in it")
        return root

    def related(self, name: str) -> dict[str, tuple[str, str]]:
        """Map the id of each reference in a part to the kind and name of the part referred to."""
        if name not in self._parts_by_id:
            self._parts_by_id[name] = dict(self._references(name))
        return self._parts_by_id[name]

    def _references(self, name: str) -> Iterator[tuple[str, tuple[str, str]]]:
        """Yield the id of each reference in a part, and the kind and name of the other part."""
        folder, _, file = name.rpartition("/")
        for relation in children(self.part(join(folder, "_rels", f"{file}.rels"))):
            # a kind is the last word of an address, whose beginning differs in strict files
            kind = relation.get("Type", "").rpartition("/")[2]
            target = relation.get("Target", "")
            place = target[1:] if target.startswith("/") else normpath(join(folder, target))
            yield relation.get("Id", ""), (kind, place)

    def target(self, name: str, kind: str) -> str | None:
        """Return the name of the first part of this kind to which a part refers."""
        places = (place for each, place in self.related(name).values() if each == kind)
        return next(places, None)

    def title(self) -> str:
        """Return the title in the file's properties; empty if there is none."""
        core = self.part(self.target("", "core-properties"))
        titles = (child.text for child in children(core) if name_of(child) == "title")
        return next(titles, None) or ""


@contextmanager
def opened(data: bytes, kind: str, usual: str) -> Iterator[tuple[Package, str]]:
    """Open a file of a kind such as ``docx``; yield its parts and the name of the main part.

    Args:
        data: The bytes of the file.
        kind: The file's extension, without the dot.
        usual: The main part's usual name, which is used if the file does not name one.

    Raises:
        ValueError: The file unpacks to more than 100 MB, or has the format used before 2007, which
            files with a password also have.
    """
    if data.startswith(_OLE):
        raise ValueError(
            f"it is locked by a password, or a .{kind[:-1]} file:"
            f" save it as .{kind} without a password"
        )
    with ZipFile(BytesIO(data)) as file:
        package = Package(file)
        yield package, package.target("", "officeDocument") or usual


def name_of(element: Element) -> str:
    """Return an element's name without its namespace, which differs in strict files."""
    return element.tag.rpartition("}")[2]


def attribute(element: Element | None, name: str) -> str | None:
    """Return an attribute in any namespace; None if the attribute or the element is missing."""
    attributes = element.attrib.items() if element is not None else ()
    return next((value for key, value in attributes if key.rpartition("}")[2] == name), None)


def children(element: Element | None) -> Iterator[Element]:
    """Return the children of an element; empty if the element is None."""
    return iter(element) if element is not None else iter(())


def child(element: Element | None, *path: str) -> Element | None:
    """Return the first element at a path of names below an element, or None."""
    for name in path:
        element = next((each for each in children(element) if name_of(each) == name), None)
    return element


def value_of(element: Element | None, *path: str) -> str | None:
    """Return the attribute ``val`` of the element at a path."""
    return attribute(child(element, *path), "val")


def number_of(element: Element | None, *path: str, default: int) -> int:
    """Return the attribute ``val`` of the element at a path as a number."""
    try:
        return int(value_of(element, *path) or default)
    except ValueError:
        return default


def is_on(properties: Element | None, *names: str) -> bool:
    """Return whether any of these properties is present and not turned off."""
    return any(
        name_of(each) in names and attribute(each, "val") not in FALSE
        for each in children(properties)
    )


def diagram_texts(part: Element | None) -> list[str]:
    """Return the texts of the points in the data of a diagram (SmartArt)."""
    points = (each for each in (part.iter() if part is not None else ()) if name_of(each) == "pt")
    texts = (
        "".join(each.text or "" for each in pt.iter() if name_of(each) == "t") for pt in points
    )
    return [text for text in texts if text.strip()]


def chart_title(part: Element | None) -> str:
    """Return the title of a chart; empty if it has none."""
    title = child(part, "chart", "title")
    below = title.iter() if title is not None else ()
    # "v" is the stored text of a title that refers to a cell
    return "".join(each.text or "" for each in below if name_of(each) in ("t", "v")).strip()
