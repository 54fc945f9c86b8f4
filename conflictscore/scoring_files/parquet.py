"""Rows read from a Parquet file, and written to one. Needs the extra ``[bench]``.

Parquet is whole only once it is closed, so rows that end are kept as lines, which become Parquet
when all of them are there. Columns of a Parquet input keep their types; for JSON lines they are
found before anything is scored.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any

from conflictscore.errors import ConfigurationError, InputError, install_hint
from conflictscore.scoring_files.journal import outcome_in, unwritable
from conflictscore.scoring_files.rows import ADDED, Columns, Row, Source
from conflictscore.storage.private_files import owner_only
from conflictscore.storage.record_file import RecordLines

__all__ = ["ParquetOutput", "ParquetRows"]

_ROWS_AT_A_TIME = 64
_ROWS_A_GROUP = 1024
_SCORES = ("cs_c", "cs_r", "coverage")


def _pyarrow() -> tuple[Any, Any]:
    """``pyarrow`` and ``pyarrow.parquet``."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ConfigurationError(
            f"Parquet needs pyarrow: {install_hint('bench')}, or use .jsonl files"
        ) from None
    return pyarrow, parquet


class ParquetRows:
    """A Parquet file, read a few rows at a time; see :class:`~.rows.Source`.

    Attributes:
        schema: Its columns.
    """

    def __init__(self, path: Path, columns: Columns) -> None:
        """Read the file's schema and its number of rows.

        Raises:
            InputError: It cannot be read, lacks a column or has the one that is to be added.
            ConfigurationError: pyarrow is not installed.
        """
        self.path, self.columns = path, columns
        with self._opened() as parquet:
            self.total: int = parquet.metadata.num_rows
            self.schema = parquet.schema_arrow
            with path.open("rb") as file:
                self.sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        try:
            columns.of(self.schema.names)
        except InputError as missing:
            raise InputError(f"{path}: {missing}; it has {', '.join(self.schema.names)}") from None
        if ADDED in self.schema.names:
            raise InputError(
                f"{path}: has a column {ADDED} already; score the file that it was made from"
            )

    def rows(self, wanted: Callable[[int], bool]) -> Iterator[Row]:
        """The rows whose numbers are wanted, in order; row groups without any are not read."""
        number = 0
        with self._opened() as file:
            for group in range(file.num_row_groups):
                length = file.metadata.row_group(group).num_rows
                if not any(wanted(number + 1 + place) for place in range(length)):
                    number += length
                    continue
                for batch in file.iter_batches(_ROWS_AT_A_TIME, row_groups=[group]):
                    for fields in batch.to_pylist():
                        number += 1
                        if wanted(number):
                            yield Row(number, _plain(fields), columns=self.columns)

    def batches(self, rows: int) -> Iterator[Any]:
        """All rows as record batches of at most so many.

        Raises:
            InputError: The file cannot be read any more.
        """
        with self._opened() as file:
            yield from file.iter_batches(rows)

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        arrow, parquet = _pyarrow()
        try:
            with parquet.ParquetFile(self.path) as file:
                yield file
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read ({error.strerror or error})") from None
        except arrow.ArrowException as error:
            raise InputError(f"{self.path}: cannot be read as Parquet ({error})") from None


def _plain(value: Any) -> Any:
    """A value of a Parquet column as JSON has it.

    NaN, as pandas writes what is missing, and infinities are null; times are ISO 8601, bytes
    base64, and whatever else JSON does not have is its text.
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
            return base64.b64encode(value).decode("ascii")
    iso = getattr(value, "isoformat", None)
    return iso() if iso is not None else str(value)


class ParquetOutput:
    """Turns lines into a Parquet file with the input's columns and one more.

    That is a struct of ``row``, ``error``, ``cs_c``, ``cs_r``, ``coverage``, ``notes``, and
    ``report``, which is JSON text.
    """

    def __init__(self, source: Source) -> None:
        """Find the columns; an input of JSON lines is read once for it.

        Raises:
            InputError: A field has no one type that Parquet has.
            ConfigurationError: pyarrow is not installed.
        """
        arrow, parquet = _pyarrow()
        self._source = source
        added = arrow.struct(
            [
                ("row", arrow.int64()),
                ("error", arrow.string()),
                *((name, arrow.float64()) for name in _SCORES),
                ("notes", arrow.list_(arrow.string())),
                ("report", arrow.string()),
            ]
        )
        carried = source.schema if isinstance(source, ParquetRows) else _found_schema(source)
        self._schema = carried.append(arrow.field(ADDED, added))
        try:
            parquet.write_table(self._schema.empty_table(), arrow.BufferOutputStream())
        except arrow.ArrowException as error:
            raise _unfit(source.path, error) from None

    def write(self, lines: Path, out: Path) -> None:
        """Write the file, whole or not at all.

        Args:
            lines: One line for each row of the input, in order.
            out: Where to; a file that is there is replaced.

        Raises:
            InputError: The input or the lines cannot be read any more.
            ConfigurationError: It cannot be written, as on a full disk.
        """
        arrow, parquet = _pyarrow()
        part = out.with_name(f"{out.name}.part")
        outcomes = (outcome_in(line.text, line.number, lines) for line in RecordLines(lines))
        try:
            with (
                open(part, "wb", opener=owner_only) as file,
                parquet.ParquetWriter(file, self._schema) as writer,
            ):
                for length, columns in self._carried():
                    added = [_added(outcome) for outcome in islice(outcomes, length)]
                    arrays = [*columns, arrow.array(added, self._schema.field(ADDED).type)]
                    writer.write_batch(arrow.RecordBatch.from_arrays(arrays, schema=self._schema))
            part.replace(out)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise unwritable(out, error.strerror or error) from None
        except BaseException:
            part.unlink(missing_ok=True)
            raise

    def _carried(self) -> Iterator[tuple[int, list[Any]]]:
        """Number of rows, and the columns that are carried through, a row group at a time."""
        if isinstance(self._source, ParquetRows):
            for batch in self._source.batches(_ROWS_A_GROUP):
                yield batch.num_rows, batch.columns
            return
        fields = [field for field in self._schema if field.name != ADDED]
        for rows in _chunks(self._source):
            yield len(rows), [_column(rows, field.name, field.type) for field in fields]


def _added(outcome: dict[str, Any]) -> dict[str, Any]:
    """What is added to a row; half a character, of which there is no UTF-8, is a question mark."""

    def whole(text: str) -> str:
        return text.encode("utf-8", "replace").decode()

    report, error = outcome["report"], outcome["error"]
    text = None if report is None else json.dumps(report, ensure_ascii=False)
    if text is not None and whole(text) != text:
        text = json.dumps(report)  # as \ud83d
    return {
        "row": outcome["row"],
        "error": None if error is None else whole(error),
        **{name: report[name] if report else None for name in _SCORES},
        "notes": [whole(note) for note in outcome["notes"]],
        "report": text,
    }


def _found_schema(source: Source) -> Any:
    """The columns of JSON rows: each field with the one type that holds all its values."""
    arrow, _ = _pyarrow()
    schema = arrow.schema([])
    types: dict[str, set[Any]] = {}
    for rows in _chunks(source):
        names = dict.fromkeys(name for row in rows for name in row.fields if name != ADDED)
        for name in names:
            with _fitting(source, name):
                values = _column(rows, name)
                types.setdefault(name, set()).add(values.type)
                found = arrow.schema([(name, values.type)])
                schema = arrow.unify_schemas([schema, found], promote_options="permissive")
    if any(len(found - {arrow.null()}) > 1 for found in types.values()):
        # Rows far apart that differ in type may have one in common that does not hold all of them
        for rows in _chunks(source):
            for field in schema:
                with _fitting(source, field.name):
                    _column(rows, field.name, field.type)
    return schema


def _column(rows: list[Row], name: str, kind: Any = None) -> Any:
    return _pyarrow()[0].array([row.fields.get(name) for row in rows], kind)


@contextmanager
def _fitting(source: Source, name: str) -> Iterator[None]:
    arrow, _ = _pyarrow()
    try:
        yield
    except (arrow.ArrowException, OverflowError, UnicodeEncodeError) as error:
        raise _unfit(source.path, f"field {name}: {error}") from None


def _chunks(source: Source) -> Iterator[list[Row]]:
    rows = source.rows(lambda number: True)
    while chunk := list(islice(rows, _ROWS_A_GROUP)):
        yield chunk


def _unfit(path: Path, error: object) -> InputError:
    return InputError(f"{path}: cannot be carried into Parquet ({error}); write --out FILE.jsonl")
