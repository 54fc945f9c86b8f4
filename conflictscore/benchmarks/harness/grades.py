"""Derives verdicts on free-form answers from ConflictScores, and checks the values of judges."""

from collections.abc import Collection, Mapping

from conflictscore.benchmarks.harness.definition import SCORES
from conflictscore.benchmarks.harness.records import Verdict
from conflictscore.errors import InputError
from conflictscore.records import ConflictReport, Label


def score_verdicts(report: ConflictReport) -> dict[str, Verdict]:
    """Turn CS-C and CS-R into one verdict each, and explain each verdict by its counts.

    An answer without claims, or without labelled claims, remains unjudged: it has no score, and a
    score of 0 would make it one of the best answers.
    """
    if report.error is not None or report.cs_c is None or report.cs_r is None:
        reason = "none of its claims was labelled" if report.claims else "it makes no claim"
        return dict.fromkeys(SCORES, Verdict(value=None, error=report.error or reason))
    pairs = [pair for claim in report.claims for pair in claim.labels]
    labelled_pairs = sum(pair.label is not Label.UNLABELLED for pair in pairs)
    counts = (
        f"{len(report.conflicting)} of {len(report.claims)} claims have documents on both sides;"
        f" {labelled_pairs} of {len(pairs)} pairs of claim and document are labelled"
    )
    scores = dict(zip(SCORES, (report.cs_c, report.cs_r), strict=True))
    return {name: Verdict(value=score, explanation=counts) for name, score in scores.items()}


def refuse_odd_values(
    verdicts: Mapping[str, Verdict], measures: Collection[str], graded_measures: Collection[str]
) -> None:
    """Reject verdicts that would be counted wrongly or ignored; a custom judge might return them.

    A graded measure accepts numbers from 0 to 1; any other measure accepts yes or no. A judge may
    leave out measures that do not apply to the question. A judge may also give verdicts on graded
    measures that the benchmark does not show, since two benchmarks may share a judge.

    Raises:
        InputError: The benchmark has no such measure, or a value does not fit its measure.
    """
    for name, verdict in verdicts.items():
        if name not in measures and name not in graded_measures:
            raise InputError(
                f"the judge gave a verdict on {name!r}, which is not a measure of the benchmark;"
                f" its measures are {', '.join(measures)}"
            )
        if verdict.value is None:
            continue
        fits = 0 <= verdict.value <= 1 if name in graded_measures else verdict.value in (0, 1)
        if not fits:
            allowed_values = (
                "a number from 0 to 1"
                if name in graded_measures
                else "yes or no, since the measure is not graded"
            )
            raise InputError(
                f"the judge gave {verdict.value} for the measure {name!r}, which takes"
                f" {allowed_values}"
            )
