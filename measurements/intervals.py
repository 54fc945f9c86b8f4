"""How far a mean over questions could be off, had other questions of the kind been drawn."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

__all__ = ["Mean", "mean_interval"]

_RESAMPLES = 10_000


class Mean(NamedTuple):
    """A mean with the bounds of its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def mean_interval(values: Sequence[float]) -> Mean:
    """The mean of values, one a question, with its percentile bootstrap interval.

    The same values always give the same interval.

    Raises:
        ValueError: There are no values.
    """
    if not values:
        raise ValueError("no values to take the mean of")
    rng = np.random.default_rng(0)
    drawn = np.asarray(values)[rng.integers(len(values), size=(_RESAMPLES, len(values)))]
    low, high = np.percentile(drawn.mean(axis=1), [2.5, 97.5])
    return Mean(float(np.mean(values)), float(low), float(high))
