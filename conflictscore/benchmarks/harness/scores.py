"""From an answer's ConflictScore to what it is judged by."""

from conflictscore.benchmarks.harness.benchmark import SCORES
from conflictscore.benchmarks.harness.records import Verdict
from conflictscore.records import ConflictReport, Label

__all__ = ["score_verdicts"]


def score_verdicts(report: ConflictReport) -> dict[str, Verdict]:
    """CS-C and CS-R as verdicts by measure, with what they were counted from.

    An answer without a claim, or without a labelled one, is unjudged: nothing is known of it.

    Args:
        report: The labels of the answer's claims, and its scores.
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
