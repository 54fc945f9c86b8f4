"""Applies a threshold to scored answers, and names the claims that fail with their evidence."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from conflictscore.nodes.conflict_details import witnesses
from conflictscore.records import Claim, ClaimEvidence, Document, EvidenceLabel, Label, Run
from conflictscore.reporting.figure_text import counted, one_line
from conflictscore.scoring_files.engine import unscored_reason

__all__ = ["FailingAnswer", "FailingClaim", "failing_markdown", "failing_row", "failing_run"]

_SHOWN_WITNESSES = 3
_SHOWN_CHARS = 160
_SAME = 1e-9
"""Rounding tolerance: a mean that equals the threshold must pass."""
_PAGE_CHARS = 200_000
"""GitHub shows at most 1 MiB of a job summary."""
_SIDES = (("contradicted by", Label.CONTRADICTS), ("supported by", Label.SUPPORTS))
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")


class FailingClaim(NamedTuple):
    """A claim whose share of contradiction is above the threshold."""

    number: int
    text: str
    sides: tuple[tuple[str, str], ...]
    """``contradicted by`` and ``supported by``, each with its documents and quotations."""


class FailingAnswer(NamedTuple):
    """The reason why an answer fails."""

    why: str
    """A sentence with its scores."""
    brief: str
    """A few words."""
    claims: tuple[FailingClaim, ...] = ()

    def lines(self) -> list[str]:
        """The reason, then a line for each failing claim with its evidence."""
        lines = [
            f"claim {claim.number} “{claim.text}” "
            + "; ".join(f"{word}: {side}" for word, side in claim.sides)
            for claim in self.claims
        ]
        return [self.why, *lines]


def failing_run(run: Run, threshold: float) -> FailingAnswer | None:
    """Check a scored answer against the highest CS-R that passes, in [0, 1]; None if it passes.

    An answer fails if its CS-R is above the threshold, or if it could not be checked. A claim fails
    if its own share of contradiction, |D-| / (|D+| + |D-|), is above it. CS-R is the mean of these
    shares, so every failing answer has a failing claim.
    """
    report = run.report
    unscored = run.reason if report is None else unscored_reason(report)
    summary = report.summary() if report else None
    return _failing(summary, run.documents, threshold, unscored, too_few=run.checked == "no")


def failing_row(
    outcome: Mapping[str, Any],
    documents: Sequence[Document],
    *,
    threshold: float,
    min_coverage: float,
) -> FailingAnswer | None:
    """Check the field that ``score-file`` added to a row; None if it passes.

    ``threshold`` is the highest CS-R and ``min_coverage`` the smallest share of labelled pairs that
    passes, both in [0, 1]. Without documents, failing claims have no evidence.
    """
    report = outcome["report"]
    too_few = ((report or {}).get("coverage") or 0) < min_coverage
    return _failing(report, documents, threshold, outcome["error"], too_few=too_few)


def _failing(
    report: Mapping[str, Any] | None,
    documents: Sequence[Document],
    threshold: float,
    unscored: str | None,
    *,
    too_few: bool,
) -> FailingAnswer | None:
    if report is None or report["cs_r"] is None:
        reason = one_line(unscored or "it makes no claim")
        return FailingAnswer(f"the answer has no score: {reason}", "no score")
    cs_r, coverage = report["cs_r"], f"coverage {report['coverage']:.0%}"
    scores = f"CS-R {cs_r:.2f}, CS-C {report['cs_c']:.2f}, {coverage}"
    if cs_r > threshold + _SAME:
        claims = tuple(
            _failing_claim(number, claim, documents)
            for number, claim in enumerate(report["claims"], start=1)
            if _share(claim, each=report["duplicates_vote"]) > threshold + _SAME
        )
        which = f"claim{'s' * (len(claims) > 1)} {', '.join(str(one.number) for one in claims)}"
        why = f"the answer is above the threshold of {threshold:g}: {scores}"
        return FailingAnswer(why, f"CS-R {cs_r:.2f}, {which}", claims)
    if too_few:
        why = f"too few pairs of claim and document have a label: {scores}"
        return FailingAnswer(why, coverage)
    return None


def _share(claim: Mapping[str, Any], *, each: bool) -> float:
    """|D-| / (|D+| + |D-|), near-duplicates counted each or once; 0 without evidence."""
    names = ("supports", "contradicts")
    sides = [len(claim[name]) if each else claim[f"independent_{name}"] for name in names]
    return sides[1] / sum(sides) if sum(sides) else 0.0


def _failing_claim(
    number: int, claim: Mapping[str, Any], documents: Sequence[Document]
) -> FailingClaim:
    labels = tuple(EvidenceLabel(claim=number, **label) for label in claim["labels"])
    evidence = ClaimEvidence(claim=Claim(number=number, text=claim["text"]), labels=labels)
    sides = [(word, _side(evidence, label, documents)) for word, label in _SIDES]
    return FailingClaim(number, one_line(claim["text"]), tuple(side for side in sides if side[1]))


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


def failing_markdown(
    title: str, failing: Iterable[tuple[str, FailingAnswer]], left_out: int
) -> str:
    """A Markdown page of failing answers by name, with all markup in their texts escaped."""
    parts = [f"## {_plain(title)}\n"]
    length = 0
    for name, answer in failing:
        part = "\n".join(_item(name, answer))
        if (length := length + len(part)) > _PAGE_CHARS:
            left_out += 1
        else:
            parts.append(part)
    if left_out:
        parts.append(f"…and {counted(left_out, 'row')} more.")
    return "\n".join(parts) + "\n"


def _item(name: str, answer: FailingAnswer) -> Iterator[str]:
    yield f"**{_plain(name)}**: {_plain(answer.why)}\n"
    for claim in answer.claims:
        yield f"- claim {claim.number} “{_plain(claim.text)}”"
        yield from (f"  - {word}: {_plain(side)}" for word, side in claim.sides)
    yield ""


def _plain(text: str) -> str:
    """Escape Markdown."""
    return _PUNCTUATION.sub(r"\\\1", text)
