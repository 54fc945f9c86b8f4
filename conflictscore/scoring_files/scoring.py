"""One run of a command: an input is opened, what is missing of it scored, and the output settled.

```
OUT.jsonl              one line a row, in the order of the input, only ever added to
OUT.jsonl.run/
  .conflictscore.lock  held by the command that writes
  manifest.json        what the run was begun with
  waiting.sqlite       rows that ended before their turn, or were scored again
  rows.jsonl           the lines of a Parquet output, which is written when all are there
```
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Literal, Protocol

from pydantic import ValidationError

from conflictscore.errors import InputError, ProviderError
from conflictscore.nodes.state import RunContext
from conflictscore.records import Record, Usage
from conflictscore.scoring_files.engine import Engine, Result
from conflictscore.scoring_files.journal import Journal, outcome_in, unwritable
from conflictscore.scoring_files.parquet import ParquetOutput, ParquetRows
from conflictscore.scoring_files.rows import Columns, CsvRows, JsonLines, Row, Source
from conflictscore.storage.locking import lock_folder
from conflictscore.storage.manifests import differences, write_whole
from conflictscore.storage.record_file import RecordLines

__all__ = ["RowListener", "Summary", "ascore_file", "open_source", "outcomes_of"]

_FORMER_SETTINGS = (("whole_answer", False),)
"""Settings that earlier versions recorded, at the value that every run has now."""
_FAILED_IN_A_ROW = 50
"""So many rows that fail one after the other are not the fault of single rows."""


class RowListener(Protocol):
    """Is told how a run goes, in the thread of its event loop."""

    def begun(self, *, total: int, ended: int) -> None:
        """A run starts, or resumes where so many rows ended in earlier sessions."""

    def ended(self, result: Result) -> None:
        """A row ended."""


@dataclass(frozen=True)
class Summary:
    """What a run resulted in.

    Attributes:
        rows: All rows of the input.
        scored: How many of them ended in this session.
        failed: How many have no scores.
        incomplete: How many have scores, and a pair without a verdict.
        usage: What this session cost.
        notes: What the user should know about the state in which the run was found.
    """

    rows: int
    scored: int
    failed: int
    incomplete: int
    usage: Usage
    notes: tuple[str, ...]


def open_source(path: Path, columns: Columns | None = None) -> Source:
    """Open an input by its name, which ends in ``.jsonl``, ``.csv`` or ``.parquet``.

    Args:
        path: The file.
        columns: Which fields of a row are scored.

    Raises:
        InputError: It has another name, or cannot be read.
        ConfigurationError: It is Parquet, and pyarrow is not installed.
    """
    kinds: dict[str, type[JsonLines | CsvRows | ParquetRows]] = {
        ".jsonl": JsonLines,
        ".csv": CsvRows,
        ".parquet": ParquetRows,
    }
    kind = kinds.get(path.suffix)
    if kind is None:
        raise InputError(f"{path}: ends in none of {', '.join(kinds)}")
    return kind(path, columns or Columns())


async def ascore_file(
    source: Source,
    out: Path,
    context: RunContext,
    engine: Engine,
    *,
    retry_failed: bool = False,
    listener: RowListener | None = None,
) -> Summary:
    """Score the rows that have no scores yet, and write all of them to a file.

    Args:
        source: The input.
        out: Where to, ``.jsonl`` or ``.parquet``; a run that is there is resumed.
        context: What rows are scored with; it is compared with what the run was begun with.
        engine: Scores them, with the same.
        retry_failed: Score again the rows that failed, or have a pair without a verdict.
        listener: Is told how it goes.

    Raises:
        InputError: The run was begun with something else, is used by another command, or the
            output is not that of a run.
        ConfigurationError: A setting is wrong, or a file cannot be written.
        BudgetError: The budget is used up.
        ProviderError: Row after row failed.
    """
    parquet = ParquetOutput(source) if _is_parquet(out) else None
    folder = _folder_of(out)
    with _claimed(source, out, folder):
        _begin_or_check(folder / "manifest.json", _manifest(source, context))
        lines = _lines_of(out)
        journal = Journal(lines, folder / "waiting.sqlite")
        session = _Session(source, journal, carry=parquet is None, listener=listener)
        try:
            await session.run(engine, retry_failed=retry_failed)
            journal.settle()
        finally:
            journal.close()
        if parquet:
            parquet.write(lines, out)
    return session.summary()


def outcomes_of(out: Path) -> Iterator[Mapping[str, Any]]:
    """What was added to each row of a run that ended, in the order of its rows.

    Raises:
        InputError: The output cannot be read, or was changed.
    """
    lines = _lines_of(out)
    return (outcome_in(line.text, line.number, lines) for line in RecordLines(lines))


def _folder_of(out: Path) -> Path:
    return out.with_name(f"{out.name}.run")


def _lines_of(out: Path) -> Path:
    return _folder_of(out) / "rows.jsonl" if _is_parquet(out) else out


class _Session:
    """What one command does of a run."""

    def __init__(
        self, source: Source, journal: Journal, *, carry: bool, listener: RowListener | None
    ) -> None:
        self._source, self._journal, self._carry = source, journal, carry
        self._listener = listener
        self._scored = self._failed_in_a_row = 0
        self._usage = Usage()

    async def run(self, engine: Engine, *, retry_failed: bool) -> None:
        journal, total = self._journal, self._source.total
        again = frozenset(journal.flawed) if retry_failed else frozenset()

        def wanted(row: int) -> bool:
            return row in again or not journal.has(row)

        ended = journal.ended - len(again)
        if self._listener is not None:
            self._listener.begun(total=total, ended=ended)
        if ended < total:
            await engine.run(self._source.rows(wanted), self._ended)
        if journal.ended < total:
            raise InputError(f"{self._source.path}: has fewer rows than when it was opened")

    def summary(self) -> Summary:
        journal = self._journal
        note = (
            "half a line at the end of the output, as a kill leaves it, was cut off"
            f" ({journal.half} bytes)"
        )
        return Summary(
            rows=self._source.total,
            scored=self._scored,
            failed=len(journal.failed),
            incomplete=len(journal.flawed) - len(journal.failed),
            usage=self._usage,
            notes=(note,) if journal.half else (),
        )

    def _ended(self, row: Row, result: Result) -> None:
        self._journal.end(row.fields if self._carry else {}, result.outcome)
        self._scored += 1
        self._usage += result.usage
        if self._listener is not None:
            self._listener.ended(result)
        error = result.outcome["error"]
        if not result.tried:
            return
        self._failed_in_a_row = 0 if error is None else self._failed_in_a_row + 1
        if self._failed_in_a_row == _FAILED_IN_A_ROW:
            raise ProviderError(
                f"the last {_FAILED_IN_A_ROW} rows all failed, and no further row was tried"
                f" ({error}); run the same command to resume, with --retry-failed to score these"
                " rows again too",
                provider="judge",
            )


class _Manifest(Record):
    """What a run was begun with; plain JSON, and none of it secret."""

    format: Literal[1] = 1
    created: str
    """When the run was begun, in UTC and ISO 8601; compared by no rule."""
    input: dict[str, Any]
    """Number of rows, and SHA-256 of the file."""
    configuration: dict[str, Any]
    """All that decides the scores. How fast a run goes (engine, workers, concurrency) is no part of
    it, so that it can be resumed in another way."""


def _manifest(source: Source, context: RunContext) -> _Manifest:
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
        "duplicates": context.duplicates,
        **({} if context.duplicates_by == "words" else {"duplicates_by": context.duplicates_by}),
        **({"trust": context.trust.described} if context.trust else {}),
        "max_claims": context.max_claims,
        "budget_seconds": context.budget_seconds,
    }
    if source.columns != Columns():
        configuration["columns"] = asdict(source.columns)
    return _Manifest(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        input={"rows": source.total, "sha256": source.sha256},
        configuration=json.loads(json.dumps(configuration)),  # as it comes back from a file
    )


def _begin_or_check(path: Path, now: _Manifest) -> None:
    """Write the manifest of a new run, or compare that of the run with what it is resumed with."""
    try:
        begun = _Manifest.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        try:
            write_whole(path, json.dumps(now.to_json(), indent=2) + "\n")
        except OSError as error:
            raise unwritable(path.parent, error.strerror) from None
        return
    except OSError as error:
        raise unwritable(path.parent, error.strerror) from None
    except ValidationError:
        raise InputError(
            f"{path}: damaged, or of another version of conflictscore; put back a copy, or give"
            " another --out"
        ) from None
    if changes := differences(_compared(begun), _compared(now)):
        raise InputError(
            f"{path.parent}: the run was begun with something else: {'; '.join(changes)}; resume it"
            " with the same input and settings, or give another --out"
        )


def _compared(manifest: _Manifest) -> Mapping[str, Any]:
    compared = {name: value for name, value in manifest.to_json().items() if name != "created"}
    compared["configuration"] = {
        name: value
        for name, value in manifest.configuration.items()
        if (name, value) not in _FORMER_SETTINGS
    }
    return compared


def _claimed(source: Source, out: Path, folder: Path) -> IO[bytes]:
    """Keep other commands away from the output, until what this returns is closed."""
    if out.exists() and out.samefile(source.path):
        raise InputError(f"--out {out}: is the input; give another file")
    if out.exists() and not (folder / "manifest.json").exists():
        raise InputError(
            f"--out {out}: is there already, without the folder {folder.name} that a run keeps"
            " beside it; give another file, or delete this one"
        )
    try:
        return lock_folder(folder, otherwise="--out")
    except OSError as error:
        raise InputError(f"--out {out}: cannot be written ({error.strerror})") from None


def _is_parquet(path: Path) -> bool:
    if path.suffix not in (".jsonl", ".parquet"):
        raise InputError(f"{path}: ends neither in .jsonl nor in .parquet")
    return path.suffix == ".parquet"
