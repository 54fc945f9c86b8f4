"""Writes scored rows as JSON lines or Parquet, and reads the outcomes back.

Limits without a stated reason were chosen by hand.
"""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final

from conflictscore.errors import ConfigurationError, InputError
from conflictscore.scoring_files.input_rows import ADDED, Source, parquet_file, unreadable
from conflictscore.scoring_files.row_scoring import Outcome
from conflictscore.storage.private_files import owner_only, remedy_for
from conflictscore.storage.record_file import json_line

_SCORES: Final = ("cs_c", "cs_r", "coverage")
_ROWS_A_GROUP: Final = 1024  # rows in memory at a time; pyarrow is slow with much smaller groups


def check_output(out: Path, source: Source) -> None:
    """Refuse an output whose format cannot hold the rows.

    Raises:
        InputError: The output is neither .jsonl nor .parquet, or it is .parquet but the input is
            not, so the types of the columns are unknown.
    """
    if out.suffix not in (".jsonl", ".parquet"):
        raise InputError(f"{out}: must end in .jsonl or .parquet")
    if out.suffix == ".parquet" and source.path.suffix != ".parquet":
        raise InputError(f"{out}: Parquet output needs a .parquet input; write .jsonl")


def write_output(source: Source, outcome_lines: Iterator[bytes], out: Path) -> None:
    """Write the rows of the source with their outcomes, completely or not at all.

    Each outcome is a line of JSON, as :func:`~conflictscore.storage.record_file.json_line` writes
    it with ``escape=False``.
    """
    # names that begin with OUT.run belong to this run, whose journal is locked; the name is always
    # the same, so that a killed run leaves at most one such file
    part = out.with_name(f"{out.name}.run.part")
    write = _write_parquet if out.suffix == ".parquet" else _write_lines
    try:
        with open(part, "wb", opener=owner_only) as file:
            write(source, outcome_lines, file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(out)
    except OSError as error:
        raise ConfigurationError(
            f"{out}: cannot be written ({error.strerror or error}); {remedy_for(error)}, and run"
            " the same command to resume"
        ) from None
    finally:
        with suppress(OSError):  # the first error is the one to report
            part.unlink(missing_ok=True)


def read_outcomes(out: Path) -> Iterator[Outcome]:
    """Yield the outcomes in an output, in the order of its rows."""
    if out.suffix == ".jsonl":
        with out.open("rb") as lines:
            for line in lines:
                outcome: Outcome = json.loads(line)[ADDED]
                yield outcome
        return
    with parquet_file(out) as file:
        for batch in file.iter_batches(batch_size=_ROWS_A_GROUP, columns=[ADDED]):
            for cell in batch.column(0).to_pylist():
                report = None if cell["report"] is None else json.loads(cell["report"])
                yield Outcome(
                    row=cell["row"], error=cell["error"], report=report, notes=cell["notes"]
                )


def _write_lines(source: Source, outcome_lines: Iterator[bytes], file: IO[bytes]) -> None:
    added = f'"{ADDED}": '.encode()
    # escape=False keeps text readable; json_line escapes lone surrogates
    for row, line in zip(source.rows(), outcome_lines, strict=True):
        if ADDED in row.fields:  # the outcome says that such a row is refused
            file.write(json_line({**row.fields, ADDED: json.loads(line)}, escape=False))
            continue
        # reading and writing the outcome again would yield the same bytes
        fields = json_line(row.fields, escape=False).removesuffix(b"}\n")
        comma = b", " if row.fields else b""
        file.write(b"".join((fields, comma, added, line.removesuffix(b"\n"), b"}\n")))


def _write_parquet(source: Source, outcome_lines: Iterator[bytes], file: IO[bytes]) -> None:
    """Write the input's columns with their types, and a struct with the outcome of each row.

    The fields of the struct are ``row``, ``error``, ``cs_c``, ``cs_r``, ``coverage``, ``notes``,
    and ``report``, which is JSON text.
    """
    import pyarrow
    from pyarrow import parquet

    text, number = pyarrow.string(), pyarrow.float64()
    outcome_type = pyarrow.struct(
        [("row", pyarrow.int64()), ("error", text)]
        + [(name, number) for name in _SCORES]
        + [("notes", pyarrow.list_(text)), ("report", text)]
    )
    with parquet_file(source.path) as rows:
        schema = rows.schema_arrow
        # The input already has the field, so ``task_of`` refused every row. The output says so in
        # place of that field.
        if ADDED in schema.names:
            schema = schema.remove(schema.get_field_index(ADDED))
        schema = schema.append(pyarrow.field(ADDED, outcome_type))
        with parquet.ParquetWriter(file, schema) as writer:
            for batch in _batches(rows, source.path):
                lines = islice(outcome_lines, batch.num_rows)
                cells = [_cell(json.loads(line)) for line in lines]
                if len(cells) < batch.num_rows:
                    raise ValueError("there are fewer outcomes than rows")
                arrays = [batch.column(name) for name in schema.names[:-1]]
                arrays.append(pyarrow.array(cells, outcome_type))
                writer.write_batch(pyarrow.RecordBatch.from_arrays(arrays, schema=schema))
            if next(outcome_lines, None) is not None:
                raise ValueError("there are more outcomes than rows")


def _batches(rows: Any, path: Path) -> Iterator[Any]:
    """Yield the rows of the input; raise InputError, naming the input, if they cannot be read."""
    try:
        yield from rows.iter_batches(batch_size=_ROWS_A_GROUP)
    except OSError as error:
        raise unreadable(path, error) from None


def _cell(outcome: Outcome) -> dict[str, Any]:
    """Return the struct of an outcome, without lone surrogates, which UTF-8 cannot encode.

    Surrogates become question marks in the error and the notes, and are escaped in the report.
    """
    report, error = outcome["report"], outcome["error"]
    report_text = None if report is None else json.dumps(report, ensure_ascii=False)
    if report_text is not None and _whole_characters(report_text) != report_text:
        report_text = json.dumps(report)  # escaped
    return {
        "row": outcome["row"],
        "error": None if error is None else _whole_characters(error),
        "notes": [_whole_characters(note) for note in outcome["notes"]],
        "report": report_text,
    } | {name: report[name] if report else None for name in _SCORES}


def _whole_characters(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
