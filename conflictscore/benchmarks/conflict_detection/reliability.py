"""Compares the probabilities of a labeler's labels with the share of correct labels."""

from collections import defaultdict
from collections.abc import Sequence
from math import fsum
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field

from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup
from conflictscore.benchmarks.harness.figures import Proportion
from conflictscore.benchmarks.harness.report.pictures.picture import (
    NEUTRAL,
    Margins,
    Picture,
    label,
    lay_out,
    plot_share,
)
from conflictscore.benchmarks.harness.statistics import proportion
from conflictscore.records import EvidenceLabel, Label, Record
from conflictscore.reporting.figure_text import percent, span
from conflictscore.reporting.plain_table import Card

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BINS: Final = 10
"""The number of bins, which have equal widths.

Ten are common in the literature. With more bins, each holds too few labels; with fewer, errors in
opposite directions cancel out within a bin.
"""


class ReliabilityBin(Record):
    """Figures for the labels whose probability lies in one bin; ten equal bins cover [0, 1]."""

    low: float
    high: float
    """The upper bound of the bin. The bound itself is in the bin only if it is 1."""
    probability: float
    """The mean probability of the labels in this bin, in [0, 1]."""
    right: Proportion
    """The share of the labels in this bin that agree with the annotators."""


class Reliability(Record):
    """How often labels are right, grouped by the probability that the labeler gave."""

    bins: tuple[ReliabilityBin, ...]
    """The bins that contain at least one label, lowest bin first."""
    calibration_error: Annotated[float, Field(ge=0, le=1)]
    """The expected calibration error (Guo et al., 2017).

    For each bin, this error takes the gap between the mean probability and the share of correct
    labels. The error is the weighted average of these gaps; the weight of a bin is its number of
    labels.
    """
    without: Annotated[int, Field(ge=0)]
    """The number of labels that have no probability, and are therefore in no bin."""


def reliability(
    judged_groups: Sequence[tuple[ClaimGroup, Sequence[EvidenceLabel]]],
) -> Reliability | None:
    """Compute the reliability over all pairs that both the annotators and the labeler labelled.

    ``judged_groups`` contains claims, each with the labeler's verdicts on its documents. Returns
    None if the labeler gives no probabilities.
    """
    tenths = defaultdict[int, list[tuple[float, bool]]](list)
    without = 0
    for group, verdicts in judged_groups:
        for people, verdict in zip(group.labels, verdicts, strict=True):
            if people is None or verdict.label is Label.UNLABELLED:
                continue
            if verdict.score is None:
                without += 1
                continue
            tenths[_tenth(verdict.score)].append((verdict.score, people is verdict.label))
    if not tenths:
        return None
    return Reliability(
        bins=tuple(_bin(tenth, tenths[tenth]) for tenth in sorted(tenths)),
        calibration_error=calibration_error(
            [label for labels in tenths.values() for label in labels]
        ),
        without=without,
    )


def calibration_error(labels: Sequence[tuple[float, bool]]) -> float:
    """Compute the expected calibration error with ten bins, in [0, 1]; lower is better.

    Args:
        labels: For each label, its probability and whether annotators gave the same label. At least
            one label is required.
    """
    surplus = defaultdict[int, float](float)
    for probability, is_right in labels:
        surplus[_tenth(probability)] += probability - is_right
    return fsum(map(abs, surplus.values())) / len(labels)


def _tenth(probability: float) -> int:
    return min(int(probability * _BINS), _BINS - 1)


def _bin(tenth: int, labels: Sequence[tuple[float, bool]]) -> ReliabilityBin:
    return ReliabilityBin(
        low=tenth / _BINS,
        high=(tenth + 1) / _BINS,
        probability=fsum(score for score, _ in labels) / len(labels),
        right=proportion(sum(is_right for _, is_right in labels), len(labels)),
    )


def reliability_card(figures: Reliability) -> Card:
    """Build a table with a row for each bin."""
    without = f"\n{figures.without:,} labels without a probability" if figures.without else ""
    return Card(
        "How often are labels right, by the labeler's probability? (in %)",
        ("probability", "labels", "mean", "right", "95 %"),
        tuple(
            (
                span(percent(tenth.low), percent(tenth.high)),
                f"{tenth.right.n:,}",
                percent(tenth.probability),
                percent(tenth.right.value),
                _bounds(tenth.right),
            )
            for tenth in figures.bins
        ),
        f"expected calibration error: {percent(figures.calibration_error)} points; the"
        f" probabilities can be trusted if “mean” and “right” are nearly equal in a row{without}",
    )


def reliability_picture(figures: Reliability, labeler: str) -> Picture:
    """Plot each bin's share of correct labels against its mean probability, with a diagonal."""

    def draw(figure: "Figure") -> None:
        # in inches; the axes are almost square, since both are percentages
        lay_out(figure, 4.4, 4, Margins(bottom=0.55))
        axes = figure.add_subplot()
        axes.plot([0, 100], [0, 100], "--", color=NEUTRAL, linewidth=1)
        for tenth in figures.bins:
            plot_share(axes, 100 * tenth.probability, tenth.right)
        axes.set_xlim(0, 102)  # leave room for a whole point at 100 %
        axes.set_ylim(0, 102)
        axes.set_xlabel("probability of the label, %")
        axes.set_ylabel("% right according to annotators, 95 % interval")

    words = "; ".join(
        f"probability {percent(tenth.probability)} %: {percent(tenth.right.value)} % of"
        f" {tenth.right.n:,} right ({_bounds(tenth.right)})"
        for tenth in figures.bins
    )
    return Picture("reliability", f"Reliability of {label(labeler)}", words, draw)


def _bounds(share: Proportion) -> str:
    return "" if share.low is None else span(percent(share.low), percent(share.high))
