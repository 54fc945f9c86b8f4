"""Reads rows from JSON lines, a JSON list, CSV or Parquet, and turns them into answers to score."""

import csv
import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from conflictscore.errors import ConfigurationError, InputError, install_hint
from conflictscore.retrieval.cleaning import clean_text
from conflictscore.retrieval.documents import as_documents
from conflictscore.retrieval.reading.delimited_rows import allow_long_cells
from conflictscore.scoring_files.cells import documents_in_cell
from conflictscore.scoring_files.columns import LONGEST_CELL, Columns, value_at
from conflictscore.scoring_files.tool_shapes import DELIMITED, answer_text, documents_list

if TYPE_CHECKING:  # --help shows the columns without importing the graph
    from conflictscore.loop.state import RagState


ADDED = "conflictscore"
"""The field that is added to a row; all other fields are copied unchanged."""
_BLANKS: Final = re.compile(r"\s*+")


@dataclass(frozen=True, slots=True)
class Row:
    """A row: its number from 1, and either its JSON fields or the reason why it is unreadable."""

    number: int
    fields: Mapping[str, Any] = field(default_factory=dict)
    fault: str | None = None


class Source:
    """An input file that can be read repeatedly, a few rows at a time.

    The file is .jsonl, .json, .csv or .parquet. Blank lines are skipped. A JSON list is held in
    memory as text while it is read.

    Attributes:
        path: The file.
        columns: The fields that are scored.
        total: Number of rows.
        sha256: Hexadecimal SHA-256 of the file.
    """

    def __init__(self, path: Path, columns: Columns | None = None) -> None:
        """Read the file once to count its rows.

        Raises:
            InputError: The file has an unsupported extension, cannot be read, or lacks a column.
            ConfigurationError: The file is Parquet, and pyarrow is not installed.
        """
        self.path, self.columns = path, columns or Columns()
        if path.suffix not in _READERS:
            raise InputError(f"{path}: its extension is not supported; give {', '.join(_READERS)}")
        self.total = self._count()
        self.sha256 = self._digest()

    def _count(self) -> int:
        """Return the number of rows; in JSON lines, each line with text is a row."""
        if self.path.suffix != ".jsonl":
            return sum(1 for _ in self.rows())
        try:
            with self.path.open("rb") as file:
                return sum(not line.isspace() for line in file)
        except OSError as error:
            raise unreadable(self.path, error) from None

    @property
    def has_changed(self) -> bool:
        """Whether the file has changed since it was opened."""
        return self._digest() != self.sha256

    def _digest(self) -> str:
        try:
            with self.path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise unreadable(self.path, error) from None

    def rows(self) -> Iterator[Row]:
        """Yield the rows in order.

        Raises:
            InputError: The file cannot be read.
        """
        try:
            contents = _READERS[self.path.suffix](self.path, self.columns)
            for number, content in enumerate(contents, 1):
                if isinstance(content, str):
                    yield Row(number, fault=content)
                else:
                    yield Row(number, content)
        except UnicodeDecodeError:
            raise InputError(f"{self.path}: is not UTF-8") from None
        except OSError as error:
            raise unreadable(self.path, error) from None


def unreadable(path: Path, error: OSError) -> InputError:
    """Return the error for a file that cannot be read."""
    return InputError(f"{path}: cannot be read ({error.strerror or error})")


_Contents = Iterator[dict[str, Any] | str]
"""For each row, its fields or the reason why it could not be read."""


class _NotFiniteError(ValueError):
    """Raised for a number that JSON does not allow, such as NaN."""


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise _NotFiniteError(f"{text} is not a JSON number")
    return number


_STRICT: Final = json.JSONDecoder(parse_constant=_finite, parse_float=_finite)


def _json_lines(path: Path, columns: Columns) -> _Contents:
    with path.open("rb") as file:
        for number, line in enumerate(line for line in file if not line.isspace()):
            yield _fields_in(line if number else line.removeprefix(b"\xef\xbb\xbf"))


def _json_list(path: Path, columns: Columns) -> _Contents:
    """Yield the objects of a JSON list; a file that begins otherwise is read as JSON lines."""
    with path.open("rb") as file:
        # the first bytes suffice; the file may be too large to read
        begins_a_list = file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")
    if not begins_a_list:
        yield from _json_lines(path, columns)
        return
    text = path.read_text("utf-8-sig")
    place = _after_blanks(text, text.index("[") + 1)
    while text[place : place + 1] != "]":
        try:
            content, end = _item_at(text, place)
        except (ValueError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            raise _no_list(path, text, place, reason) from None
        yield content
        place = _after_blanks(text, end)
        if text[place : place + 1] == ",":
            place = _after_blanks(text, place + 1)
        elif text[place : place + 1] != "]":
            raise _no_list(path, text, place, "a comma or ] is missing")
    if (place := _after_blanks(text, place + 1)) < len(text):
        raise _no_list(path, text, place, "there is text after the list")


def _item_at(text: str, place: int) -> tuple[dict[str, Any] | str, int]:
    """Read the object at an offset; return its fields or the reason for failure, and its end."""
    try:
        fields, end = _STRICT.raw_decode(text, place)
    except _NotFiniteError as fault:
        # a lenient decoder accepts NaN, so it finds the end of the object
        return f"is not JSON ({fault})", json.JSONDecoder().raw_decode(text, place)[1]
    return fields if isinstance(fields, dict) else "is not an object", end


def _no_list(path: Path, text: str, place: int, reason: str) -> InputError:
    line = text.count("\n", 0, place) + 1
    return InputError(f"{path}, line {line}: not a JSON list ({reason})")


def _after_blanks(text: str, place: int) -> int:
    blanks = _BLANKS.match(text, place)
    return blanks.end() if blanks else place


def _fields_in(line: bytes) -> dict[str, Any] | str:
    try:
        fields = _STRICT.decode(line.decode())
    except UnicodeDecodeError:
        return "is not UTF-8"
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        half = "" if line.endswith(b"\n") else "; the file ends within this row"
        return f"is not JSON ({reason}){half}"
    return fields if isinstance(fields, dict) else "is not an object"


def _csv_rows(path: Path, columns: Columns) -> _Contents:
    allow_long_cells(LONGEST_CELL)  # the default, 131,072 characters, is too small
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, strict=True)
        try:
            records = filter(None, reader)  # without blank lines
            header = next(records, [])
            documents = _columns_in(path, header, columns)[1]
            is_cell = documents in header  # if False, a cell contains an object with the documents
            for cells in records:
                if len(cells) == len(header):
                    fields: dict[str, Any] = dict(zip(header, cells, strict=True))
                    if is_cell and documents not in DELIMITED:
                        # Convert the cell, so that the output contains a list, not a string.
                        # ``tool_shapes.documents_list`` splits delimited cells.
                        fields[documents] = documents_in_cell(fields[documents])
                    yield fields
                else:
                    yield f"the numbers of cells ({len(cells)}) and columns ({len(header)}) differ"
        except csv.Error as error:
            where = f"{path}, line {reader.line_num}"
            raise InputError(f"{where}: not comma-separated values ({error})") from None


def _columns_in(path: Path, names: Collection[str], columns: Columns) -> tuple[str, str]:
    """Find, among the column names, the paths of the answer and of the documents.

    Raises:
        InputError: A column is missing, or two columns have the same name. The output has each
            name only once, so one of the two columns would be lost.
    """
    try:
        paths = columns.among(names)
    except InputError as missing:
        raise InputError(f"{path}: {missing}; it has {', '.join(names):.500}") from None
    if len({*names}) < len(names):
        raise InputError(f"{path}: the header contains a duplicate column")
    return paths


def _parquet_rows(path: Path, columns: Columns) -> _Contents:
    with parquet_file(path) as file:
        _columns_in(path, file.schema_arrow.names, columns)
        # few rows at a time, since each may hold many long documents
        for batch in file.iter_batches(batch_size=64):
            yield from map(_plain, batch.to_pylist())


@contextmanager
def parquet_file(path: Path) -> Iterator[Any]:
    """Open a Parquet file as a ``pyarrow.parquet.ParquetFile``.

    Raises:
        InputError: The file cannot be read as Parquet.
        ConfigurationError: pyarrow is not installed.
    """
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise ConfigurationError(
            f"Parquet needs pyarrow: {install_hint('bench')}, or use .jsonl files"
        ) from None
    try:
        file = parquet.ParquetFile(path)
    except OSError as error:  # not below, where a caller may meet errors of other files
        raise unreadable(path, error) from None
    except ArrowException as error:
        raise InputError(f"{path}: cannot be read as Parquet ({error})") from None
    try:
        with file:
            yield file
    except ArrowException as error:
        raise InputError(f"{path}: cannot be read as Parquet ({error})") from None


def _plain(cell: Any) -> Any:
    """Return a Parquet value as JSON.

    NaN, which pandas writes for a missing value, and infinities become null. Bytes in UTF-8 become
    text, since Impala and old Hive do not mark a column as text. Other bytes are not text and are
    never scored.
    """
    match cell:
        case None | bool() | int() | str():
            return cell
        case float():
            return cell if isfinite(cell) else None
        case dict():
            return {str(name): _plain(inner) for name, inner in cell.items()}
        case list() | tuple():
            return [_plain(inner) for inner in cell]
        case bytes():
            try:
                return cell.decode()
            except UnicodeDecodeError:
                return {"hex": cell.hex()}
    return cell.isoformat() if hasattr(cell, "isoformat") else str(cell)


_READERS: Final[Mapping[str, Callable[[Path, Columns], _Contents]]] = {
    ".jsonl": _json_lines,
    ".json": _json_list,
    ".csv": _csv_rows,
    ".parquet": _parquet_rows,
}


def task_of(row: Row, columns: Columns) -> "RagState":
    """Return the answer and documents of a row.

    Raises:
        InputError: A field is missing or empty, or has the wrong type; the message names the field
            or document.
    """
    if row.fault is not None:
        raise InputError(row.fault)
    if ADDED in row.fields:
        raise InputError(f"already has a field {ADDED}: score the original file")
    answer_path, documents_path = columns.of(row.fields)
    text = answer_text(value_at(row.fields, answer_path))
    documents = documents_list(value_at(row.fields, documents_path), documents_path)
    if not isinstance(text, str) or not (text := clean_text(text)):
        raise InputError(f"field {answer_path}: it is not a string, or it is empty")
    if not isinstance(documents, list) or not documents:
        raise InputError(f"field {documents_path}: it is not a list, or it is empty")
    return {"answer": text, "documents": as_documents(documents)}
