"""How often a labeler is right, by the score that it gives."""

from collections.abc import Sequence
from math import fsum
from typing import Annotated

from pydantic import Field

from conflictscore.benchmarks.harness.figures import Proportion
from conflictscore.benchmarks.harness.statistics import proportion
from conflictscore.records import Record
from conflictscore.reporting.figure_text import counted, percent, span
from conflictscore.reporting.plain_table import Card

__all__ = ["Reliability", "ReliabilityBin", "reliability", "reliability_card"]

_BINS = 10
_BAR_CHARS = 20


class ReliabilityBin(Record):
    """The verdicts whose score is in one tenth of [0, 1]; the upper bound is in the last only."""

    low: float
    high: float
    mean_score: float | None
    """None where no score falls here."""
    right: Proportion
    """How many of them people agree with."""


class Reliability(Record):
    """Scores beside how often they are right, of the verdicts that have both."""

    n: Annotated[int, Field(ge=0)]
    """Verdicts with a score, on documents that people labelled; the json judge gives no score."""
    bins: tuple[ReliabilityBin, ...]
    brier: float | None
    """Mean squared difference of the score and 1 where the label is right, 0 where it is not, in
    [0, 1]; lower is better. It is of the label that was given, not of all three."""
    ece: float | None
    """Expected calibration error: mean over verdicts of how far the mean score of their bin is from
    the share that is right, in [0, 1]; lower is better."""


def reliability(scored: Sequence[tuple[float, bool]]) -> Reliability:
    """Compare scores with how often they are right; the order does not matter.

    Args:
        scored: The probability in [0, 1] that the labeler gives to its label, and whether people
            give the same label.
    """
    by_bin: list[list[tuple[float, bool]]] = [[] for _ in range(_BINS)]
    for score, right in scored:
        by_bin[min(_BINS - 1, int(score * _BINS))].append((score, right))
    n = len(scored)
    gaps = [abs(fsum(score - right for score, right in verdicts)) for verdicts in by_bin]
    return Reliability(
        n=n,
        bins=tuple(_bin(index, verdicts) for index, verdicts in enumerate(by_bin)),
        brier=fsum((score - right) ** 2 for score, right in scored) / n if n else None,
        ece=fsum(gaps) / n if n else None,
    )


def _bin(index: int, verdicts: Sequence[tuple[float, bool]]) -> ReliabilityBin:
    n = len(verdicts)
    return ReliabilityBin(
        low=index / _BINS,
        high=(index + 1) / _BINS,
        mean_score=fsum(score for score, _ in verdicts) / n if n else None,
        right=proportion(sum(right for _, right in verdicts), n),
    )


def reliability_card(found: Reliability, title: str) -> Card:
    """How often labels of each score are right; of at least one score."""
    return Card(
        title,
        ("score", "labels", "mean score %", "right %", "95 % interval", ""),
        tuple(
            (
                f"{one.low:.1f} to {one.high:.1f}",
                f"{one.right.n:,}",
                percent(one.mean_score),
                percent(one.right.value),
                span(percent(one.right.low), percent(one.right.high)),
                _bar(one),
            )
            for one in found.bins
            if one.right.n
        ),
        "bars: how many are right; |: how many the scores say",
        after=(
            f"Brier score {found.brier:.3f}, expected calibration error {found.ece:.3f} (0 is"
            f" best), {counted(found.n, 'label')}",
        ),
    )


def _bar(one: ReliabilityBin) -> str:
    right, said = (round(_BAR_CHARS * (x or 0)) for x in (one.right.value, one.mean_score))
    bar = ("#" * right).ljust(_BAR_CHARS, ".")
    return f"{bar[:said]}|{bar[said:]}"
