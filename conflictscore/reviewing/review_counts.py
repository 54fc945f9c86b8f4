"""Totals of reviews, and how far reviewers agree."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from conflictscore.benchmarks.harness.report.page.report_run import Review
from conflictscore.benchmarks.harness.report.page.tables import review_table
from conflictscore.errors import ConfigurationError
from conflictscore.middleware.service.kept_runs import ListedRun
from conflictscore.reviewing.kept_reviews import KeptReviews

__all__ = ["counts"]


def counts(runs: Sequence[ListedRun], reviews: KeptReviews) -> dict[str, Any]:
    """What a service tells of reviews, as JSON.

    Args:
        runs: The runs that are counted.
        reviews: All reviews; those of other runs are passed over.

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
