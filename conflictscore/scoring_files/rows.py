"""Reads rows from JSON lines, CSV and Parquet, and finds the answer and documents of a row."""

import ast
import csv
import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, Final

from conflictscore.errors import ConfigurationError, InputError, install_hint
from conflictscore.loop.state import RagState
from conflictscore.retrieval.cleaning import clean_text
from conflictscore.retrieval.documents import as_documents

ADDED = "conflictscore"
"""The field that is added to a row; all others are carried through unchanged."""
_ANSWERS: Final = ("answer", "response")
_DOCUMENTS: Final = ("documents", "retrieved_contexts", "contexts")
"""Names of the two fields, ours and RAGAS's; the first that a row has is read."""
_LONGEST_CELL: Final = 50_000_000
"""Characters; more than any answer has documents."""
_LONGEST_LITERAL: Final = 1_000_000
"""Characters of a Python literal: its tree takes a hundred times as much memory."""
_BEGINS_A_LIST: Final = re.compile(r"""(?:array\()?\[\s*+["'{\[]""")
_ARRAY: Final = re.compile(
    r"\Aarray\(\s*+(\[.*\])\s*+(?:,\s*+dtype=[\w<>|' ]{1,20}+)?\)\Z", re.DOTALL
)
_QUOTED: Final = re.compile(r"""\s*+('(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")\s*+,?""", re.DOTALL)
_ARRAY_ITEM: Final = re.compile(r'\s*+(?:"((?:[^"\\]|\\.)*+)"|([^",{}\\]++))\s*+([,}])', re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Columns:
    """The fields of a row that are scored; None for the first known name that it has."""

    answer: str | None = None
    documents: str | None = None

    def of(self, names: Collection[str]) -> tuple[str, str]:
        """Names of the answer field and the documents field among ``names``.

        Raises:
            InputError: One of the two is missing, or there more than once.
        """
        return _named(self.answer, _ANSWERS, names), _named(self.documents, _DOCUMENTS, names)


def _named(chosen: str | None, known: tuple[str, ...], names: Collection[str]) -> str:
    wanted = known if chosen is None else (chosen,)
    found = next((name for name in wanted if name in names), None)
    if found is None:
        raise InputError(f"has no field {wanted[0]}")
    if (count := list(names).count(found)) > 1:
        raise InputError(f"has {count} fields {found}")
    return found


@dataclass(frozen=True, slots=True)
class Row:
    """One row of an input: its number, from 1, and its JSON values, or why it has none."""

    number: int
    fields: Mapping[str, Any] = field(default_factory=dict)
    fault: str | None = None


class Source:
    """An input file that can be read repeatedly, a few rows at a time: .jsonl, .csv or .parquet.

    Blank lines are skipped.

    Attributes:
        path: The file.
        columns: The fields that are scored.
        total: Number of rows.
        sha256: Hexadecimal SHA-256 of the file.
    """

    def __init__(self, path: Path, columns: Columns | None = None) -> None:
        """Read the file once to count its rows.

        Raises:
            InputError: It has another suffix, cannot be read, or lacks a column.
            ConfigurationError: It is Parquet, and pyarrow is not installed.
        """
        self.path, self.columns = path, columns or Columns()
        if path.suffix not in _READERS:
            raise InputError(
                f"{path}: its ending is not supported; supported are {', '.join(_READERS)}"
            )
        self.total = sum(1 for _ in self.rows())
        with path.open("rb") as file:
            self.sha256 = hashlib.file_digest(file, "sha256").hexdigest()

    def rows(self) -> Iterator[Row]:
        """Yield the rows in order.

        Raises:
            InputError: The file cannot be read.
        """
        try:
            for number, read in enumerate(_READERS[self.path.suffix](self.path, self.columns), 1):
                yield Row(number, fault=read) if isinstance(read, str) else Row(number, read)
        except UnicodeDecodeError:
            raise InputError(f"{self.path}: is not UTF-8") from None
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read ({error.strerror or error})") from None


_Read = Iterator[dict[str, Any] | str]
"""The fields of each row, or why it could not be read."""


def _json_lines(path: Path, columns: Columns) -> _Read:
    with path.open("rb") as file:
        for number, line in enumerate(line for line in file if not line.isspace()):
            yield _fields_in(line if number else line.removeprefix(b"\xef\xbb\xbf"))


def _fields_in(line: bytes) -> dict[str, Any] | str:
    try:
        value = json.loads(line.decode(), parse_constant=_finite, parse_float=_finite)
    except UnicodeDecodeError:
        return "is not UTF-8"
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        half = "" if line.endswith(b"\n") else "; the file ends within this row"
        return f"is not JSON ({reason}){half}"
    return value if isinstance(value, dict) else "is not an object"


def _finite(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise ValueError(f"{text} is no JSON number")
    return value


def _csv_rows(path: Path, columns: Columns) -> _Read:
    csv.field_size_limit(_LONGEST_CELL)
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, strict=True)
        try:
            records = filter(None, reader)
            header = next(records, [])
            documents = _columns_in(path, header, columns)[1]
            if len({*header}) < len(header):
                raise InputError(f"{path}: the header has a column more than once")
            for cells in records:
                if len(cells) == len(header):
                    fields: dict[str, Any] = dict(zip(header, cells, strict=True))
                    yield fields | {documents: _documents_in(fields[documents])}
                else:
                    yield f"cells: {len(cells)}, but columns: {len(header)}"
        except csv.Error as error:
            where = f"{path}, line {reader.line_num}"
            raise InputError(f"{where}: not comma-separated values ({error})") from None


def _columns_in(path: Path, names: Collection[str], columns: Columns) -> tuple[str, str]:
    try:
        return columns.of(names)
    except InputError as missing:
        raise InputError(f"{path}: {missing}; it has {', '.join(names):.500}") from None


def _documents_in(cell: str) -> Any:
    """The list in a cell, as JSON, Python, NumPy or PostgreSQL write one, or one text in a list.

    What begins as a list of texts and cannot be read as one stays text, and is refused.
    """
    cell = cell.strip()
    if array := _ARRAY.match(cell):
        cell = array[1]
    if not cell.startswith(("[", "{", "array([")):
        return [cell] if cell else []
    with suppress(ValueError, RecursionError):
        value = json.loads(cell)
        return [value] if isinstance(value, dict) else value
    read = _postgres_items if cell.startswith('{"') else _quoted_items
    with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
        if (texts := read(cell)) is not None:
            return texts
        if cell.startswith("[") and len(cell) <= _LONGEST_LITERAL:
            return ast.literal_eval(cell)
    return cell if _BEGINS_A_LIST.match(cell) else [cell]


def _quoted_items(cell: str) -> list[str] | None:
    """The texts of a list that holds texts alone, whether or not commas part them.

    NumPy prints none, and Python would read its texts as one.
    """
    found, place = [], 1
    while item := _QUOTED.match(cell, place):
        found.append(str(ast.literal_eval(item[1])) if "\\" in item[1] else item[1][1:-1])
        place = item.end()
    return found if found and cell[place:].strip() == "]" else None


def _postgres_items(cell: str) -> list[str | None] | None:
    found: list[str | None] = []
    place = 1
    while item := _ARRAY_ITEM.match(cell, place):
        text = item[2] if item[1] is None else _ESCAPED.sub(r"\1", item[1])
        found.append(None if item[2] == "NULL" else text)
        place = item.end()
        if item[3] == "}":
            break
    return found if place == len(cell) else None


def _parquet_rows(path: Path, columns: Columns) -> _Read:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise ConfigurationError(
            f"Parquet needs pyarrow: {install_hint('bench')}, or use .jsonl files"
        ) from None
    try:
        with parquet.ParquetFile(path) as file:
            _columns_in(path, file.schema_arrow.names, columns)
            for batch in file.iter_batches(batch_size=64):
                yield from map(_plain, batch.to_pylist())
    except ArrowException as error:
        raise InputError(f"{path}: cannot be read as Parquet ({error})") from None


def _plain(value: Any) -> Any:
    """A value of Parquet as JSON.

    NaN, which pandas writes for a missing value, and infinities become null. Bytes are text if they
    are UTF-8, since Impala and old Hive leave out the mark that says so; others are no text, and
    are never scored as one.
    """
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if isfinite(value) else None
        case dict():
            return {str(name): _plain(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_plain(inner) for inner in value]
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError:
                return {"hex": value.hex()}
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


_READERS: Final[Mapping[str, Callable[[Path, Columns], _Read]]] = {
    ".jsonl": _json_lines,
    ".csv": _csv_rows,
    ".parquet": _parquet_rows,
}


def task_of(row: Row, columns: Columns) -> RagState:
    """The answer and documents of a row.

    Raises:
        InputError: A field is missing, empty or of another type; names the field or document.
    """
    if row.fault is not None:
        raise InputError(row.fault)
    if ADDED in row.fields:
        raise InputError(f"already has a field {ADDED}: score the original file")
    answer, listed = columns.of([n for n, value in row.fields.items() if value is not None])
    text, documents = row.fields[answer], row.fields[listed]
    if not isinstance(text, str) or not (text := clean_text(text)):
        raise InputError(f"field {answer}: it is not a text, or empty")
    if not isinstance(documents, list) or not documents:
        raise InputError(f"field {listed}: it is not a list, or empty")
    return {"answer": text, "documents": list(as_documents(documents))}
