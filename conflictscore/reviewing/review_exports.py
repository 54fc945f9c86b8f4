"""Reviewed runs in the formats of ``conflictscore export``, and the reviews themselves."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from conflictscore.benchmarks.harness.report.exports import table_of
from conflictscore.benchmarks.harness.report.label_studio import review_row, tasks_of
from conflictscore.benchmarks.harness.report.page.report_run import ReportRun, live_run
from conflictscore.reporting.run_log import logged_run
from conflictscore.reviewing.kept_reviews import KeptReviews

__all__ = ["EXPORTS", "MOST_EXPORTED", "exported"]

MOST_EXPORTED = 1000
"""Runs."""

EXPORTS = {
    "csv": ("runs.csv", "text/csv; charset=utf-8"),
    "jsonl": ("runs.jsonl", "application/jsonl"),
    "parquet": ("runs.parquet", "application/vnd.apache.parquet"),
    "tasks": ("tasks.json", "application/json"),
    "reviews": ("reviews.json", "application/json"),
}
"""By its name in an address: the name of the file, and its media type. ``tasks`` are Label
Studio's, and ``reviews`` are what ``conflictscore report --annotations`` reads."""


def exported(to: str, entries: Iterable[Mapping[str, Any]], reviews: KeptReviews) -> bytes:
    """A file of runs with their reviews.

    Args:
        to: One of ``EXPORTS``.
        entries: The runs, as the service keeps them, oldest first.
        reviews: The reviews of these and of other runs.

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
