"""Scores a file: opens the input, scores the unfinished rows, and writes the output.

```
OUT      the rows of the input in their order, written once all have finished
OUT.run  the input and settings of the run, then the outcome of each row as it finishes
```
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self

from conflictscore.errors import InputError, ProviderError
from conflictscore.loop.state import RunContext
from conflictscore.records import Usage
from conflictscore.scoring_files.input_rows import Source, unreadable
from conflictscore.scoring_files.output import check_output, write_output
from conflictscore.scoring_files.row_scoring import (
    LocalEngine,
    Outcome,
    RowEngine,
    ScoredRow,
    scoring_settings,
)
from conflictscore.storage.manifests import differences
from conflictscore.storage.record_file import RecordFile, RecordLine, json_line

_MAX_FAILED_IN_A_ROW = 50
"""After this many consecutive failures, the run ends: the judge must be at fault, not the rows."""
_CHANGED = "input_changed"  # The journal has this field if the run can never be resumed.
_FORMAT = 3  # Increased if older versions cannot resume the new journal.


class RowListener(Protocol):
    """Receives the progress of a run, in the thread of its event loop."""

    def begin(self, total: int, items_done: int) -> None:
        """Called when a run starts or resumes, with the number of rows that finished earlier."""

    def count(self, error: str | None, name: str) -> None:
        """Called when a row was scored, or failed with an error."""


@dataclass
class Summary:
    """The counts and the usage of a run.

    Attributes:
        rows: Number of rows in the input.
        scored_now: Number of rows that finished in this session, with or without scores.
        failed: Number of rows without scores.
        incomplete: Number of scored rows with an unlabelled pair.
        usage: Calls and tokens of this session.
    """

    rows: int
    scored_now: int = 0
    failed: int = 0
    incomplete: int = 0
    usage: Usage = field(default_factory=Usage)


async def ascore_file(
    source: Source,
    out: Path,
    context: RunContext,
    concurrency: int,
    *,
    retry_failed: bool = False,
    listener: RowListener | None = None,
    engine: RowEngine | None = None,
) -> Summary:
    """Score the rows that have no scores yet, and write all rows to a file.

    An existing run is resumed. If ``retry_failed`` is True, rows that failed or have an unlabelled
    pair are scored again. If there is an ``engine``, it scores the rows; otherwise this process
    scores them, ``concurrency`` at a time.

    Raises:
        InputError: The run was started with a different input or different settings, another
            command is working on it, its journal is damaged, or the input has changed meanwhile.
        ConfigurationError: A setting is wrong, or a file cannot be written.
        BudgetError: The budget is used up.
        ProviderError: Too many consecutive rows failed.
    """
    if context.cache is not None:  # a kill must lose no verdict
        context.cache.write_at_once()
    check_output(out, source)
    summary, failures = Summary(source.total), 0
    with _Journal(_journal_beside(out), _manifest(source, context)) as journal:
        again = {*journal.flawed} if retry_failed else set()
        if listener is not None:
            listener.begin(source.total, len(journal.starts) - len(again))

        def take(scored_row: ScoredRow) -> None:
            nonlocal failures
            journal.append(scored_row.outcome)
            summary.scored_now += 1
            summary.usage += scored_row.usage
            error = scored_row.outcome["error"]
            if listener is not None:
                listener.count(error, f"row {scored_row.outcome['row']:,}")
            if scored_row.was_tried:  # a row that is itself at fault says nothing about the judge
                failures = 0 if error is None else failures + 1
            if failures == _MAX_FAILED_IN_A_ROW:
                raise ProviderError(
                    f"the last {failures} rows all failed, so no further row was tried ({error});"
                    " run the same command to resume, and add --retry-failed to score these rows"
                    " again",
                    provider="judge",
                )

        engine = engine or LocalEngine(context, concurrency)
        await engine.run(source, journal.starts.keys() - again, take)
        if source.has_changed:  # checked at the end, so that a change at any time is noticed
            journal.append_change()
            raise _changed(source.path)
        if len(journal.starts) < source.total:
            raise InputError(f"{source.path}: has fewer rows than when it was opened")
        # written even if no row was scored now, since an earlier session may have been killed
        # before it wrote the output
        write_output(source, journal.outcome_lines(), out)
    summary.failed = len(journal.failed)
    summary.incomplete = len(journal.flawed) - summary.failed
    return summary


def _journal_beside(out: Path) -> Path:
    """Return the path of the journal; raise InputError if ``out`` is not the output of a run."""
    journal_path = out.with_name(f"{out.name}.run")
    if out.exists() and not journal_path.exists():
        raise InputError(
            f"--out {out}: exists, but is not the output of a run (there is no {journal_path.name}"
            " next to it); give another file, or delete this one"
        )
    return journal_path


def _manifest(source: Source, context: RunContext) -> dict[str, Any]:
    """Return the input and settings that determine a run's scores, without secrets."""
    return {
        "format": _FORMAT,
        "input": {"rows": source.total, "sha256": source.sha256},
        "configuration": {**scoring_settings(context), "columns": asdict(source.columns)},
    }


class _Journal:
    """A file of outcomes, in the order in which rows finish; only line positions are in memory.

    A row that is scored again gets another line. Only the last line of a row counts.

    Attributes:
        starts: Byte offset of each row's line.
        failed: Numbers of the rows without scores.
        flawed: Numbers of the failed rows, and of the rows with an unlabelled pair.
    """

    def __init__(self, path: Path, manifest: Mapping[str, Any]) -> None:
        self.starts: dict[int, int] = {}
        self.failed: set[int] = set()
        self.flawed: set[int] = set()
        self._path = path
        if path.is_dir():  # early versions kept a run in a folder
            raise _other_version(path)
        self._file = RecordFile(path, resumed_from="the rows that were scored so far")
        try:
            for line in self._file.lines:
                self._read(line, manifest)
            self._file.resume()
            if not self._file.lines.size:
                self._append(manifest)
        except BaseException:  # a journal that cannot be used must not stay locked
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_details: object) -> None:
        self._file.close()

    def append(self, outcome: Outcome) -> None:
        """Store the outcome of a row, in place of any earlier outcome."""
        self._add(outcome, self._append(outcome))

    def append_change(self) -> None:
        """Record that the input changed during the run, so that the run is never resumed.

        Some outcomes may belong to rows that the input no longer contains.
        """
        self._append({_CHANGED: True})

    def outcome_lines(self) -> Iterator[bytes]:
        """Yield the lines with the outcomes of all finished rows, ordered by row."""
        try:
            with self._path.open("rb") as file:
                for row in sorted(self.starts):
                    file.seek(self.starts[row])
                    yield file.readline()
        except OSError as error:
            raise unreadable(self._path, error) from None

    def _append(self, fields: Mapping[str, Any]) -> int:
        """Append a line, and return its byte offset."""
        return self._file.append(json_line(fields, escape=False))

    def _read(self, line: RecordLine, manifest: Mapping[str, Any]) -> None:
        try:
            fields: Any = json.loads(line.text)
            if line.number > 1 and _CHANGED in fields:
                raise _changed(self._path)
            if line.number > 1:
                self._add(fields, line.start)
                return
        except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
            raise InputError(
                f"{self._path}, line {line.number}: damaged, or changed since it was written;"
                " restore a copy, or give another --out"
            ) from None
        if not isinstance(fields, dict) or fields.get("format") != _FORMAT:
            raise _other_version(self._path)
        if changes := differences(fields, manifest):
            raise InputError(
                f"{self._path}: the run was started with other input or settings:"
                f" {'; '.join(changes)};"
                " resume it with the same input and settings, or give another --out"
            )

    def _add(self, outcome: Outcome, start: int) -> None:
        row, error, report = outcome["row"], outcome["error"], outcome["report"]
        self.starts[row] = start
        is_flawed = error is not None or (report or {}).get("coverage") not in (None, 1)
        (self.flawed.add if is_flawed else self.flawed.discard)(row)
        (self.failed.discard if error is None else self.failed.add)(row)


def _changed(path: Path) -> InputError:
    return InputError(
        f"{path}: the input changed while it was scored, so scores may belong to other rows; run"
        " the command with another --out"
    )


def _other_version(path: Path) -> InputError:
    return InputError(
        f"{path}: written by another version of conflictscore (this one writes format {_FORMAT});"
        " finish the run with that version, or give another --out"
    )
