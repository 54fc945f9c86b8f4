"""Verdicts on free-form answers: by their ConflictScore, and what a judge may give."""

from collections.abc import Collection, Mapping

from conflictscore.benchmarks.harness.definition import SCORES
from conflictscore.benchmarks.harness.records import Verdict
from conflictscore.errors import InputError
from conflictscore.records import ConflictReport, Label


def score_verdicts(report: ConflictReport) -> dict[str, Verdict]:
    """CS-C and CS-R as verdicts by measure, with the counts that they come from.

    An answer without a claim, or without a labelled one, is unjudged: nothing is known of it.
    """
    if report.error is not None or report.cs_c is None or report.cs_r is None:
        unlabelled = "none of its claims has a label" if report.claims else "it makes no claim"
        return dict.fromkeys(SCORES, Verdict(value=None, error=report.error or unlabelled))
    pairs = [pair for claim in report.claims for pair in claim.labels]
    labelled = sum(pair.label is not Label.UNLABELLED for pair in pairs)
    counts = (
        f"{len(report.conflicting)} of {len(report.claims)} claims have documents on both sides;"
        f" {labelled} of {len(pairs)} pairs of claim and document are labelled"
    )
    values = dict(zip(SCORES, (report.cs_c, report.cs_r), strict=True))
    return {name: Verdict(value=value, explanation=counts) for name, value in values.items()}


def refuse_odd_values(verdicts: Mapping[str, Verdict], graded: Collection[str]) -> None:
    """Refuse values that would be counted as something else, as a user's own judge may give.

    A graded measure takes numbers from 0 to 1, any other yes or no.

    Raises:
        InputError: Names the measure and the value.
    """
    for name, verdict in verdicts.items():
        if verdict.value is None:
            continue
        fits = 0 <= verdict.value <= 1 if name in graded else verdict.value in (0, 1)
        if not fits:
            wanted = "a number from 0 to 1" if name in graded else "yes or no; it is not graded"
            raise InputError(
                f"the judge gave {verdict.value} by the measure {name!r}, which wants {wanted}"
            )
