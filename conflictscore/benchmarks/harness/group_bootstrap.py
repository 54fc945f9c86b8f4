"""Computes intervals for counts that are dependent within groups, by resampling the groups."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conflictscore.benchmarks.harness.figures import Interval

_RESAMPLES = 2_000
"""The number of bootstrap samples for an interval.

The number was chosen by hand. A table has dozens of such intervals, and each figure is computed on
every sample. With 2,000 samples, the bounds of a share of 200 questions vary by about 0.2 points
from one seed to another. Intervals of whole runs (``statistics.py``) use 9,999 samples.
"""
Numbers = NDArray[Any]
"""A NumPy array of numbers: a table of cells, or one figure per row of a table."""


def group_interval(
    groups: Sequence[Sequence[int]], figure: Callable[[Numbers], Numbers]
) -> Interval:
    """Compute a figure from cells, with a 95 % percentile bootstrap interval over groups.

    Each group is a tuple of cells (counts). A bootstrap sample consists of whole groups. Groups
    with equal cells are interchangeable, so it suffices to draw the number of groups of each kind,
    from a multinomial distribution. Groups whose cells are all 0 have nothing to count, so they are
    ignored. ``figure`` takes a table in which each row contains the summed cells of one sample, and
    returns the figure of each row. Samples in which the figure is undefined (NaN) are left out.
    """
    counted_groups = [cells for cells in groups if any(cells)]
    if not counted_groups:
        return Interval(value=None, n=0)
    kinds, counts = np.unique(np.array(counted_groups), axis=0, return_counts=True)
    n, estimate = len(counted_groups), float(figure((counts @ kinds)[None, :])[0])
    if np.isnan(estimate):
        return Interval(value=None, n=n)
    # the generator has a fixed seed, so equal counts always give the same interval
    resamples = figure(np.random.default_rng(0).multinomial(n, counts / n, size=_RESAMPLES) @ kinds)
    low, high = map(float, np.nanpercentile(resamples, [2.5, 97.5]))
    if low == high:  # if all bootstrap samples are equal, they say nothing about the figure's error
        return Interval(value=estimate, n=n)
    return Interval(value=estimate, low=low, high=high, n=n)


def ratio(part: Numbers, whole: Numbers) -> Numbers:
    """Compute ``part / whole`` for each row; it is NaN if ``whole`` is 0."""
    quotient: Numbers = np.full(whole.shape, np.nan)
    np.divide(part, whole, out=quotient, where=whole > 0)
    return quotient
