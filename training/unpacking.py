"""Weights out of an exported model, to train it further."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from training.weights import Weights, buckets

__all__ = ["unpacked"]

_MPNET_FIRST_POSITION = 2
"""Where an MPNet checkpoint's positions begin: after the padding token's number, 1."""
_ARRANGED = re.compile(
    r"(shape|part|axis|zero)/.*|scale|axes|unit|far|one|zero|first|first_position|last|most"
    r"|.*_(scale|zero_point)"
)
"""Names of constants of the graph that are no weights."""
_PACKED = (".blocks", ".scales")
_ZERO = 128
"""The 8 bits of 0."""
_LINEAR = ("attention", "attended", "inner", "output", "head")


def unpacked(path: Path) -> Weights:
    """The weights of a model that training wrote.

    They are the rounded ones: a matrix product differs from the exported model's by what that
    rounds of its inputs.

    Raises:
        ValueError: The file is another model's.
    """
    model = onnx.load(path)
    stored = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    found = _from_blocks(stored)
    for name, value in stored.items():
        if _ARRANGED.fullmatch(name) or name.endswith(_PACKED):
            continue
        whole = name.removesuffix("_quantized")
        if whole != name:
            value = (value.astype(np.float32) - stored[f"{whole}_zero_point"]) * stored[
                f"{whole}_scale"
            ]
        matrix = whole.endswith(".weight") and whole.split(".")[-2] in _LINEAR
        found[whole] = np.ascontiguousarray(value.T if matrix else value, np.float32)
    if "relative" in found:
        found["relative"] = _of_buckets(found["relative"])
    known = {"sides", "relative"} & set(found)
    if not known or not {"words", "positions", "head.weight"} <= set(found):
        raise ValueError(f"{path} is no model that training.export wrote, nor nli-mpnet")
    return found


def _from_blocks(stored: Mapping[str, NDArray[Any]]) -> Weights:
    """The matrices that are stored in blocks of 8 bits."""
    found: Weights = {}
    for name, blocks in stored.items():
        place = name.removesuffix(".blocks")
        if place == name:
            continue
        scales = stored[f"{place}.scales"]
        matrix = (blocks.astype(np.float32) - _ZERO) * scales[..., None]
        columns = len(
            stored[f"{place[:-6]}inner.bias" if place.endswith(".output") else "norm.bias"]
        )
        rows = _MPNET_FIRST_POSITION if place == "positions" else 0
        weight = f"{place}.weight" if place.startswith("layer.") else place
        found[weight] = matrix.reshape(len(blocks), -1)[rows:, :columns]
    return found


def _of_buckets(of_distance: NDArray[Any]) -> NDArray[Any]:
    """The row of each bucket, out of those of all distances; zeros for one that no distance has."""
    most = len(of_distance) // 2
    of_what = buckets(np.arange(-most, most + 1))
    found = np.zeros((of_what.max() + 1, of_distance.shape[1]), np.float32)
    found[of_what] = of_distance
    return found
