"""Reads and writes Parquet files. Needs the extra ``[bench]``."""

import base64
import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import IO, Any

from conflictscore.errors import ConfigurationError, InputError, install_hint
from conflictscore.scoring_files.engine import Outcome
from conflictscore.scoring_files.rows import ADDED, Binary, Columns, Row

__all__ = ["ParquetRows", "write_parquet"]

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
    """A Parquet file, read in small batches; see :class:`~.rows.Source`.

    Attributes:
        schema: The Arrow schema of its columns.
    """

    def __init__(self, path: Path, columns: Columns) -> None:
        """Read the file's schema and its number of rows.

        Raises:
            InputError: It cannot be read, lacks a column, or has the column that scoring adds.
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
            raise InputError(f"{path}: already has a column {ADDED}; score the original file")

    def rows(self, wanted: Callable[[int], bool]) -> Iterator[Row]:
        """Yield the wanted rows, in order; row groups without any are not read."""
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

    def batches(self) -> Iterator[Any]:
        """Yield all rows as Arrow record batches.

        Raises:
            InputError: The file can no longer be read.
        """
        with self._opened() as file:
            yield from file.iter_batches(_ROWS_A_GROUP)

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
    """A value of a Parquet column as JSON.

    NaN, which pandas writes for a missing value, and infinities become null, times ISO 8601, bytes
    text if they are UTF-8 and else base64, and any other type its text.
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
            try:  # text without the mark that it is text, as Impala and old Hive write it
                return value.decode()
            except UnicodeDecodeError:
                return Binary(base64.b64encode(value).decode("ascii"))
    iso = getattr(value, "isoformat", None)
    return iso() if iso is not None else str(value)


def write_parquet(source: ParquetRows, outcomes: Iterator[Outcome], file: IO[bytes]) -> None:
    """Write the input's columns with their types, and one more from the outcome of each row.

    That is a struct of ``row``, ``error``, ``cs_c``, ``cs_r``, ``coverage``, ``notes``, and
    ``report``, which is JSON text.

    Raises:
        InputError: The input can no longer be read.
        OSError: The file cannot be written.
    """
    arrow, parquet = _pyarrow()
    added = arrow.struct(
        [
            ("row", arrow.int64()),
            ("error", arrow.string()),
            *((name, arrow.float64()) for name in _SCORES),
            ("notes", arrow.list_(arrow.string())),
            ("report", arrow.string()),
        ]
    )
    schema = source.schema.append(arrow.field(ADDED, added))
    with parquet.ParquetWriter(file, schema) as writer:
        for batch in source.batches():
            cells = [_added(outcome) for outcome in islice(outcomes, batch.num_rows)]
            arrays = [*batch.columns, arrow.array(cells, added)]
            writer.write_batch(arrow.RecordBatch.from_arrays(arrays, schema=schema))


def _added(outcome: Outcome) -> dict[str, Any]:
    """The added cell; a lone surrogate, which has no UTF-8, becomes a question mark."""

    def encodable(text: str) -> str:
        return text.encode("utf-8", "replace").decode()

    report, error = outcome["report"], outcome["error"]
    text = None if report is None else json.dumps(report, ensure_ascii=False)
    if text is not None and encodable(text) != text:
        text = json.dumps(report)  # as \ud83d
    return {
        "row": outcome["row"],
        "error": None if error is None else encodable(error),
        **{name: report[name] if report else None for name in _SCORES},
        "notes": [encodable(note) for note in outcome["notes"]],
        "report": text,
    }
