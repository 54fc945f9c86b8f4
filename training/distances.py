"""MPNet's buckets of distances: near distances each have one, far ones share one.

The buckets are those of Raffel et al., JMLR 2020, for both directions, with 32 buckets and 128 as
the longest distance.
"""

import numpy as np

from training.packed import Numbers

__all__ = ["buckets"]

_BEGIN = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91)
"""At which distances a bucket begins, beside the first: one by one up to 8, from there on where
8 * 16 ** (k / 8) is reached. Whole numbers, since logarithms of floats are unsure at 16."""


def buckets(distances: Numbers) -> Numbers:
    """The bucket of each distance.

    Args:
        distances: How many places after a token the one stands that it looks at; negative before.

    Returns:
        Same shape, int64: 0 to 15 for what stands before or at the token itself, 16 to 31 after.
    """
    of_length = np.searchsorted(_BEGIN, np.abs(distances), side="right")
    return of_length + (len(_BEGIN) + 1) * (distances > 0)
