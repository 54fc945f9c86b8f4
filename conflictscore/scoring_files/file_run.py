"""One run over a file: open the input, score what is missing, write the output.

```
OUT.jsonl              the rows of the input in their order, written when all of them ended
OUT.jsonl.run/
  .conflictscore.lock  held by the running command
  manifest.json        input and settings of the run
  rows.jsonl           the journal: outcomes of the rows that ended
```
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Protocol

from conflictscore.errors import InputError, ProviderError
from conflictscore.nodes.state import RunContext
from conflictscore.records import Usage
from conflictscore.scoring_files.engine import Outcome, Result, RowScorer
from conflictscore.scoring_files.journal import Journal, unwritable
from conflictscore.scoring_files.parquet import ParquetRows, write_parquet
from conflictscore.scoring_files.rows import ADDED, Columns, CsvRows, JsonLines, Row, Source
from conflictscore.storage.locking import lock_folder
from conflictscore.storage.manifests import differences, write_whole
from conflictscore.storage.private_files import owner_only
from conflictscore.storage.record_file import json_line

__all__ = ["RowListener", "Summary", "ascore_file", "open_source", "outcomes_of"]

_MAX_FAILED_IN_A_ROW = 50
"""So many consecutive failures are not the fault of single rows."""


class RowListener(Protocol):
    """Receives the progress of a run, in the thread of its event loop."""

    def begin(self, total: int, done: int) -> None:
        """A run starts, or resumes with ``done`` rows from earlier sessions."""

    def count(self, error: str | None, name: str) -> None:
        """A row was scored, or failed with an error."""


@dataclass(frozen=True)
class Summary:
    """The result of a run.

    Attributes:
        rows: All rows of the input.
        scored: Rows that ended in this session.
        failed: Rows without scores.
        incomplete: Rows with scores and an unlabelled pair.
        usage: Calls and tokens of this session.
    """

    rows: int
    scored: int
    failed: int
    incomplete: int
    usage: Usage


def open_source(path: Path, columns: Columns | None = None) -> Source:
    """Open an input by its suffix: ``.jsonl``, ``.csv`` or ``.parquet``.

    Raises:
        InputError: It has another suffix, or cannot be read.
        ConfigurationError: It is Parquet, and pyarrow is not installed.
    """
    kinds: dict[str, type[JsonLines | CsvRows | ParquetRows]] = {
        ".jsonl": JsonLines,
        ".csv": CsvRows,
        ".parquet": ParquetRows,
    }
    kind = kinds.get(path.suffix)
    if kind is None:
        raise InputError(f"{path}: its ending is not supported; supported are {', '.join(kinds)}")
    return kind(path, columns or Columns())


async def ascore_file(
    source: Source,
    out: Path,
    context: RunContext,
    scorer: RowScorer,
    *,
    retry_failed: bool = False,
    listener: RowListener | None = None,
) -> Summary:
    """Score the rows that have no scores yet, and write all rows to a file.

    Args:
        source: The input.
        out: The output: ``.jsonl``, or ``.parquet`` for a Parquet input. A run that is there is
            resumed.
        context: Models, labeler and settings; a resumed run must have been started with the same.
        scorer: Scores rows with this context: ``partial(score_rows, context, concurrency)``.
        retry_failed: Also score rows again that failed or have an unlabelled pair.
        listener: Receives the progress.

    Raises:
        InputError: The run was started with another input or other settings, another command is
            working on it, or its journal is damaged.
        ConfigurationError: A setting is wrong, or a file cannot be written.
        BudgetError: The budget is used up.
        ProviderError: Too many rows in a row failed.
    """
    _check_out(source, out)
    folder, total = _folder_of(out), source.total
    with _locked(source, out, folder):
        _start_or_compare(folder / "manifest.json", _manifest(source, context))
        with Journal(folder / "rows.jsonl") as journal:
            again = frozenset(journal.flawed) if retry_failed else frozenset()
            session = _Session(journal, listener)
            if listener is not None:
                listener.begin(total, len(journal) - len(again))
            if len(journal) - len(again) < total:
                rows = source.rows(lambda row: row in again or row not in journal)
                await scorer(rows, session.row_done)
            if len(journal) < total:
                raise InputError(f"{source.path}: has fewer rows than when it was opened")
            # also if nothing was scored: a kill may have come between the journal and the output
            _write(source, journal.outcomes(), out)
            failed, flawed = len(journal.failed), len(journal.flawed)
    return Summary(total, session.scored, failed, flawed - failed, session.usage)


def outcomes_of(out: Path) -> Iterator[Outcome]:
    """The outcomes of the rows of a finished run, in order.

    Raises:
        InputError: The run's journal cannot be read, or was changed.
    """
    with Journal(_folder_of(out) / "rows.jsonl") as journal:
        yield from journal.outcomes()


def _folder_of(out: Path) -> Path:
    return out.with_name(f"{out.name}.run")


class _Session:
    """One command's work on a run."""

    def __init__(self, journal: Journal, listener: RowListener | None) -> None:
        self._journal, self._listener = journal, listener
        self.scored = self._failed_in_a_row = 0
        self.usage = Usage()

    def row_done(self, row: Row, result: Result) -> None:
        self._journal.append(result.outcome)
        self.scored += 1
        self.usage += result.usage
        error = result.outcome["error"]
        if self._listener is not None:
            self._listener.count(error, f"row {row.number:,}")
        if not result.tried:
            return
        self._failed_in_a_row = 0 if error is None else self._failed_in_a_row + 1
        if self._failed_in_a_row == _MAX_FAILED_IN_A_ROW:
            raise ProviderError(
                f"the last {_MAX_FAILED_IN_A_ROW} rows all failed, so no further row was tried"
                f" ({error}); run the same command to resume, with --retry-failed to score these"
                " rows again too",
                provider="judge",
            )


def _write(source: Source, outcomes: Iterator[Outcome], out: Path) -> None:
    """Write the output, whole or not at all."""
    part = out.with_name(f"{out.name}.part")
    try:
        with open(part, "wb", opener=owner_only) as file:
            if isinstance(source, ParquetRows) and out.suffix == ".parquet":
                write_parquet(source, outcomes, file)
            else:
                rows = source.rows(lambda number: True)
                for row, outcome in zip(rows, outcomes, strict=True):
                    file.write(json_line({**row.fields, ADDED: outcome}, escape=False))
            file.flush()
            os.fsync(file.fileno())
        part.replace(out)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise unwritable(out, error.strerror or error) from None
    except BaseException:
        part.unlink(missing_ok=True)
        raise


_FORMAT = 2


def _manifest(source: Source, context: RunContext) -> dict[str, Any]:
    """Input and settings of a run that decide the scores, without secrets.

    Concurrency is left out, so that a run may be resumed with another.
    """
    model, labeler, prompts = context.decomposer, context.labeler, context.prompts
    configuration: dict[str, Any] = {
        "judge": {
            "name": model.name,
            "endpoint": model.endpoint,
            "parameters": None if model.parameters is None else dict(model.parameters),
            "context_window": model.context_window,
        },
        "labeler": {
            "name": labeler.name,
            "identity": None if labeler.identity is None else dict(labeler.identity),
        },
        "prompts": {"set": prompts.name, "sha256": prompts.sha256},
        "duplicates": context.settings.duplicates,
        **({"trust": context.settings.trust.described} if context.settings.trust else {}),
        "max_claims": context.settings.max_claims,
        "budget_seconds": context.settings.budget_seconds,
    }
    if source.columns != Columns():
        configuration["columns"] = asdict(source.columns)
    return {
        "format": _FORMAT,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "input": {"rows": source.total, "sha256": source.sha256},
        "configuration": json.loads(json.dumps(configuration)),  # as it is read back from a file
    }


def _start_or_compare(path: Path, now: Mapping[str, Any]) -> None:
    """Write the manifest of a new run, or compare it with that of the run to resume."""
    try:
        if not path.exists():
            write_whole(path, json.dumps(now, indent=2) + "\n")
            return
        started = json.loads(path.read_bytes())
    except OSError as error:
        raise unwritable(path.parent, error.strerror) from None
    except (ValueError, RecursionError):
        started = None
    if not isinstance(started, dict) or started.get("format") != _FORMAT:
        raise InputError(
            f"{path}: damaged, or written by another version of conflictscore (this one writes"
            f" format {_FORMAT}); finish the run with that version, or give another --out"
        )
    started["created"] = now["created"]
    if changes := differences(started, now):
        raise InputError(
            f"{path.parent}: the run was started with something else: {'; '.join(changes)}; resume"
            " it with the same input and settings, or give another --out"
        )


def _check_out(source: Source, out: Path) -> None:
    if out.suffix not in (".jsonl", ".parquet"):
        raise InputError(f"{out}: must end in .jsonl or .parquet")
    if out.suffix == ".parquet" and not isinstance(source, ParquetRows):
        raise InputError(f"--out {out}: only a Parquet input has a Parquet output; give .jsonl")


def _locked(source: Source, out: Path, folder: Path) -> IO[bytes]:
    """Keep other commands away from the output until the returned file is closed."""
    if out.exists() and out.samefile(source.path):
        raise InputError(f"--out {out}: is the input; give another file")
    if out.exists() and not (folder / "manifest.json").exists():
        raise InputError(
            f"--out {out}: exists, but not as the output of a run (there is no {folder.name}"
            " beside it); give another file, or delete this one"
        )
    try:
        return lock_folder(folder, otherwise="--out")
    except OSError as error:
        raise InputError(f"--out {out}: cannot be written ({error.strerror})") from None
