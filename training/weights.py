"""Reads, writes and combines weights; files have half precision.

A file of weights is an ``.npz`` of arrays by name, and needs only numpy to be read. A BERT has the
array ``sides``. An MPNet has ``relative`` instead: the values that its heads add to the scores of
two tokens, by their distance.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Weights = dict[str, NDArray[Any]]

EPSILON = 1e-12
"""Epsilon of layer norms, as in BERT. MPNet's is 1e-5; its token outputs differ by at most 0.0005,
less than the precision of half floats."""
DOWN, UP = ".down", ".up"
"""Suffixes of the names of the two narrow matrices whose product is trained beside a matrix."""
HEADS = 12
"""Attention heads of every layer."""
_BEGIN = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91)
"""The distances at which the buckets begin, except the first bucket. Up to 8, each distance has its
own bucket; after that, a bucket begins where 8 * 16 ** (k / 8) is reached. The distances are listed
as integers, since float logarithms are unreliable at 16."""


def buckets(distances: NDArray[Any]) -> NDArray[Any]:
    """Return MPNet's bucket of each distance; far distances share buckets.

    The buckets are those of Raffel et al., JMLR 2020: 32 buckets for both directions together, and
    128 as the longest distance.

    Args:
        distances: The position of the attended token minus that of the attending one.

    Returns:
        Same shape, int64: 0 to 15 for earlier tokens and the token itself, 16 to 31 for later ones.
    """
    of_length = np.searchsorted(_BEGIN, np.abs(distances), side="right")
    found: NDArray[Any] = of_length + (len(_BEGIN) + 1) * (distances > 0)
    return found


def layers_of(weights: Mapping[str, Any]) -> int:
    """Return the number of layers."""
    return sum(name.endswith(".attention.weight") for name in weights)


def mean(several: Sequence[Weights]) -> Weights:
    """Return the mean of weights that were trained from the same start.

    The average of several short runs is better than each of them (Wortsman et al., ICML 2022).

    Args:
        several: The weights, at least one.

    Raises:
        ValueError: They have different names or shapes.
    """
    _refuse_different(several)
    return {name: np.mean([one[name] for one in several], axis=0) for name in several[0]}


def between(start: Weights, trained: Weights, share: float) -> Weights:
    """Return weights on the line between those of two models.

    Args:
        start: The weights before training.
        trained: The weights after training, with the same names and shapes.
        share: 0 is ``start`` and 1 is ``trained``.

    Raises:
        ValueError: They have different names or shapes.
    """
    _refuse_different([start, trained])
    return {name: value + share * (trained[name] - value) for name, value in start.items()}


def _refuse_different(several: Sequence[Weights]) -> None:
    """Raise ValueError unless all weights have the same names and shapes."""
    first, *others = [{name: value.shape for name, value in encoder.items()} for encoder in several]
    if any(shapes != first for shapes in others):
        raise ValueError("these are weights of different encoders")


def save(weights: Mapping[str, NDArray[Any]], path: Path) -> None:
    """Write weights in half precision, replacing an existing file atomically."""
    part = path.with_name(f"{path.name}.part")
    with part.open("wb") as file:
        halves = {name: np.asarray(value, np.float16) for name, value in weights.items()}
        np.savez(file, allow_pickle=False, **halves)
    part.replace(path)


def load(path: Path) -> Weights:
    """Read weights, in single precision."""
    with np.load(path) as file:
        return {name: file[name].astype(np.float32) for name in file.files}
