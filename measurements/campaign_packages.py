"""Makes office files, e-books and emails that are costly to read, in time or in memory."""

import base64
import io
import zipfile
import zlib
from collections.abc import Callable, Mapping
from functools import partial

_OFFICE = "http://schemas.openxmlformats.org"
_SHEET = f"{_OFFICE}/spreadsheetml/2006/main"
_RELATIONS = f"{_OFFICE}/officeDocument/2006/relationships"
_PRESENTED = (
    f'xmlns:p="{_OFFICE}/presentationml/2006/main" xmlns:a="{_OFFICE}/drawingml/2006/main"'
    f' xmlns:r="{_RELATIONS}"'
)
_OPENED = 'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
_OPENED += ' xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
_OPENED += ' xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"'
_CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="a.opf" media-type="application/oebps-package+xml"/></rootfiles>'
    "</container>"
)

Made = Callable[[], bytes]
"""Returns the bytes of a file. The factors of ``n`` below were chosen by hand."""


def package_bombs(n: int) -> dict[str, tuple[str, Made]]:
    """Return endings and makers of costly files, by the reason for their cost; ``n`` scales it."""
    return {
        **_of("xlsx", _workbooks(n)),
        **_of("pptx", _presentations(n)),
        **_of("odt", _texts(n)),
        **_of("epub", _books(n)),
        **_of("rtf", _rich_texts(n)),
        **_of("eml", _mails(n)),
    }


def _of(ending: str, made: Mapping[str, Made]) -> dict[str, tuple[str, Made]]:
    return {f"{ending} {kind}": (f".{ending}", each) for kind, each in made.items()}


def zipped(parts: Callable[[], Mapping[str, str]]) -> bytes:
    """Return a ZIP archive of these texts, which are given by path."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as packed:
        for path, text in parts().items():
            packed.writestr(path, text)
    return data.getvalue()


def _related(*targets: str) -> str:
    relations = "".join(
        f'<Relationship Id="r{number}" Type="{_RELATIONS}/{kind}" Target="{place}"/>'
        for number, (kind, place) in enumerate((each.split(" ") for each in targets), 1)
    )
    namespace = f"{_OFFICE}/package/2006/relationships"
    return f'<Relationships xmlns="{namespace}">{relations}</Relationships>'


def _workbooks(n: int) -> dict[str, Made]:
    def workbook(rows: Callable[[], str], strings: Callable[[], str] = str) -> Made:
        return partial(
            zipped,
            lambda: {
                "[Content_Types].xml": "<Types/>",
                "_rels/.rels": _related("officeDocument xl/workbook.xml"),
                "xl/workbook.xml": f'<workbook xmlns="{_SHEET}" xmlns:r="{_RELATIONS}"><sheets>'
                '<sheet name="a" sheetId="1" r:id="r1"/></sheets></workbook>',
                "xl/_rels/workbook.xml.rels": _related(
                    "worksheet worksheets/a.xml", "sharedStrings strings.xml"
                ),
                "xl/worksheets/a.xml": f'<worksheet xmlns="{_SHEET}"><sheetData>{rows()}'
                "</sheetData></worksheet>",
                "xl/strings.xml": f'<sst xmlns="{_SHEET}">{strings()}</sst>',
            },
        )

    def repeated() -> str:
        return '<row><c t="s"><v>0</v></c></row>' * (3 * n)

    return {
        "cells": workbook(lambda: "<row><c><v>1</v></c></row>" * (3 * n)),
        "one row": workbook(lambda: f"<row>{'<c><v>1</v></c>' * (3 * n)}</row>"),
        "far cell": workbook(lambda: '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'),
        "one long string": workbook(repeated, lambda: f"<si><t>{'x' * n}</t></si>"),
        "deep": workbook(lambda: "<row>" * n),
    }


def _presentations(n: int) -> dict[str, Made]:
    def presentation(shapes: Callable[[], str], slides: int = 1) -> Made:
        names = [f"slide slides/{number}.xml" for number in range(slides)]
        listed = "".join(f'<p:sldId id="{256 + i}" r:id="r{i + 1}"/>' for i in range(slides))
        slide = f"<p:sld {_PRESENTED}><p:cSld><p:spTree>{{}}</p:spTree></p:cSld></p:sld>"
        return partial(
            zipped,
            lambda: {
                "[Content_Types].xml": "<Types/>",
                "_rels/.rels": _related("officeDocument ppt/presentation.xml"),
                "ppt/presentation.xml": f"<p:presentation {_PRESENTED}><p:sldIdLst>{listed}"
                "</p:sldIdLst></p:presentation>",
                "ppt/_rels/presentation.xml.rels": _related(*names),
                **{f"ppt/slides/{i}.xml": slide.format(shapes()) for i in range(slides)},
            },
        )

    text = "<p:sp><p:txBody><a:p><a:r><a:t>x</a:t></a:r></a:p></p:txBody></p:sp>"
    return {
        "shapes": presentation(lambda: text * n),
        "slides": presentation(lambda: text, 1 + n // 100),
        "groups": presentation(lambda: "<p:grpSp>" * n),
    }


def _texts(n: int) -> dict[str, Made]:
    def document(inside: Callable[[], str]) -> Made:
        return partial(
            zipped,
            lambda: {
                "mimetype": "application/vnd.oasis.opendocument.text",
                "content.xml": f"<office:document-content {_OPENED}><office:body><office:text>"
                f"{inside()}</office:text></office:body></office:document-content>",
            },
        )

    spaces = '<text:p>a<text:s text:c="999999999"/>b</text:p>'
    cells = '<table:table-cell table:number-columns-repeated="16384"/>'
    rows = f'<table:table-row table:number-rows-repeated="1048576">{cells}</table:table-row>'
    return {
        "paragraphs": document(lambda: "<text:p>x</text:p>" * n),
        "spans": document(lambda: "<text:span>" * n),
        "spaces": document(lambda: spaces * (1 + n // 1000)),
        "repeated cells": document(lambda: f"<table:table>{rows}</table:table>"),
        "lists": document(lambda: "<text:list><text:list-item>" * n),
    }


def _books(n: int) -> dict[str, Made]:
    def book(page: Callable[[], str], pages: int = 1) -> Made:
        manifest = "".join(
            f'<item id="i{i}" href="{i}.xhtml" media-type="application/xhtml+xml"/>'
            for i in range(pages)
        )
        spine = "".join(f'<itemref idref="i{i}"/>' for i in range(pages))
        return partial(
            zipped,
            lambda: {
                "mimetype": "application/epub+zip",
                "META-INF/container.xml": _CONTAINER,
                "a.opf": f'<package xmlns="http://www.idpf.org/2007/opf"><manifest>{manifest}'
                f"</manifest><spine>{spine}</spine></package>",
                **{f"{i}.xhtml": f"<html><body>{page()}</body></html>" for i in range(pages)},
            },
        )

    return {
        "paragraphs": book(lambda: "<p>x</p>" * n),
        "chapters": book(lambda: "<p>x</p>", 1 + n // 100),
        "deep": book(lambda: "<div>" * n),
        "long chapters": book(lambda: f"<p>{'x ' * n}</p>", 20),
    }


def _rich_texts(n: int) -> dict[str, Made]:
    def text(inside: bytes) -> Made:
        return lambda: b"{\\rtf1\\ansi " + inside * n + b"}"

    return {
        "groups": lambda: b"{\\rtf1" + b"{" * (10 * n),
        "words": text(b"\\par x"),
        "signs": text(b"\\'e9\\u233?"),
        "tables": text(b"\\trowd\\cellx1 x\\cell\\row"),
        "skipped": text(b"{\\*\\a x}"),
        "binary": lambda: b"{\\rtf1 \\bin999999999 " + b"x" * n,
    }


def _mails(n: int) -> dict[str, Made]:
    head = b"From: a@a.test\r\nSubject: x\r\nMIME-Version: 1.0\r\n"

    def nested(depth: int) -> bytes:
        opening = b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n"
        parts = b"".join(opening % (level, level) for level in range(depth))
        return head + parts + b"Content-Type: text/plain\r\n\r\nx"

    def packed() -> bytes:
        body = base64.encodebytes(zlib.compress(b"x" * n))
        kind = b"Content-Type: application/zip\r\nContent-Transfer-Encoding: base64\r\n\r\n"
        return head + kind + body

    many = b"Content-Type: multipart/mixed; boundary=b\r\n\r\n"
    return {
        "headers": lambda: head + b"X-A: b\r\n" * n + b"\r\nx",
        "folded": lambda: head + b"X-A: b" + b"\r\n b" * n + b"\r\n\r\nx",
        "encoded words": lambda: b"Subject: " + b"=?utf-8?q?x?= " * n + b"\r\n\r\nx",
        "parts": lambda: head + many + b"--b\r\n\r\nx\r\n" * n,
        "nested": lambda: nested(1 + n // 100),
        "quoted": lambda: head + b"\r\n" + b"> " * n,
        "packed": packed,
    }
