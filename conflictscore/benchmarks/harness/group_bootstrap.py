"""Figures from counts that are dependent within groups, with intervals that resample groups."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conflictscore.benchmarks.harness.figures import Interval

_RESAMPLES = 2_000
Numbers = NDArray[Any]


def group_interval(
    groups: Sequence[Sequence[int]], figure: Callable[[Numbers], Numbers]
) -> Interval:
    """A figure computed from cells, with its 95 % percentile bootstrap interval by group.

    A resample says how often each group is drawn. If the figure depends only on the counts of a few
    kinds of groups, it is enough to draw the count of each kind, from a multinomial distribution.
    Groups that are in no cell do not count. ``figure`` takes tables of cells, one in each row, and
    returns the figure of each.
    """
    counted_groups = [cells for cells in groups if any(cells)]
    if not counted_groups:
        return Interval(value=None, n=0)
    kinds, counts = np.unique(np.array(counted_groups), axis=0, return_counts=True)
    n, estimate = len(counted_groups), float(figure((counts @ kinds)[None, :])[0])
    if np.isnan(estimate):
        return Interval(value=None, n=n)
    resamples = figure(np.random.default_rng(0).multinomial(n, counts / n, size=_RESAMPLES) @ kinds)
    low, high = map(float, np.nanpercentile(resamples, [2.5, 97.5]))
    if low == high:  # equal resamples say nothing about the error of the figure
        return Interval(value=estimate, n=n)
    return Interval(value=estimate, low=low, high=high, n=n)


def ratio(part: Numbers, whole: Numbers) -> Numbers:
    """``part / whole``, or NaN if ``whole`` is 0."""
    quotient: Numbers = np.full(whole.shape, np.nan)
    np.divide(part, whole, out=quotient, where=whole > 0)
    return quotient
