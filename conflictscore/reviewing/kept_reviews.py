"""Stores the reviews of a service's runs next to the runs, counts them, and exports them.

Limits without a stated reason were chosen by hand.
"""

import json
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from conflictscore.benchmarks.harness.report.exports import answer_table
from conflictscore.benchmarks.harness.report.page.report_run import live_run
from conflictscore.benchmarks.harness.report.reviews import (
    Review,
    review_row,
    reviews_beside,
    reviews_in,
)
from conflictscore.benchmarks.harness.statistics import krippendorff_alpha
from conflictscore.errors import ConfigurationError, InputError
from conflictscore.middleware.service.kept_runs import ListedRun
from conflictscore.reporting.run_log import logged_run
from conflictscore.scripts import fold
from conflictscore.storage.database import Database, SQLiteTables
from conflictscore.storage.record_file import append_line, json_line

MOST_EXPORTED = 1000
"""Maximum number of runs in one export, which is built in memory. ``conflictscore export`` has no
such limit."""
MOST_REVIEWS, MOST_REVIEWERS = 20_000, 50
"""Maximum total number of reviews, and maximum number of reviewers per run.

Replaced reviews are counted too. The numbers are limited because all reviews are kept in memory,
and any caller with a key can add reviews.
"""

EXPORTS = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl"}
"""The media type of each format. Formats are named after file extensions, in URLs too."""

_LATIN = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0432\u043a\u043c\u043d\u0442"
    "\u03bf\u03b1\u03c1\u03bd\u03b9",
    "aeopcyxijsbkmhtoapvi",
)
"""Cyrillic and Greek letters that look like Latin ones, with which a name could be forged."""

_TABLE = "CREATE TABLE IF NOT EXISTS reviews (id TEXT PRIMARY KEY, review TEXT NOT NULL)"


class _New(NamedTuple):
    """The rows that were added, with their locations, and how much has been read so far."""

    rows: Sequence[tuple[str, str | bytes]]
    size: int
    """The number of bytes of the file that have been read."""
    total: int
    """The total number of rows."""
    seen: set[str]
    """The ids of the rows in the store that have been read."""


class KeptReviews:
    """The reviews of all runs. If a reviewer reviewed a run several times, the last review counts.

    Several processes may add reviews. Reviews are never removed. Counts and lists show the state at
    the last :meth:`refresh`.

    Attributes:
        kept_in: Where reviews are stored: ``file``, ``store`` or ``memory``.
    """

    def __init__(self, runs: Path | None, store: Database | None = None) -> None:
        """Read the stored reviews from the store, or from the file next to the service's runs file.

        If there is neither a store nor a runs file, reviews are kept in memory only.

        Raises:
            InputError: The reviews file cannot be read. The message names the line and the field.
            ConfigurationError: The store cannot be used.
        """
        self.name = runs.name if runs and not store else "live runs"
        self.kept_in = "store" if store else "file" if runs else "memory"
        self._file = reviews_beside(runs) if runs and not store else None
        # without a store, the table is in memory; it stays empty if there is a file
        self._table = store or SQLiteTables(None, unusable=lambda e: ConfigurationError(str(e)))
        self._table.make(_TABLE)
        self._size, self._count, self._seen = 0, 0, set[str]()
        # requests refresh in several threads; without the lock, one that read earlier could put an
        # older review back in the place of a newer one
        self._refreshing = threading.Lock()
        self.by_run: dict[str, dict[str, Review]] = {}
        self._key_of: dict[str, str] = {}
        self.refresh()

    def refresh(self) -> None:
        """Read the reviews that were added since the last call.

        Raises:
            InputError, ConfigurationError: As in the constructor.
        """
        with self._refreshing:
            self._refresh()

    def _refresh(self) -> None:
        new = self._new_rows() if self._file is None else self._new_lines(self._file)
        # every call reports an invalid row, since the rows are read again until the row is fixed
        reviews = reviews_in(new.rows)
        for _, text in new.rows:
            self._note_key(text)
        for run_id, run_reviews in reviews.items():
            self.by_run.setdefault(run_id, {}).update(run_reviews)
        self._size, self._count, self._seen = new.size, new.total, new.seen

    def _note_key(self, text: str | bytes) -> None:
        """Remember which key first used a reviewer's name (:meth:`is_name_of_another`)."""
        with suppress(ValueError, AttributeError):  # ``reviews_in`` reports invalid rows
            row = json.loads(text)
            if isinstance(reviewer := row.get("annotator"), str) and row.get("key"):
                self._key_of.setdefault(_normal(reviewer), str(row["key"]))

    def is_name_of_another(self, reviewer: str, key: str) -> bool:
        """Return whether a reviewer's name belongs to a different key.

        A name belongs to the first key that used it, in every spelling that looks the same.
        """
        return self._key_of.get(_normal(reviewer), key) != key

    def _new_rows(self) -> "_New":
        # reviews are never removed, so an equal count means that nothing is new
        [[count]] = self._table.execute("SELECT count(*) FROM reviews")
        if count == self._count:
            return _New([], 0, count, self._seen)
        rows = self._table.execute("SELECT id, review FROM reviews")
        new = [(f"review {name}", text) for name, text in rows if name not in self._seen]
        return _New(new, 0, count, self._seen.union(name for name, _ in rows))

    def _new_lines(self, path: Path) -> "_New":
        """Return the new complete lines. A last line without a newline is left for later."""
        if not path.is_file():
            return _New([], self._size, self._count, self._seen)
        size, count = self._size, self._count
        try:
            with path.open("rb") as file:
                file.seek(size)
                lines = [line for line in file if line.endswith(b"\n")]
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror})") from None
        rows = [
            (f"{path}, line {number}", line)
            for number, line in enumerate(lines, count + 1)
            if line.strip().endswith(b"}")  # a partial line that a kill left is skipped
        ]
        return _New(rows, size + sum(map(len, lines)), count + len(lines), self._seen)

    def no_room_for(self, run_id: str, reviewer: str) -> str | None:
        """Return why no further review can be stored, or None if one can be stored."""
        if self._count >= MOST_REVIEWS:
            return f"there are {MOST_REVIEWS:,} reviews, which is the maximum; archive them first"
        there = self.of(run_id)
        if reviewer not in there and len(there) >= MOST_REVIEWERS:
            return f"this run has reviews by {MOST_REVIEWERS} reviewers, which is the maximum"
        return None

    def of(self, run_id: str) -> Mapping[str, Review]:
        """Return the reviews of a run, by reviewer; empty if it has no review."""
        return self.by_run.get(run_id, {})

    def add(self, run_id: str, reviewer: str, review: Review, key: str) -> None:
        """Store a review of a run, with the name of the key that sent it.

        Raises:
            ConfigurationError: The file or the store cannot be written, so the review is not
                stored.
        """
        row = {**review_row(run_id, reviewer, review), "key": key}
        if self._file is None:
            insertion = "INSERT INTO reviews VALUES ($1, $2)"
            self._table.execute(insertion, row["annotation_id"], json.dumps(row))
            return
        try:
            append_line(self._file, json_line(row))
        except OSError as error:
            raise ConfigurationError(
                f"{self._file}: cannot be written ({error.strerror}); the review was not stored"
            ) from error

    def reviewed(self, reviewer: str = "") -> list[str]:
        """Return the ids of the runs that this reviewer (by default, any reviewer) has reviewed."""
        return [run for run, reviews in self.by_run.items() if not reviewer or reviewer in reviews]


def counts(runs: Sequence[ListedRun], reviews: KeptReviews) -> dict[str, Any]:
    """Summarise the reviews of these runs as JSON.

    Returns:
        The numbers ``runs`` and ``reviewed``, the names of ``reviewers``, and two ``tables``: one
        for flips, and one for unchanged answers. Each table gives the number of runs, the number of
        reviewed runs, the verdicts, and Krippendorff's alpha over all reviewers.
    """
    reviews_by_run = {run.run_id: reviews.of(run.run_id) for run in runs}
    return {
        "runs": len(runs),
        "reviewed": sum(map(bool, reviews_by_run.values())),
        "reviewers": sorted(
            {who for by_reviewer in reviews_by_run.values() for who in by_reviewer}
        ),
        "kept_in": reviews.kept_in,
        "tables": [
            _table([reviews_by_run[run.run_id] for run in runs if run.flipped is is_flip])
            for is_flip in (True, False)
        ],
    }


def _table(reviews_of_runs: Sequence[Mapping[str, Review]]) -> dict[str, Any]:
    verdicts = [
        [review.verdict for review in reviews.values()] for reviews in reviews_of_runs if reviews
    ]
    return {
        "total": len(reviews_of_runs),
        "reviewed": len(verdicts),
        "verdicts": Counter(verdict for verdicts in verdicts for verdict in verdicts),
        "alpha": krippendorff_alpha(verdicts),
    }


def exported(to: str, stored_runs: Iterable[Mapping[str, Any]], reviews: KeptReviews) -> bytes:
    """Return a table of runs and their reviews, oldest first, in one format of ``EXPORTS``."""
    runs = [logged_run(stored_run, str(stored_run.get("run_id"))) for stored_run in stored_runs]
    return answer_table([live_run(reviews.name, runs, reviews.by_run)], f".{to}")


def _normal(reviewer: str) -> str:
    """Return a name in a form that is the same for all spellings that look alike."""
    return " ".join(fold(reviewer).translate(_LATIN).split())
