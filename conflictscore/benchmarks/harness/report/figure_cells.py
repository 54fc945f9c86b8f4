"""Formats a figure and its interval as two table cells."""

from conflictscore.benchmarks.harness.figures import Interval, Proportion
from conflictscore.reporting.figure_text import percent, points, span


def difference_cells(difference: Interval) -> tuple[str, str]:
    """Format a difference and its interval, in points."""
    return points(difference.value), span(points(difference.low), points(difference.high))


def estimate_cells(estimate: Proportion | Interval) -> tuple[str, str]:
    """Format a proportion and its interval as percentages."""
    return percent(estimate.value), span(percent(estimate.low), percent(estimate.high))
