"""Weights out of an exported model, to train it further."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from training.distances import buckets
from training.plan import Pooling
from training.weights import Weights

__all__ = ["unpacked"]

_ARRANGED = re.compile(
    r"(shape|part|axis|flat|last)/.*|scale|axes|unit|far|one|zero|first|last|most"
    r"|.*_(scale|zero_point)"
)
"""Names of constants of the graph that are no weights."""
_NARROW = (".down", ".scale", ".up")
_WIDE = re.compile(r"(layer\.\d+\.\w+)/\d+\.weight")
_LINEAR = ("attention", "attended", "inner", "output", "head")


def unpacked(path: Path) -> tuple[Weights, Pooling]:
    """The weights of a model that training wrote, and what its head reads.

    Those of ``training.export`` are the rounded ones: a matrix product differs from the exported
    model's by what that rounds of its inputs. Those of ``training.adapted`` are MPNet's with what
    was learned of them.

    Raises:
        ValueError: The file is another model's.
    """
    model = onnx.load(path)
    stored = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    found = _with_products(stored)
    for name, value in stored.items():
        if _ARRANGED.fullmatch(name) or _WIDE.fullmatch(name) or name.endswith(_NARROW):
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
        raise ValueError(f"{path} is no model that training.export or training.adapted wrote")
    pooled = {node.name: node.op_type for node in model.graph.node}.get("pooled")
    return found, "cls" if pooled == "Gather" else "mean"


def _with_products(stored: Mapping[str, NDArray[Any]]) -> Weights:
    """Wide matrices of the checkpoint, to which the products of the narrow ones are added."""
    parts: dict[str, list[NDArray[Any]]] = {}
    for name, value in stored.items():
        if matched := _WIDE.fullmatch(name):
            parts.setdefault(matched[1], []).append(value)
    found: Weights = {}
    for place, matrices in parts.items():
        wide = np.concatenate(matrices)
        if f"{place}.up" in stored:
            down, scale, up = (stored[place + kind].astype(np.float32) for kind in _NARROW)
            wide = wide + (up.T * scale) @ down.T
        found[f"{place}.weight"] = wide
    return found


def _of_buckets(of_distance: NDArray[Any]) -> NDArray[Any]:
    """The row of each bucket, out of those of all distances; zeros for one that no distance has."""
    most = len(of_distance) // 2
    of_what = buckets(np.arange(-most, most + 1))
    found = np.zeros((of_what.max() + 1, of_distance.shape[1]), np.float32)
    found[of_what] = of_distance
    return found
