"""A Parquet file of the rows that were scored. Needs the extra ``[bench]``.

Parquet is whole only once it is closed, so what ends is kept as lines, and becomes Parquet when all
of it is there. Columns of a Parquet input keep their types; for one of JSON lines they are found
before anything is scored.
"""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from conflictscore.errors import InputError
from conflictscore.scoring_files.arrow import pyarrow_modules
from conflictscore.scoring_files.parquet_input import ParquetRows
from conflictscore.scoring_files.rows import ADDED, Row, Source
from conflictscore.scoring_files.unwritable import unwritable
from conflictscore.scoring_files.written import outcome_in
from conflictscore.storage.record_file import RecordLines

__all__ = ["ParquetOutput"]

_ROWS_A_GROUP = 1024
_SCORES = ("cs_c", "cs_r", "coverage")


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
        arrow, parquet = pyarrow_modules()
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
        arrow, parquet = pyarrow_modules()
        part = out.with_name(f"{out.name}.part")
        outcomes = (outcome_in(line.text, line.number, lines) for line in RecordLines(lines))
        try:
            with parquet.ParquetWriter(part, self._schema) as writer:
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
        arrow, _ = pyarrow_modules()
        fields = [field for field in self._schema if field.name != ADDED]
        for rows in _chunks(self._source):
            yield (
                len(rows),
                [
                    arrow.array([row.fields.get(field.name) for row in rows], field.type)
                    for field in fields
                ],
            )


def _added(outcome: dict[str, Any]) -> dict[str, Any]:
    report = outcome["report"]
    scores = {name: report[name] if report else None for name in _SCORES}
    said = {
        "error": None if outcome["error"] is None else _whole(outcome["error"]),
        "notes": [_whole(note) for note in outcome["notes"]],
        "report": None if report is None else _json(report),
    }
    return {**outcome, **scores, **said}


def _json(report: dict[str, Any]) -> str:
    text = json.dumps(report, ensure_ascii=False)
    return text if _whole(text) == text else json.dumps(report)  # as \ud83d


def _whole(text: str) -> str:
    """The text, a question mark for each half of a character, of which there is no UTF-8."""
    return text.encode("utf-8", "replace").decode()


def _found_schema(source: Source) -> Any:
    """The columns of JSON rows: each field with the one type that holds all its values."""
    arrow, _ = pyarrow_modules()
    schema = arrow.schema([])
    types: dict[str, set[Any]] = {}
    for rows in _chunks(source):
        names = dict.fromkeys(name for row in rows for name in row.fields if name != ADDED)
        for name in names:
            try:
                values = arrow.array([row.fields.get(name) for row in rows])
                types.setdefault(name, set()).add(values.type)
                found = arrow.schema([(name, values.type)])
                schema = arrow.unify_schemas([schema, found], promote_options="permissive")
            except (arrow.ArrowException, OverflowError, UnicodeEncodeError) as error:
                raise _unfit(source.path, f"field {name}: {error}") from None
    if any(len(found - {arrow.null()}) > 1 for found in types.values()):
        _try_out(schema, source)
    return schema


def _try_out(schema: Any, source: Source) -> None:
    """Rows far apart that differ in type may have one in common that does not hold all of them."""
    arrow, _ = pyarrow_modules()
    for rows in _chunks(source):
        for field in schema:
            try:
                arrow.array([row.fields.get(field.name) for row in rows], field.type)
            except (arrow.ArrowException, OverflowError) as error:
                raise _unfit(source.path, f"field {field.name}: {error}") from None


def _chunks(source: Source) -> Iterator[list[Row]]:
    rows = source.rows(lambda number: True)
    while chunk := list(islice(rows, _ROWS_A_GROUP)):
        yield chunk


def _unfit(path: Path, error: object) -> InputError:
    return InputError(f"{path}: cannot be carried into Parquet ({error}); write --out FILE.jsonl")
