"""Reads rows from JSON lines and CSV, and finds the answer and documents of a row."""

import ast
import csv
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Any, Final, NoReturn, Protocol

from conflictscore.errors import InputError
from conflictscore.nodes.state import RagState
from conflictscore.records import Document
from conflictscore.retrieval.documents import as_documents

__all__ = ["ADDED", "Binary", "Columns", "CsvRows", "JsonLines", "Row", "Source", "task_of"]

ADDED = "conflictscore"
"""The field that is added to a row; all others are carried through unchanged."""
_ANSWERS: Final = ("answer", "response")
_DOCUMENTS: Final = ("documents", "retrieved_contexts", "contexts")
"""Names of the two fields, ours and RAGAS's; the first that a row has is read."""
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_LONGEST_CELL: Final = 50_000_000
"""Characters; more than any answer has documents."""
_LONGEST_LITERAL: Final = 1_000_000
"""Characters of a Python literal: its tree takes a hundred times as much memory."""
_BEGINS_A_LIST: Final = re.compile(r"""(?:array\()?\[\s*+["'{\[]""")
_ARRAY: Final = re.compile(r"\Aarray\(\s*+\[")
_DTYPE: Final = re.compile(r"\]\s*+(?:,\s*+dtype=[\w<>|' ]{1,20}+)?\)\Z")
_QUOTED: Final = re.compile(r"""\s*+('(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")\s*+,?""", re.DOTALL)
_ARRAY_ITEM: Final = re.compile(r'\s*+(?:"((?:[^"\\]|\\.)*+)"|([^",{}\\]++))\s*+([,}])', re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_OTHER_SEPARATOR: Final = re.compile("[;\t]")
_KINDS: Final = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "an object",
}


@dataclass(frozen=True, slots=True)
class Columns:
    """The fields of a row that are scored; None for the first known name that it has."""

    answer: str | None = None
    documents: str | None = None

    def of(self, names: Collection[str]) -> tuple[str, str]:
        """Names of the answer field and the documents field among ``names``.

        Raises:
            InputError: One of the two is missing.
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
    """One row of an input.

    Attributes:
        number: From 1, in the order of the input.
        fields: Its JSON values.
        fault: Why it could not be read; such a row has no fields.
        columns: The fields that are scored.
    """

    number: int
    fields: Mapping[str, Any] = field(default_factory=dict)
    fault: str | None = None
    columns: Columns = Columns()


class Source(Protocol):
    """An input file that can be read repeatedly, a few rows at a time.

    Attributes:
        path: The file.
        columns: The fields that are scored.
        total: Number of rows.
        sha256: Hexadecimal SHA-256 of the file.
    """

    path: Path
    columns: Columns
    total: int
    sha256: str

    def rows(self, wanted: Callable[[int], bool]) -> Iterator[Row]:
        """Yield the rows whose numbers are wanted, in order.

        Raises:
            InputError: The file can no longer be read.
        """


class JsonLines:
    """JSON lines, one object a row; see :class:`Source`. Blank lines are skipped."""

    def __init__(self, path: Path, columns: Columns) -> None:
        """Read the file once to count its rows.

        Raises:
            InputError: The file cannot be read.
        """
        self.path, self.columns = path, columns
        self.total = 0
        digest = hashlib.sha256()
        for line in self._lines():
            digest.update(line)
            self.total += not line.isspace()
        self.sha256 = digest.hexdigest()

    def rows(self, wanted: Callable[[int], bool]) -> Iterator[Row]:
        """Yield the wanted rows, in order; one that is not a JSON object has a fault."""
        number = 0
        for line in self._lines():
            if line.isspace():
                continue
            number += 1
            if wanted(number):
                line = line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line
                yield replace(_row(number, line), columns=self.columns)

    def _lines(self) -> Iterator[bytes]:
        try:
            with self.path.open("rb") as file:
                yield from file
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read ({error.strerror})") from None


def _row(number: int, line: bytes) -> Row:
    try:
        value = json.loads(line.decode(), parse_constant=_refuse, parse_float=_finite)
    except UnicodeDecodeError:
        return Row(number, fault="is not UTF-8")
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        half = "" if line.endswith(b"\n") else "; the file ends within this row"
        return Row(number, fault=f"is not JSON ({reason}){half}")
    if not isinstance(value, dict):
        return Row(number, fault="is not an object")
    return Row(number, value)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON value")


def _finite(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise ValueError("a number is out of range")
    return value


class CsvRows:
    """Comma-separated values with a header; see :class:`Source`. Blank lines are skipped.

    The documents cell holds a list as JSON, Python, NumPy or PostgreSQL write it, or one text.
    """

    def __init__(self, path: Path, columns: Columns) -> None:
        """Read the header, then the file once to count its rows.

        Raises:
            InputError: The file cannot be read, or its header lacks a column or has one twice.
        """
        self.path, self.columns = path, columns
        records = self._records()
        self._header = next(records, [])
        if repeated := [name for name, count in Counter(self._header).items() if count > 1]:
            raise InputError(f"{path}: the header has the column {repeated[0]!r} more than once")
        try:
            self._documents = columns.of(self._header)[1]
        except InputError as missing:
            raise InputError(f"{path}: {_header_fault(self._header, missing)}") from None
        self.total = sum(1 for _ in records)
        with path.open("rb") as file:
            self.sha256 = hashlib.file_digest(file, "sha256").hexdigest()

    def rows(self, wanted: Callable[[int], bool]) -> Iterator[Row]:
        """Yield the wanted rows, in order; one with too many or too few cells has a fault."""
        records = self._records()
        next(records)
        for number, cells in enumerate(records, start=1):
            if not wanted(number):
                continue
            if len(cells) != len(self._header):
                cell = "cell" if len(cells) == 1 else "cells"
                fault = f"has {len(cells)} {cell}, and the header {len(self._header)}"
                yield Row(number, fault=fault)
                continue
            fields: dict[str, Any] = dict(zip(self._header, cells, strict=True))
            fields[self._documents] = _parsed_list(fields[self._documents])
            yield Row(number, fields, columns=self.columns)

    def _records(self) -> Iterator[list[str]]:
        usual = csv.field_size_limit(
            _LONGEST_CELL
        )  # it holds for the whole process, so it is restored below
        try:
            with self.path.open(encoding="utf-8-sig", newline="") as file:
                reader = csv.reader(file, strict=True)
                try:
                    yield from filter(None, reader)
                except csv.Error as error:
                    where = f"{self.path}, line {reader.line_num}"
                    raise InputError(f"{where}: not comma-separated values ({error})") from None
        except UnicodeDecodeError:
            raise InputError(f"{self.path}: is not UTF-8") from None
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read ({error.strerror})") from None
        finally:
            csv.field_size_limit(usual)


def _header_fault(header: Sequence[str], missing: InputError) -> str:
    if not header:
        return "is empty"
    if len(header) == 1 and (found := _OTHER_SEPARATOR.search(header[0])):
        return f"{missing}; its values must be separated by commas, not by {found[0]!r}"
    return f"{missing}; it has {', '.join(header):.500}"


def _parsed_list(cell: str) -> Any:
    """The list in a cell, as JSON, Python, NumPy or PostgreSQL write one, or one text in a list.

    What begins as a list of texts and cannot be read as one stays text, and is refused.
    """
    cell = cell.strip()
    if not cell or cell[0] not in "[{a":
        return [cell] if cell else []
    with suppress(ValueError, RecursionError):
        value = json.loads(cell)
        return [value] if isinstance(value, dict) else value
    if cell.startswith('{"') and (items := _postgres_array(cell)) is not None:
        return items
    inner = _ARRAY.sub("[", cell) if cell.startswith("array(") else cell
    inner = _DTYPE.sub("]", inner) if inner is not cell else inner
    if (texts := _quoted_items(inner)) is not None:
        return texts
    if len(inner) <= _LONGEST_LITERAL and inner.startswith("["):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            return ast.literal_eval(inner)
    return cell if _BEGINS_A_LIST.match(cell) else [cell]


def _quoted_items(cell: str) -> list[str] | None:
    """The texts of a list that holds texts alone, whether or not commas part them.

    NumPy prints none, and Python would read its texts as one.
    """
    found, place = [], 1
    if not cell.startswith("["):
        return None
    while item := _QUOTED.match(cell, place):
        try:
            found.append(str(ast.literal_eval(item[1])) if "\\" in item[1] else item[1][1:-1])
        except (ValueError, SyntaxError):
            return None
        place = item.end()
    return found if found and cell[place:].strip() == "]" else None


def _postgres_array(cell: str) -> list[str | None] | None:
    found: list[str | None] = []
    place = 1
    while item := _ARRAY_ITEM.match(cell, place):
        text = item[2] if item[1] is None else _ESCAPED.sub(r"\1", item[1])
        found.append(None if item[2] == "NULL" else text)
        place = item.end()
        if item[3] == "}":
            return found if place == len(cell) else None
    return None


class Binary(str):
    """Base64 of bytes that are no UTF-8: carried through, and never scored as text."""


def task_of(row: Row) -> RagState:
    """The answer and documents of a row.

    Raises:
        InputError: A field is missing, empty or of another type; names the field or document.
    """
    if row.fault is not None:
        raise InputError(row.fault)
    if ADDED in row.fields:
        raise InputError(f"already has a field {ADDED}: score the original file")
    answer, listed = row.columns.of([n for n, value in row.fields.items() if value is not None])
    documents = row.fields[listed]
    if not isinstance(documents, list):
        raise InputError(f"field {listed}: {_kind(documents)}, and not a list")
    if not documents:
        raise InputError(f"field {listed}: empty")
    texts = (item.get("text") if isinstance(item, dict) else item for item in documents)
    for number, text in enumerate(texts, 1):
        if isinstance(text, str):
            _text(text, f"document {number}")
    return {
        "answer": _text(row.fields[answer], f"field {answer}"),
        "documents": [_fields(document) for document in as_documents(documents)],
    }


def _fields(document: Document) -> dict[str, Any]:
    known = document.model_dump(exclude={"number", "duplicate_of"})
    return {name: value for name, value in known.items() if value}


def _text(value: Any, where: str) -> str:
    if isinstance(value, Binary) or not isinstance(value, str):
        raise InputError(f"{where}: {_kind(value)}, and not a text")
    if not value.strip():
        raise InputError(f"{where}: empty")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InputError(f"{where}: holds half of a surrogate pair") from None
    return value


def _kind(value: Any) -> str:
    if isinstance(value, Binary):
        return "bytes that are no UTF-8"
    return _KINDS.get(type(value), type(value).__name__)
