"""Which claims of an answer fail a threshold, for a test or a CI log: one line a claim."""

from collections.abc import Sequence

from conflictscore.metric import contradiction_share
from conflictscore.nodes.conflict_details import witnesses
from conflictscore.records import ClaimEvidence, Document, Label, Run
from conflictscore.reporting.figure_text import one_line
from conflictscore.scoring_files.engine import why_unscored

__all__ = ["failure_lines"]

_SHOWN_WITNESSES = 3
_SHOWN_CHARS = 160


def failure_lines(run: Run, threshold: float) -> list[str]:
    """Why an answer fails: its scores, then each failing claim with its evidence; else nothing.

    An answer fails where its CS-R is above the threshold, and where it could not be checked. A
    claim fails where its own share of contradiction, |D-| / (|D+| + |D-|), is above it: CS-R is the
    mean of these shares, so an answer that fails has such a claim.

    Args:
        run: The scored answer.
        threshold: The highest CS-R that passes, in [0, 1].
    """
    report = run.report
    if report is None or report.cs_c is None or report.cs_r is None:
        reason = run.reason if report is None else why_unscored(report)
        return [f"the answer has no score: {one_line(reason or 'it makes no claim')}"]
    scores = f"CS-R {report.cs_r:.2f}, CS-C {report.cs_c:.2f}, coverage {report.coverage:.0%}"
    if report.cs_r > threshold:
        once = {} if report.duplicates_vote else report.duplicates
        failing = [c for c in report.claims if (contradiction_share(c, once) or 0) > threshold]
        told = [_told(claim, run.documents) for claim in failing]
        return [f"the answer is above the threshold of {threshold:g}: {scores}", *told]
    if run.checked == "no":
        return [f"too few pairs of claim and document have a label: {scores}"]
    return []


def _told(evidence: ClaimEvidence, documents: Sequence[Document]) -> str:
    sides = [
        f"{word}: {side}"
        for word, label in (
            ("contradicted by", Label.CONTRADICTS),
            ("supported by", Label.SUPPORTS),
        )
        if (side := _side(evidence, label, documents))
    ]
    return f"claim {evidence.claim.number} “{one_line(evidence.claim.text)}” {'; '.join(sides)}"


def _side(evidence: ClaimEvidence, label: Label, documents: Sequence[Document]) -> str:
    found = list(witnesses(evidence, label, documents))
    shown = [
        f"document {w.document.number}"
        + (f" ({one_line(w.source, _SHOWN_CHARS)})" if w.source else "")
        + (f" “{one_line(w.passage, _SHOWN_CHARS)}”" if w.passage else "")
        for w in found[:_SHOWN_WITNESSES]
    ]
    more = len(found) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
