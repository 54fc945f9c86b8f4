"""Reviews of a service's runs: stored beside the runs, counted, and exported."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from conflictscore.benchmarks.harness.report.exports import table_of
from conflictscore.benchmarks.harness.report.label_studio import (
    annotations_in,
    review_row,
    tasks_of,
)
from conflictscore.benchmarks.harness.report.page.report_run import (
    FlipAnnotation,
    ReportRun,
    Review,
    live_run,
    reviews_beside,
)
from conflictscore.benchmarks.harness.report.page.tables import review_table
from conflictscore.errors import ConfigurationError, InputError
from conflictscore.middleware.service.kept_runs import ListedRun
from conflictscore.reporting.run_log import logged_run
from conflictscore.storage.database import Database, SQLiteTables
from conflictscore.storage.record_file import append_line, json_line

__all__ = ["EXPORTS", "MOST_EXPORTED", "KeptReviews", "counts", "exported"]

MOST_EXPORTED = 1000
"""Runs."""
MOST_REVIEWS, MOST_REVIEWERS = 20_000, 50
"""Reviews in all, those that a later one replaces included; and reviewers of one run."""

EXPORTS = {
    "csv": ("runs.csv", "text/csv; charset=utf-8"),
    "jsonl": ("runs.jsonl", "application/jsonl"),
    "parquet": ("runs.parquet", "application/vnd.apache.parquet"),
    "tasks": ("tasks.json", "application/json"),
    "reviews": ("reviews.json", "application/json"),
}
"""By its name in an address: the name of the file, and its media type. ``tasks`` are Label
Studio's, and ``reviews`` are what ``conflictscore report --annotations`` reads."""

_TABLE = "CREATE TABLE IF NOT EXISTS reviews (id TEXT PRIMARY KEY, review TEXT NOT NULL)"


class KeptReviews:
    """Reviews by run; of several by one reviewer on one run, the last one counts.

    They are only ever added to, by any process. Counts and lists are as of the last
    :meth:`refresh`.

    Attributes:
        kept_in: ``file``, ``store`` or ``memory``.
    """

    def __init__(self, runs: Path | None, store: Database | None = None) -> None:
        """Read the reviews beside the service's file of runs, or in the store; or start with none.

        Raises:
            InputError: The file of reviews cannot be read; names the line and the field.
            ConfigurationError: The store cannot be used.
        """
        self.name = runs.name if runs and not store else "live runs"
        self.kept_in = "store" if store else "file" if runs else "memory"
        self._file = reviews_beside(runs) if runs and not store else None
        self._table = store or SQLiteTables(None, unusable=lambda e: ConfigurationError(str(e)))
        self._table.make(_TABLE)
        self._read = self._size = 0
        self._said: dict[str, tuple[str, dict[str, Review]]] = {}
        self.refresh()

    def refresh(self) -> None:
        """Read what was added since the last time.

        Raises:
            InputError, ConfigurationError: As when it was made.
        """
        rows = list(self._table_rows() if self._file is None else self._file_rows(self._file))
        for flips in annotations_in(rows).values():
            for (run_id, method), annotation in flips.items():
                known = self._said.get(run_id, (method, {}))[1]
                self._said[run_id] = method, {**known, **annotation.reviews}

    def _table_rows(self) -> Iterator[tuple[str, dict[str, Any]]]:
        [[there]] = self._table.execute("SELECT count(*) FROM reviews")
        if there != self._read:
            self._read = there
            for name, row in self._table.execute("SELECT id, review FROM reviews"):
                yield f"review {name}", json.loads(row)

    def _file_rows(self, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
        """The whole lines behind those that were read; one without its end is half written."""
        if not path.is_file():
            return
        with path.open("rb") as file:
            file.seek(self._size)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._size += len(line)
                self._read += 1
                if line.strip().endswith(b"}"):
                    where = f"{path}, line {self._read}"
                    try:
                        row = json.loads(line)
                    except (ValueError, RecursionError):
                        raise InputError(f"{where}: not JSON") from None
                    yield where, row

    def no_room_for(self, run_id: str, reviewer: str) -> str | None:
        """Why no review can be added; None if one can."""
        if self._read >= MOST_REVIEWS:
            return f"there are {MOST_REVIEWS:,} reviews, the most that are kept; move them away"
        there = self.of(run_id)
        if reviewer not in there and len(there) >= MOST_REVIEWERS:
            return f"this run has reviews by {MOST_REVIEWERS} reviewers, the most that are kept"
        return None

    def of(self, run_id: str) -> Mapping[str, Review]:
        """The reviews of a run, by reviewer; empty if there are none."""
        return self._said[run_id][1] if run_id in self._said else {}

    def add(self, run_id: str, method: str, reviewer: str, said: Review, key: str) -> None:
        """Store a review of a run's second look, with the name of the key that it came with.

        Raises:
            ConfigurationError: The file or the store does not take it; the review is not kept.
        """
        row = {**review_row(self.name, (run_id, method), reviewer, said), "key": key}
        if self._file is None:
            added = "INSERT INTO reviews VALUES ($1, $2)"
            self._table.execute(added, row["annotation_id"], json.dumps(row))
            return
        try:
            append_line(self._file, json_line(row))
        except OSError as error:
            raise ConfigurationError(
                f"{self._file}: cannot be written ({error.strerror}); the review is not kept"
            ) from error

    def reviewed(self, reviewer: str = "") -> list[str]:
        """The ids of the runs that this reviewer, or anybody, reviewed."""
        return [run for run, (_, said) in self._said.items() if not reviewer or reviewer in said]

    def annotations(self) -> dict[tuple[str, str], FlipAnnotation]:
        """All of them, as a report takes them."""
        return {
            (run_id, method): FlipAnnotation(reviews=said)
            for run_id, (method, said) in self._said.items()
        }


def counts(runs: Sequence[ListedRun], reviews: KeptReviews) -> dict[str, Any]:
    """Summary of the reviews of these runs, as JSON.

    Returns:
        ``runs``, ``reviewed``, ``reviewers``, and for flips and for unchanged answers a table as a
        report has it: how many there are and were reviewed, verdicts, Krippendorff's alpha, and
        Cohen's kappa of each pair of reviewers.
    """
    said = {run.run_id: reviews.of(run.run_id) for run in runs}
    tables = [
        _table(what, [said[run.run_id] for run in runs if run.flipped is flipped])
        for what, flipped in (("flip", True), ("unchanged answer", False))
    ]
    return {
        "runs": len(runs),
        "reviewed": sum(map(bool, said.values())),
        "reviewers": sorted({who for by_reviewer in said.values() for who in by_reviewer}),
        "kept_in": reviews.kept_in,
        "tables": tables,
    }


def _table(what: str, said: Sequence[Mapping[str, Review]]) -> dict[str, Any]:
    note = ""
    try:
        table = review_table("", what, said)
    except ConfigurationError as error:  # statsmodels is not installed
        table, note = review_table("", what, said, paired=False), str(error)
    # asdict would count the pairs of a Counter anew
    return {**asdict(table), "verdicts": dict(table.verdicts), "note": note}


def exported(to: str, entries: Iterable[Mapping[str, Any]], reviews: KeptReviews) -> bytes:
    """A file of runs, oldest first, with their reviews; ``to`` is one of ``EXPORTS``.

    Raises:
        ConfigurationError: Parquet is asked for, and pyarrow is not installed.
    """
    runs = [logged_run(entry, str(entry.get("run_id"))) for entry in entries]
    shown = live_run(reviews.name, runs, reviews.annotations())
    if to in ("csv", "jsonl", "parquet"):
        return table_of([shown], f".{to}")[1]
    rows = tasks_of([shown]) if to == "tasks" else _reviews_of(shown)
    return json.dumps(rows, ensure_ascii=False, indent=2).encode(errors="replace")


def _reviews_of(run: ReportRun) -> list[dict[str, Any]]:
    known = {result.question.id for result in run.results}
    return [
        review_row(run.name, flip, reviewer, said)
        for flip, annotation in run.annotations.items()
        if flip[0] in known
        for reviewer, said in annotation.reviews.items()
    ]
