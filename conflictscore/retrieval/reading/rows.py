"""Reads tables (.csv) and JSON lines (.jsonl), in which each row is a document.

The module understands the formats that these tools write: spreadsheets, pandas, LangChain,
LlamaIndex, Haystack, Pyserini and Elasticsearch. An unusable row is left out with a note, without
affecting other rows. A file without a usable row is rejected, and the error describes its first
unusable row.

Limits without a stated reason were chosen by hand.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from conflictscore.errors import InputError
from conflictscore.retrieval.cleaning import clean_text, is_scalar
from conflictscore.retrieval.documents import TEXT_KEYS, URL_KEYS, as_document
from conflictscore.retrieval.pages.page import UnreadableError
from conflictscore.retrieval.reading.delimited_rows import (
    MOST_ROWS,
    DelimitedRow,
    DelimitedTable,
    read_table,
)
from conflictscore.retrieval.reading.texts import FileDocument, Note, NoteKind, Notes

_OWN_FIELDS = ("metadata", "number", "duplicate_of")
"""Fields of :class:`~conflictscore.records.Document` whose names are ordinary columns in a row."""
_METADATA_FIELDS = ("metadata", "meta", "extra_info")
"""Names under which LangChain, Haystack and LlamaIndex store a row's metadata."""
_DEEPEST_TEXT = 3
"""Maximum number of nested objects around the text; LangChain, LlamaIndex and Elasticsearch write
two."""
_NOTES_PER_FILE = 20
"""Maximum number of rows that get a separate note; further rows are only counted."""
_LONGEST_QUOTED = 100
"""Maximum number of characters that a note quotes from the rows above a header."""
_MOST_EXTENDED = 20
"""Maximum number of attempts to read a damaged line as an object that continues on the next lines.

Each failed attempt scans the file to its end.
"""


class _Faults:
    """Collects notes on the rows of a file that were left out or repaired."""

    def __init__(self, file: str, notes: Notes) -> None:
        self._file, self._notes = file, notes
        self._count = 0
        self.first = ""

    def add(self, reason: str, kind: NoteKind = NoteKind.ROW_LEFT_OUT) -> None:
        """Add a note on a row that was left out or repaired; ``reason`` states the location."""
        if kind is NoteKind.ROW_LEFT_OUT:
            self.first = self.first or reason
            reason = f"{reason}, left out"
        self._count += 1
        if self._count <= _NOTES_PER_FILE:
            self._notes.append(Note(kind, reason))

    def close(self) -> None:
        """Add a note with the number of rows that got no separate note."""
        if (more := self._count - _NOTES_PER_FILE) > 0:
            sentence = f"{self._file}: {more} more rows were left out or repaired"
            self._notes.append(Note(NoteKind.ROW_LEFT_OUT, sentence))


def read_jsonl(text: str, url: str, notes: Notes) -> Iterator[FileDocument]:
    """Read the documents in JSON lines; :func:`_text_object` describes the accepted forms.

    Raises:
        UnreadableError: No line contains a document. The message describes the first fault.
    """
    faults = _Faults(url, notes)
    unkept_fields: dict[str, None] = {}
    count = 0
    for where, fields in _json_objects(text, url, faults):
        try:
            document = _row_document(_text_object(fields), where, url, unkept_fields)
        except InputError as error:
            faults.add(str(error))
            continue
        count += 1
        yield document
    faults.close()
    notes.extend(
        Note(
            NoteKind.FIELD_LEFT_OUT,
            f"{url}: the field {name!r} is not a single value and was left out",
        )
        for name in unkept_fields
    )
    _check_any(count, url, faults)


def read_csv(text: str, url: str, notes: Notes) -> Iterator[FileDocument]:
    """Read the documents of a table, one for each row.

    The header is the first row with a column called text, content, page_content or the like.
    Missing cells at the end of a row count as empty, and empty cells beyond the header are ignored.
    If a row has too many cells because the text in its last column contains the separator, the
    surplus cells are joined to that text.

    Raises:
        UnreadableError: There is no such column, or no row contains a document.
    """
    table = read_table(text, url)
    faults = _Faults(url, notes)
    if table.above:
        words = " ".join(cell for row in table.above for cell in row.cells if cell.strip())
        start = " ".join(clean_text(words[:_LONGEST_QUOTED]).split())
        sentence = f"{url}: rows above the header, left out: {len(table.above)} ({start!r})"
        notes.append(Note(NoteKind.ROW_LEFT_OUT, sentence))
    count = without_text = 0
    for row in table.rows:
        if row.fault:
            faults.add(f"{row.where}: {row.fault}", NoteKind.ROW_MENDED)
        cells = _cells_by_header(table, row, faults)
        if cells is None:
            continue
        fields = _fields(zip(table.columns, cells, strict=False))
        if fields.keys().isdisjoint(TEXT_KEYS):
            without_text += 1
            continue
        try:
            document = _row_document(fields, row.where, url, {})  # a cell is always a single value
        except InputError as error:
            faults.add(str(error))
            continue
        count += 1
        yield document
    faults.close()
    if without_text:
        sentence = f"{url}: rows skipped because they have no text: {without_text}"
        notes.append(Note(NoteKind.ROW_LEFT_OUT, sentence))
    _check_any(count, url, faults)


def _fields(named_cells: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return the filled cells by column; a column's second cell is named like ``date (2)``."""
    fields: dict[str, Any] = {}
    times = Counter[str]()
    for name, cell in named_cells:
        if name and cell:
            times[name] += 1
            fields[name if times[name] == 1 else f"{name} ({times[name]})"] = cell
    return fields


def _cells_by_header(table: DelimitedTable, row: DelimitedRow, faults: _Faults) -> list[str] | None:
    """Return the cells of a row, at most as many as in the header; None if the row is unusable.

    Surplus cells are accepted only if the last column is the text, which may contain separators.
    """
    last = len(table.columns) - 1
    cells = [clean_text(cell) for cell in row.cells]
    while len(cells) > last + 1 and not cells[-1]:
        cells.pop()  # some tools end each line with a separator, which makes an empty last cell
    if len(cells) <= last + 1:
        return cells
    sentence = f"the row has {len(cells)} cells, but the header has {last + 1}"
    if table.columns[last] not in TEXT_KEYS:
        faults.add(f"{row.where}: {sentence}")
        return None
    faults.add(
        f"{row.where}: {sentence}; the last cells were read as one text", NoteKind.ROW_MENDED
    )
    # joined without spaces: otherwise "1,250,000" would become "1, 250, 000"
    text = table.separator.join(row.cells[last : len(cells)])
    return [*cells[:last], clean_text(text)]


def _check_any(count: int, url: str, faults: _Faults) -> None:
    if not count:
        # the code that reports the error adds the file's name
        raise UnreadableError(faults.first.removeprefix(f"{url}, ") or "has no text")


def _row_document(
    fields: dict[str, Any], where: str, url: str, unkept_fields: dict[str, None]
) -> FileDocument:
    """Return the document in a row; record the names of fields that are left out."""
    clean_fields = {
        clean_text(key): clean_text(value) if isinstance(value, str) else value
        for key, value in fields.items()
    }
    # a row has no separate metadata, so names such as "number" are columns of the table
    columns = {
        name: clean_fields.pop(name)
        for name in _OWN_FIELDS
        if is_scalar(clean_fields.get(name, []))  # a missing name counts as a list, not as a value
    }
    unkept_fields |= {
        name: None
        for name, value in clean_fields.items()
        if name != "metadata" and not _is_null(value) and not is_scalar(value)
    }
    document = as_document(clean_fields, 1, where)  # the number 1 is not used
    kept_columns = {name: value for name, value in columns.items() if value is not None}
    return FileDocument(
        document.text, document.title, document.url or url, {**document.metadata, **kept_columns}
    )


def _is_null(value: object) -> bool:
    # NaN, which Python's JSON reader accepts, is the only number that differs from itself
    return value is None or (isinstance(value, float) and value != value)


def _text_object(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the object that contains the text, together with its metadata.

    This object is the row itself, the first object in the row that has text, or the row's metadata,
    as in Pinecone's exports. Objects with text are LangChain's ``kwargs``, LlamaIndex's
    ``__data__`` and ``text_resource``, Elasticsearch's ``_source``, and the ``document`` of a
    search result. A text stored in pieces becomes one text with several lines. An inner object
    without a title or address gets those of the objects around it.
    """
    inner, metadata = _innermost(fields)
    inner = {**inner, **_joined_pieces(inner)}
    if metadata and not any(key in inner for key in TEXT_KEYS):
        inner = inner | {key: metadata[key] for key in TEXT_KEYS if key in metadata}
    if metadata:
        inner = {key: value for key, value in inner.items() if key not in _METADATA_FIELDS}
        inner["metadata"] = metadata
    return inner


def _innermost(fields: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the object that contains the text, and the metadata that belongs to it."""
    inner = fields
    metadata: dict[str, Any] = {}
    about: dict[str, Any] = {}
    for _ in range(_DEEPEST_TEXT):
        metadata = _metadata_of(inner) or metadata
        if any(key in inner and not _is_object_with_text(inner[key]) for key in TEXT_KEYS):
            break
        about |= {key: inner[key] for key in ("title", *URL_KEYS) if key in inner}
        inner = _inner_object(inner)
    return {**_missing_names(about, {**metadata, **inner}), **inner}, metadata


def _inner_object(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the first object with text inside an object, or the object itself if there is none."""
    objects = (
        value
        for key, value in fields.items()
        if isinstance(value, dict) and key not in _METADATA_FIELDS
    )
    return next((value for value in objects if _holds_text(value)), fields)


def _is_object_with_text(value: object) -> bool:
    return isinstance(value, dict) and _holds_text(value)


def _missing_names(about: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the title and address in ``about`` that ``fields`` lack."""
    has_address = any(key in fields for key in URL_KEYS)
    return {
        key: value
        for key, value in about.items()
        if key not in fields and is_scalar(value) and not (has_address and key in URL_KEYS)
    }


def _joined_pieces(fields: Mapping[str, Any]) -> dict[str, str]:
    """Return a text that is stored in pieces (joined by line feeds) or in a nested ``value``."""
    values = {
        key: value
        for key in TEXT_KEYS
        if isinstance(held := fields.get(key), dict) and isinstance(value := held.get("value"), str)
    }
    return values | {
        key: "\n".join(pieces)
        for key in TEXT_KEYS
        if (pieces := _pieces(fields.get(key))) and all(isinstance(each, str) for each in pieces)
    }


def _pieces(value: object) -> list[Any]:
    """Return the items of a list; a part of a chat message, ``{"text": "…"}``, becomes its text."""
    if not isinstance(value, list):
        return []
    return [each.get("text") if isinstance(each, dict) else each for each in value]


def _metadata_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    candidates = (fields.get(key) for key in _METADATA_FIELDS)
    return next((metadata for metadata in candidates if isinstance(metadata, dict)), {})


def _holds_text(fields: Mapping[str, Any], depth: int = 0) -> bool:
    if any(key in fields for key in TEXT_KEYS):
        return True
    return depth < _DEEPEST_TEXT and any(
        _holds_text(value, depth + 1) for value in fields.values() if isinstance(value, dict)
    )


def _json_objects(text: str, url: str, faults: _Faults) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects in a file with their locations.

    A line may contain several objects, and an object may extend over several lines.
    """
    decoder = json.JSONDecoder()
    place = number = long_damaged = 0
    counted_to, line_number = 0, 1
    line, line_start, line_end = "", 0, -1
    while (start := _next_value(text, place)) < len(text):
        line_number += text.count("\n", counted_to, start)
        counted_to = start
        where = f"{url}, line {line_number}"
        if start > line_end:  # a line is extracted once, however many objects it contains
            line_end = text.find("\n", start)
            line_end = len(text) if line_end < 0 else line_end
            line, line_start = text[start:line_end], start
        # the object is first parsed within its line, so that a damaged line does not cause a scan
        # of the whole file
        row_or_rows, place = _parsed_value(decoder, line, start - line_start)
        place += line_start
        if row_or_rows is _DAMAGED and long_damaged < _MOST_EXTENDED and text[start] in "{[":
            # only an object or a list can continue on the next lines
            row_or_rows, place = _parsed_value(decoder, text, start)
            long_damaged += row_or_rows is _DAMAGED
        if row_or_rows is _DAMAGED:
            faults.add(f"{where}: not JSON; each line holds one JSON object")
            place = line_end  # the rest of a damaged line is skipped
            continue
        for row in row_or_rows if isinstance(row_or_rows, list) else [row_or_rows]:
            number += 1
            if number > MOST_ROWS:
                raise InputError(f"{where}: more than {MOST_ROWS:,} rows; split the file")
            if isinstance(row, dict):
                yield where, row
            else:
                faults.add(f'{where}: not a JSON object such as {{"text": "...", ...}}')


_DAMAGED = object()
# What may separate JSON values: white space, commas, and U+001E (RFC 7464).
_BETWEEN_VALUES = re.compile("[\\s,\x1e]*+")


def _next_value(text: str, place: int) -> int:
    """Return the offset of the next value; in RFC 7464, a record separator precedes each value."""
    blank = _BETWEEN_VALUES.match(text, place)
    return blank.end() if blank else place


def _parsed_value(decoder: json.JSONDecoder, text: str, start: int = 0) -> tuple[Any, int]:
    try:
        return decoder.raw_decode(text, start)
    except (ValueError, RecursionError):
        return _DAMAGED, start
