"""Weights as files: from the package that carries them, and in half precision.

A file of weights is an ``.npz`` of arrays by name, and needs numpy alone to be read. The names are
those of :func:`from_mpnet`, and with ``sides`` in place of ``relative`` of a BERT; a file that was
trained has ``head.weight`` and ``head.bias`` too.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "EPSILON",
    "HEADS",
    "MPNET_FIRST_POSITION",
    "Weights",
    "from_mpnet",
    "layers_of",
    "load",
    "mean",
    "save",
]

Weights = dict[str, NDArray[Any]]

EPSILON = 1e-12
"""Epsilon of layer norms: BERT's. With MPNet's, 1e-5, its tokens come out by 0.0005
different at most, by less than in half precision."""
HEADS = 12
"""Attention heads of every layer."""
MPNET_FIRST_POSITION = 2
"""Where an MPNet checkpoint's positions begin: after the padding token's number, 1."""


def from_mpnet(tensors: Mapping[str, NDArray[Any]]) -> Weights:
    """The weights of an MPNet checkpoint (Song et al., NeurIPS 2020) by the names used here.

    Queries, keys and values of a layer become one matrix. ``relative``, of shape (buckets, heads),
    is what heads add to a score for the distance of two tokens, in all layers (see
    ``training.distances``). The first two positions, which no text is at, are left out.
    """
    found: Weights = {
        "words": tensors["embeddings.word_embeddings.weight"],
        "positions": tensors["embeddings.position_embeddings.weight"][MPNET_FIRST_POSITION:],
        "relative": tensors["encoder.relative_attention_bias.weight"],
    }
    own = ["attention.attn.q", "attention.attn.k", "attention.attn.v"]
    return found | _layers(tensors, own, "attention.attn.o", "attention.LayerNorm")


def _layers(
    tensors: Mapping[str, NDArray[Any]], own: list[str], attended: str, attended_norm: str
) -> Weights:
    """The first norm and all layers; given are the names in which checkpoints differ."""
    found: Weights = {}
    _copy(tensors, "embeddings.LayerNorm", found, "norm")
    count = sum(name.endswith(f"{own[0]}.weight") for name in tensors)
    for layer in range(count):
        old, new = f"encoder.layer.{layer}", f"layer.{layer}"
        for kind in ("weight", "bias"):
            parts = [tensors[f"{old}.{part}.{kind}"] for part in own]
            found[f"{new}.attention.{kind}"] = np.concatenate(parts)
        _copy(tensors, f"{old}.{attended}", found, f"{new}.attended")
        _copy(tensors, f"{old}.{attended_norm}", found, f"{new}.attended_norm")
        _copy(tensors, f"{old}.intermediate.dense", found, f"{new}.inner")
        _copy(tensors, f"{old}.output.dense", found, f"{new}.output")
        _copy(tensors, f"{old}.output.LayerNorm", found, f"{new}.output_norm")
    return found


def _copy(tensors: Mapping[str, NDArray[Any]], old: str, found: Weights, new: str) -> None:
    for kind in ("weight", "bias"):
        found[f"{new}.{kind}"] = tensors[f"{old}.{kind}"]


def layers_of(weights: Mapping[str, Any]) -> int:
    """How many layers there are."""
    return sum(name.endswith(".attention.weight") for name in weights)


def mean(several: Sequence[Weights]) -> Weights:
    """The mean of weights that came of the same start; they agree in names and shapes.

    Averaged so, several short runs come out better than each (Wortsman et al., ICML 2022).

    Args:
        several: The weights, at least one.

    Raises:
        ValueError: They have other names or shapes.
    """
    first = {name: value.shape for name, value in several[0].items()}
    if any({name: value.shape for name, value in one.items()} != first for one in several):
        raise ValueError("these are weights of different encoders")
    return {name: np.mean([one[name] for one in several], axis=0) for name in first}


def save(weights: Mapping[str, NDArray[Any]], path: Path) -> None:
    """Write weights in half precision; a file that is there is replaced in one step."""
    part = path.with_name(f"{path.name}.part")
    with part.open("wb") as file:
        halves = {name: np.asarray(value, np.float16) for name, value in weights.items()}
        np.savez(file, allow_pickle=False, **halves)
    part.replace(path)


def load(path: Path) -> Weights:
    """Read weights, in single precision.

    Raises:
        ValueError: Their head reads the first token, as in files that earlier versions could write.
    """
    with np.load(path) as file:
        pooling = str(file["pooling"]) if "pooling" in file.files else "mean"
        if pooling != "mean":
            raise ValueError(f"{path}: its head reads the first token: use commit 50cf32d")
        return {name: file[name].astype(np.float32) for name in file.files if name != "pooling"}
