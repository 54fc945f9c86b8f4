"""Weights out of an exported int8 model, to train it further."""

from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from training.plan import Pooling
from training.weights import Weights

__all__ = ["unpacked"]

_ARRANGED = ("shape/", "part/", "axis/", "scale", "axes", "unit", "far", "one", "zero", "first")
"""Constants of the graph that are no weights: the beginnings of their names."""
_LINEAR = ("attention", "attended", "inner", "output", "head")


def unpacked(path: Path) -> tuple[Weights, Pooling]:
    """The weights of a model that ``training.export`` wrote of a BERT, and what its head reads.

    They are the rounded ones: a matrix product differs from the exported model's by what that
    rounds of its inputs.

    Raises:
        ValueError: The file is another model's.
    """
    model = onnx.load(path)
    stored = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    found: Weights = {}
    for name, value in stored.items():
        if name.startswith(_ARRANGED) or name.endswith(("_scale", "_zero_point")):
            continue
        whole = name.removesuffix("_quantized")
        if whole != name:
            value = (value.astype(np.float32) - stored[f"{whole}_zero_point"]) * stored[
                f"{whole}_scale"
            ]
        matrix = whole.endswith(".weight") and whole.split(".")[-2] in _LINEAR
        found[whole] = np.ascontiguousarray(value.T if matrix else value, np.float32)
    if not {"words", "positions", "sides", "head.weight"} <= set(found):
        raise ValueError(f"{path} is no BERT that training.export wrote")
    pooled = {node.name: node.op_type for node in model.graph.node}.get("pooled")
    return found, "cls" if pooled == "Gather" else "mean"
