"""The documents in a file's bytes, by the ending of its name."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import Any, NamedTuple, NoReturn

from conflictscore.errors import InputError, install_hint
from conflictscore.retrieval.cleaning import Scalar, clean_text, is_scalar
from conflictscore.retrieval.pages.page import UnreadableError
from conflictscore.retrieval.reading.decoding import decode

_HEADING = re.compile(r"^#{1,6}[ \t]+([^\s#].*)$", re.MULTILINE)
_NO_TITLE = re.compile(
    r"(?:\(?(?:untitled|anonymous|unknown|no title|title|document)\)?[\s_-]*\d{0,3}"
    r"|Microsoft \w{1,20} - .*|(?:PowerPoint|Word|Excel) \w{1,20}"
    r"|.*\.(?:docx?|pdf|indd|tex|dvi|qxd))",
    re.IGNORECASE,
)
"""Titles that programs write into a file's properties where its author gave none."""
_MOST_ROWS = 200_000
"""Of one file: as many documents fit into the memory of a laptop."""
_TEXT_FIELDS = ("text", "content", "page_content")
_OWN_FIELDS = ("metadata", "number", "duplicate_of")

Notes = list[str]


class RichText(NamedTuple):
    """Text of a PDF or Word file, and notes on what could not be read."""

    text: str
    title: str
    notes: tuple[str, ...] = ()


class FileDocument(NamedTuple):
    """A document of a file: the fields of :class:`~conflictscore.records.Document`."""

    text: str
    title: str
    url: str
    metadata: Mapping[str, Scalar] = {}


def read_file(data: bytes, ending: str, url: str) -> tuple[list[FileDocument], Notes]:
    """The documents of a file, with notes on how it was read.

    Errors, notes and the documents call it by its ``url``.

    Raises:
        UnreadableError: It is empty, damaged or not of its kind.
        InputError: A line of a .jsonl or .csv file is wrong; names the line.
    """
    notes: Notes = []
    documents = list(_READERS[ending](data, url, notes))
    if not documents:
        raise UnreadableError("has no text")
    return documents, notes


def _decoded(data: bytes, url: str, notes: Notes, *, html: bool = False) -> str:
    found = decode(data, html=html)
    if "\0" in found.text:
        raise UnreadableError("is not text")
    if not found.encoding.startswith(("utf-8", "utf-16", "utf-32")):
        notes.append(f"{url}: not UTF-8, read as {found.encoding}")
    return found.text


def _read_text(data: bytes, url: str, notes: Notes) -> Iterator[FileDocument]:
    text = clean_text(_decoded(data, url, notes))
    heading = _HEADING.search(text)
    if text:
        title = heading[1].rstrip(" \t#") if heading else PurePosixPath(url).stem
        yield FileDocument(text, title, url)


def _read_html(data: bytes, url: str, notes: Notes) -> Iterator[FileDocument]:
    from conflictscore.retrieval.pages.shown import whole_text

    title, body = map(clean_text, whole_text(_decoded(data, url, notes, html=True)))
    if body:
        yield FileDocument(body, title or PurePosixPath(url).stem, url)


def _read_jsonl(data: bytes, url: str, notes: Notes) -> Iterator[FileDocument]:
    left_out: dict[str, None] = {}
    for where, fields in json_rows(_decoded(data, url, notes), url):
        yield _row_document(fields, where, url, left_out)
    notes += (f"{url}: the field {name!r} is not a single value, left out" for name in left_out)


def _row_document(
    fields: dict[str, Any], where: str, url: str, left_out: dict[str, None]
) -> FileDocument:
    """The document of one row; adds the names of the fields that it cannot keep."""
    from conflictscore.retrieval.documents import as_document

    cleaned = {
        clean_text(key): clean_text(value) if isinstance(value, str) else value
        for key, value in fields.items()
    }
    # what a mapping says of itself elsewhere is a column like any other here
    own = {k: cleaned.pop(k) for k in _OWN_FIELDS if is_scalar(cleaned.get(k, []))}
    left_out |= {k: None for k, v in cleaned.items() if not is_scalar(v) and k != "metadata"}
    found = as_document(cleaned, 1, where)
    metadata = {**found.metadata, **{k: v for k, v in own.items() if v is not None}}
    return FileDocument(found.text, found.title, found.url or url, metadata)


def _read_csv(data: bytes, url: str, notes: Notes) -> Iterator[FileDocument]:
    text = _decoded(data, url, notes)
    # spreadsheets write semicolons where the comma is a decimal point
    separator = max(",;\t", key=text.partition("\n")[0].count)
    columns: list[str] = []
    without_text = 0
    for where, row in csv_rows(text, url, separator):
        if not columns:
            columns = _columns(row)
            continue
        if len(row) != len(columns):
            raise InputError(f"{where}: a row of {len(row)} under a header of {len(columns)}")
        cells = zip(columns, map(clean_text, row), strict=True)
        fields: dict[str, Any] = {name: cell for name, cell in cells if name and cell}
        if fields.keys().isdisjoint(_TEXT_FIELDS):
            without_text += 1
        else:
            yield _row_document(fields, where, url, {})
    if without_text:
        notes.append(f"{url}: rows without a text, left out: {without_text}")


def _columns(header: Sequence[str]) -> list[str]:
    names = [clean_text(cell) for cell in header]
    ours = {*_TEXT_FIELDS, "title", "url"}
    columns = [name.lower() if name.lower() in ours else name for name in names]
    if set(columns).isdisjoint(_TEXT_FIELDS):
        raise UnreadableError(
            "has no column called text, content or page_content, but"
            f" {', '.join(map(repr, names)):.300}"
        )
    return columns


def json_rows(text: str, shown: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of JSON lines, each with its place for errors.

    Raises:
        InputError: A line is no object, or there are too many; names it.
    """
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"{shown}, line {number}"
        if number > _MOST_ROWS:
            raise InputError(f"{where}: more than {_MOST_ROWS:,} lines; cut the file up")
        try:
            fields = json.loads(line, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            raise InputError(f"{where}: not JSON; each line holds one JSON object") from None
        if not isinstance(fields, dict):
            raise InputError(f'{where}: not a JSON object such as {{"text": "...", ...}}')
        yield where, fields


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def csv_rows(text: str, shown: str, separator: str = ",") -> Iterator[tuple[str, list[str]]]:
    """The rows of a table that are not blank, each with its place for errors; see ``json_rows``."""
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    usual = csv.field_size_limit(len(text) + 1)  # it holds for the whole process
    start = 1
    try:
        for number, row in enumerate(rows):
            where, start = f"{shown}, line {start}", rows.line_num + 1
            if number > _MOST_ROWS:
                raise InputError(f"{where}: more than {_MOST_ROWS:,} rows; cut the file up")
            if any(cell.strip() for cell in row):
                yield where, row
    except csv.Error as error:
        raise InputError(f"{shown}, line {start}: not comma-separated values ({error})") from None
    finally:
        csv.field_size_limit(usual)


def _read_rich(kind: str, data: bytes, url: str, notes: Notes) -> Iterator[FileDocument]:
    try:
        if kind == "PDF":
            from conflictscore.retrieval.reading.pdf import read_pdf as read
        else:
            from conflictscore.retrieval.reading.docx import read_docx as read
        found = read(data)
    except ImportError:
        raise UnreadableError(f"needs pypdfium2 to be read: {install_hint('docs')}") from None
    except (MemoryError, UnreadableError):
        raise
    except Exception as error:  # noqa: BLE001 - a damaged file makes its reader raise anything
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise UnreadableError(f"is not a {kind} that can be read ({reason})") from None
    notes += (f"{url}: {note}" for note in found.notes)
    title = " ".join(clean_text(found.title).split())
    if text := clean_text(found.text):
        known = "" if _NO_TITLE.fullmatch(title) else title
        yield FileDocument(text, known or PurePosixPath(url).stem, url)


_READERS: dict[str, Callable[[bytes, str, Notes], Iterator[FileDocument]]] = {
    ".txt": _read_text,
    ".md": _read_text,
    ".html": _read_html,
    ".htm": _read_html,
    ".jsonl": _read_jsonl,
    ".csv": _read_csv,
    ".pdf": partial(_read_rich, "PDF"),
    ".docx": partial(_read_rich, "DOCX"),
}

ENDINGS = tuple(_READERS)
PLAIN_ENDINGS = (".txt", ".md")
"""Of files that are read in this process: nothing in them makes a reader slow."""
