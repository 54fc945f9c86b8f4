"""Files of spreadsheets, slides and books, made by the libraries that write them or part by part."""

from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from openpyxl import Workbook
from openpyxl.worksheet.worksheet import Worksheet
from pptx import Presentation

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b550000000a49444154789c63680000"
    "00820081dd436af40000000049454e44ae426082"
)
"""A picture (PNG) of one dot."""


def packed(parts: Mapping[str, str | bytes]) -> bytes:
    """A file with these parts."""
    made = BytesIO()
    with ZipFile(made, "w", ZIP_DEFLATED) as file:
        for name, part in parts.items():
            file.writestr(name, part)
    return made.getvalue()


def parts_of(data: bytes) -> dict[str, bytes]:
    """The parts of a file, by name."""
    with ZipFile(BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def workbook(fill: Callable[[Workbook, Worksheet], None]) -> bytes:
    """A workbook as openpyxl writes it, whose first sheet is named Log."""
    book, made = Workbook(), BytesIO()
    sheet = book.worksheets[0]
    sheet.title = "Log"
    fill(book, sheet)
    book.save(made)
    return made.getvalue()


def rows_of(*rows: tuple[object, ...]) -> bytes:
    """A workbook with these rows."""

    def fill(_: Workbook, sheet: Worksheet) -> None:
        for row in rows:
            sheet.append(row)

    return workbook(fill)


def sheet_parts(rows: str, beside: str = "", **parts: str) -> bytes:
    """A workbook with a sheet of these rows, part by part; parts such as ``styles`` by name."""
    related = "".join(
        f'<Relationship Id="{name}" Type="http://x/{name}" Target="{name}.xml"/>' for name in parts
    )
    return packed(
        {
            "xl/workbook.xml": '<workbook xmlns:r="r"><sheets><sheet name="Log" r:id="s"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": f'<Relationships><Relationship Id="s" Type="http://x/worksheet" Target="s.xml"/>{related}</Relationships>',
            "xl/s.xml": f"<worksheet><sheetData>{rows}</sheetData>{beside}</worksheet>",
            **{f"xl/{name}.xml": part for name, part in parts.items()},
        }
    )


def with_second(data: bytes, second: str | bytes | None) -> bytes:
    """A workbook or presentation with one more sheet or slide, which is missing if it is None."""
    parts = parts_of(data)
    folder, kind = ("xl", "worksheet") if "xl/workbook.xml" in parts else ("ppt", "slide")
    main = "workbook.xml" if folder == "xl" else "presentation.xml"
    added = {
        "</sheets>": '<sheet name="Tolls" r:id="t"/>',
        "</sldIdLst>": '<sldId xmlns:r="r" r:id="t"/>',
        "</Relationships>": f'<Relationship Id="t" Type="http://x/{kind}" Target="t.xml"/>',
    }
    for name in (f"{folder}/{main}", f"{folder}/_rels/{main}.rels"):
        for end, element in added.items():
            parts[name] = parts[name].replace(end.encode(), f"{element}{end}".encode())
    return packed(parts if second is None else {**parts, f"{folder}/t.xml": second})


def book(*chapters: str, styles: str = "", spine: str = "", **parts: str) -> bytes:
    """An electronic book with these chapters; ``spine`` is added to the table of its order."""
    places = range(len(chapters))
    pages = {
        f"OPS/text/{place}.xhtml": (
            '<?xml version="1.0"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><head><title/>'
            f'<link rel="stylesheet" href="../a%20b.css"/></head><body>{chapter}</body></html>'
        )
        for place, chapter in enumerate(chapters)
    }
    listed = "".join(
        f'<item id="c{place}" href="text/{place}.xhtml" media-type="application/xhtml+xml"/>'
        for place in reversed(places)
    )
    order = "".join(f'<itemref idref="c{place}"/>' for place in places)
    table = (
        '<package xmlns:dc="dc"><metadata><dc:title>The light</dc:title></metadata>'
        f"<manifest>{listed}</manifest><spine>{order}{spine}</spine></package>"
    )
    container = '<container><rootfiles><rootfile full-path="OPS/a.opf"/></rootfiles></container>'
    fixed = {"META-INF/container.xml": container, "OPS/a.opf": table, "OPS/a b.css": styles}
    return packed({"mimetype": "application/epub+zip", **fixed, **pages, **parts})


def slides(fill: Callable[[Any], None]) -> bytes:
    """A presentation as python-pptx writes it."""
    deck, made = Presentation(), BytesIO()
    deck.core_properties.title = ""
    fill(deck)
    deck.save(made)
    return made.getvalue()


def slide_parts(shapes: str, **parts: str) -> bytes:
    """A presentation with a slide of these shapes, part by part; other parts by name."""
    related = "".join(
        f'<Relationship Id="{name}" Type="http://x/{name}" Target="{name}.xml"/>' for name in parts
    )
    first = '<Relationship Id="s" Type="http://x/slide" Target="s.xml"/>'
    return packed(
        {
            "ppt/presentation.xml": '<presentation><sldIdLst><sldId xmlns:r="r" r:id="s"/></sldIdLst></presentation>',
            "ppt/_rels/presentation.xml.rels": f"<Relationships>{first}</Relationships>",
            "ppt/s.xml": f"<sld><cSld><spTree>{shapes}</spTree></cSld></sld>",
            "ppt/_rels/s.xml.rels": f"<Relationships>{related}</Relationships>",
            **{f"ppt/{name}.xml": part for name, part in parts.items()},
        }
    )


def odt(body: str, styles: str = "", margins: str = "", layouts: str = "", **parts: str) -> bytes:
    """An OpenDocument text with this body, styles, and pages' margins; other parts by name."""
    automatic = f"<automatic-styles>{layouts}</automatic-styles>"
    masters = f"<master-styles>{margins}</master-styles>"
    pages = f"<document><styles>{styles}</styles>{automatic}{masters}</document>"
    content = f"<document><body><text>{body}</text></body></document>"
    return packed({"content.xml": content, "styles.xml": pages, **parts})


def rtf(body: str) -> bytes:
    """A Rich Text file with this body."""
    return f"{{\\rtf1\\ansi\\ansicpg1252 {body}}}".encode("ascii")
