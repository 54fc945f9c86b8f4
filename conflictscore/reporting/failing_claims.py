"""Applies a threshold to scored rows, and names the claims that fail with their evidence."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from conflictscore.nodes.conflict_details import witnesses
from conflictscore.records import Claim, ClaimEvidence, Document, EvidenceLabel, Label
from conflictscore.reporting.figure_text import one_line

__all__ = ["FailingAnswer", "failing_row"]

_SHOWN_WITNESSES = 3
_SHOWN_CHARS = 160
_MIN_COVERAGE = 0.5
_SAME = 1e-9
"""Rounding tolerance: a mean that equals the threshold must pass."""
_SIDES = (("contradicted by", Label.CONTRADICTS), ("supported by", Label.SUPPORTS))


class FailingAnswer(NamedTuple):
    """The reason why an answer fails."""

    why: str
    """A sentence with its scores."""
    brief: str
    """A few words."""
    claims: tuple[str, ...] = ()
    """A line for each failing claim with its evidence."""


def failing_row(
    outcome: Mapping[str, Any], documents: Sequence[Document], threshold: float
) -> FailingAnswer | None:
    """Check the field that ``score-file`` added to a row; None if it passes.

    A row fails if its CS-R is above the threshold, in [0, 1], if it has no score, or labels for
    fewer than half of its pairs. A claim fails if its own share of contradiction,
    |D-| / (|D+| + |D-|), is above it. CS-R is the mean of these shares, so every failing row has a
    failing claim. Without documents, failing claims have no evidence.
    """
    report = outcome["report"]
    if report is None or report["cs_r"] is None:
        reason = one_line(outcome["error"] or "it makes no claim")
        return FailingAnswer(f"the answer has no score: {reason}", "no score")
    cs_r, coverage = report["cs_r"], f"coverage {report['coverage']:.0%}"
    scores = f"CS-R {cs_r:.2f}, CS-C {report['cs_c']:.2f}, {coverage}"
    if cs_r > threshold + _SAME:
        claims = {
            number: _claim_line(number, claim, documents)
            for number, claim in enumerate(report["claims"], start=1)
            if _share(claim, each=report["duplicates_vote"]) > threshold + _SAME
        }
        which = f"claim{'s' * (len(claims) > 1)} {', '.join(map(str, claims))}"
        why = f"the answer is above the threshold of {threshold:g}: {scores}"
        return FailingAnswer(why, f"CS-R {cs_r:.2f}, {which}", tuple(claims.values()))
    if report["coverage"] < _MIN_COVERAGE:
        why = f"too few pairs of claim and document have a label: {scores}"
        return FailingAnswer(why, coverage)
    return None


def _share(claim: Mapping[str, Any], *, each: bool) -> float:
    """|D-| / (|D+| + |D-|), near-duplicates counted each or once; 0 without evidence."""
    names = ("supports", "contradicts")
    sides = [len(claim[name]) if each else claim[f"independent_{name}"] for name in names]
    return sides[1] / sum(sides) if sum(sides) else 0.0


def _claim_line(number: int, claim: Mapping[str, Any], documents: Sequence[Document]) -> str:
    labels = tuple(EvidenceLabel(claim=number, **label) for label in claim["labels"])
    evidence = ClaimEvidence(claim=Claim(number=number, text=claim["text"]), labels=labels)
    sides = [(word, _side(evidence, label, documents)) for word, label in _SIDES]
    told = "; ".join(f"{word}: {side}" for word, side in sides if side)
    return f"claim {number} “{one_line(claim['text'])}” {told}"


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
