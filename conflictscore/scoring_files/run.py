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

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from conflictscore.errors import InputError, ProviderError
from conflictscore.nodes.state import RunContext
from conflictscore.records import Usage
from conflictscore.scoring_files.engine import Engine
from conflictscore.scoring_files.journal import Journal
from conflictscore.scoring_files.json_lines import JsonLines
from conflictscore.scoring_files.manifest import begin_or_check, manifest_of
from conflictscore.scoring_files.parquet_input import ParquetRows
from conflictscore.scoring_files.parquet_output import ParquetOutput
from conflictscore.scoring_files.result import Result
from conflictscore.scoring_files.rows import Row, Source
from conflictscore.scoring_files.unwritable import unwritable
from conflictscore.storage.locking import lock_folder

__all__ = ["Listener", "Summary", "ascore_file", "open_source"]

_FAILED_IN_A_ROW = 50
"""So many rows that fail one after the other are no matter of single rows."""


class Listener(Protocol):
    """Is told how a run goes, in the thread of its event loop."""

    def begun(self, *, total: int, ended: int) -> None:
        """A run starts, or goes on where so many rows ended in earlier sessions."""

    def ended(self, result: Result) -> None:
        """A row ended."""


@dataclass(frozen=True)
class Summary:
    """What a run came to.

    Attributes:
        rows: All rows of the input.
        scored: How many of them ended in this session.
        failed: How many have no scores.
        incomplete: How many have scores, and a pair without a verdict.
        usage: What this session cost.
        notes: What the user should know of how the run was found.
    """

    rows: int
    scored: int
    failed: int
    incomplete: int
    usage: Usage
    notes: tuple[str, ...]


def open_source(path: Path) -> Source:
    """Open an input by its name, which ends in ``.jsonl`` or ``.parquet``.

    Raises:
        InputError: It has another name, or cannot be read.
        ConfigurationError: It is Parquet, and pyarrow is not installed.
    """
    return ParquetRows(path) if _is_parquet(path) else JsonLines(path)


async def ascore_file(
    source: Source,
    out: Path,
    context: RunContext,
    engine: Engine,
    *,
    retry_failed: bool = False,
    listener: Listener | None = None,
) -> Summary:
    """Score the rows that have no scores yet, and write all of them to a file.

    Args:
        source: The input.
        out: Where to, ``.jsonl`` or ``.parquet``; a run that is there is gone on with.
        context: What rows are scored with; it is compared with what the run was begun with.
        engine: Scores them, with the same.
        retry_failed: Score again the rows that failed, or have a pair without a verdict.
        listener: Is told how it goes.

    Raises:
        InputError: The run was begun with something else, is used by another command, or the
            output is no run's.
        ConfigurationError: A setting is wrong, or a file cannot be written.
        BudgetError: The budget is used up.
        ProviderError: Row after row failed.
    """
    parquet = ParquetOutput(source) if _is_parquet(out) else None
    folder = out.with_name(f"{out.name}.run")
    with _claimed(source, out, folder):
        try:
            begin_or_check(folder / "manifest.json", manifest_of(source, context))
        except OSError as error:
            raise unwritable(folder, error.strerror) from None
        lines = folder / "rows.jsonl" if parquet else out
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


class _Session:
    """What one command does of a run."""

    def __init__(
        self, source: Source, journal: Journal, *, carry: bool, listener: Listener | None
    ) -> None:
        self._source, self._journal, self._carry = source, journal, carry
        self._listener = listener
        self.scored = 0
        self._usage = Usage()
        self._failed_in_a_row = 0

    async def run(self, engine: Engine, *, retry_failed: bool) -> None:
        journal = self._journal
        again = frozenset(journal.counts.flawed) if retry_failed else frozenset()

        def wanted(row: int) -> bool:
            return row in again or not journal.has(row)

        if self._listener is not None:
            self._listener.begun(total=self._source.total, ended=journal.ended - len(again))
        if journal.ended - len(again) < self._source.total:
            await engine.run(self._source.rows(wanted), self._ended)
        if journal.ended < self._source.total:
            raise InputError(f"{self._source.path}: has fewer rows than when it was opened")

    def summary(self) -> Summary:
        counts, half = self._journal.counts, self._journal.half
        note = (
            f"half a line at the end of the output, as a kill leaves it, was cut off ({half} bytes)"
        )
        return Summary(
            rows=self._source.total,
            scored=self.scored,
            failed=len(counts.failed),
            incomplete=len(counts.flawed) - len(counts.failed),
            usage=self._usage,
            notes=(note,) if half else (),
        )

    def _ended(self, row: Row, result: Result) -> None:
        self._journal.end(row.fields if self._carry else {}, result.outcome)
        self.scored += 1
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
                f" ({error}); the same command goes on, with --retry-failed also with these",
                provider="judge",
            )


@contextmanager
def _claimed(source: Source, out: Path, folder: Path) -> Iterator[None]:
    """Keep other commands away from the output."""
    if out.exists() and out.samefile(source.path):
        raise InputError(f"--out {out}: is the input; give another file")
    if out.exists() and not (folder / "manifest.json").exists():
        raise InputError(
            f"--out {out}: is there already, and {folder.name} beside it, which a run keeps, is"
            " not; give another file, or delete this one"
        )
    try:
        locked = lock_folder(folder, otherwise="--out")
    except OSError as error:
        raise InputError(f"--out {out}: cannot be written ({error.strerror})") from None
    with locked:
        yield


def _is_parquet(path: Path) -> bool:
    if path.suffix not in (".jsonl", ".parquet"):
        raise InputError(f"{path}: ends neither in .jsonl nor in .parquet")
    return path.suffix == ".parquet"
