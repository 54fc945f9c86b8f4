"""Figures of counts that hang together in groups, with bootstrap intervals that resample groups."""

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
    """A figure of cells with its 95 % percentile bootstrap interval by group.

    A resample is how often each group is drawn; where the figure depends on the counts of a few
    kinds of groups, how often each kind is drawn is enough, which is a multinomial draw.
    Groups that are in no cell do not count. ``figure`` goes from tables of cells, a row each, to
    the figure of each.
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
    if low == high:  # equal resamples tell nothing of how far off the figure is
        return Interval(value=estimate, n=n)
    return Interval(value=estimate, low=low, high=high, n=n)


def ratio(part: Numbers, whole: Numbers) -> Numbers:
    """``part / whole``, NaN where there is nothing to divide by."""
    quotient: Numbers = np.full(whole.shape, np.nan)
    np.divide(part, whole, out=quotient, where=whole > 0)
    return quotient
