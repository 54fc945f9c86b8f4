"""Weights as files: from the package that carries them, in half precision, and in pieces.

A file of weights is an ``.npz`` of arrays by name, and needs numpy alone to be read. The names are
those of :func:`from_minilm` and :func:`from_mpnet`; a file that was trained has ``head.weight`` and
``head.bias`` too, and says in ``pooling`` what its head reads.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from training.plan import Pooling

__all__ = [
    "EPSILON",
    "HEADS",
    "MPNET_FIRST_POSITION",
    "Weights",
    "first_layers",
    "from_minilm",
    "from_mpnet",
    "join",
    "layers_of",
    "load",
    "mean",
    "pooling_of",
    "save",
    "split",
]

Weights = dict[str, NDArray[Any]]

EPSILON = 1e-12
"""Epsilon of layer norms: BERT's. With MPNet's, 1e-5, its tokens come out by 0.0005
different at most, by less than in half precision."""
HEADS = 12
"""Attention heads of every layer."""
MPNET_FIRST_POSITION = 2
"""Where an MPNet checkpoint's positions begin: after the padding token's number, 1."""
_POOLING = "pooling"
_PIECE = 15 * 2**20
"""Bytes of a piece: a machine may give back files of 16 MiB at most."""


def from_minilm(tensors: Mapping[str, NDArray[Any]]) -> Weights:
    """The weights of a BERT checkpoint by the names that this package uses.

    Queries, keys and values of a layer become one matrix; the pooling layer is left out, since the
    checkpoint was trained without it.
    """
    found: Weights = {
        "words": tensors["embeddings.word_embeddings.weight"],
        "positions": tensors["embeddings.position_embeddings.weight"],
        "sides": tensors["embeddings.token_type_embeddings.weight"],
    }
    own = ["attention.self.query", "attention.self.key", "attention.self.value"]
    return found | _layers(tensors, own, "attention.output.dense", "attention.output.LayerNorm")


def from_mpnet(tensors: Mapping[str, NDArray[Any]]) -> Weights:
    """The weights of an MPNet checkpoint (Song et al., NeurIPS 2020) by the same names.

    There are no ``sides``. ``relative``, of shape (buckets, heads), is what heads add to a score
    for the distance of two tokens, in all layers (see ``training.distances``). The checkpoint's
    first two positions, which no text is at, are left out.
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


def first_layers(weights: Weights, count: int) -> Weights:
    """The weights without the layers after the first ``count``.

    Raises:
        ValueError: There are fewer.
    """
    there = layers_of(weights)
    if there < count:
        raise ValueError(f"the encoder has {there} layers, not {count}")
    gone = tuple(f"layer.{layer}." for layer in range(count, there))
    return {name: value for name, value in weights.items() if not name.startswith(gone)}


def mean(several: Sequence[Weights], shares: Sequence[float] | None = None) -> Weights:
    """The mean of weights that came of the same start; they agree in names and shapes.

    Averaged so, several short runs come out better than each (Wortsman et al., ICML 2022), and a
    run with its start keeps more of what the start knew (Wortsman et al., CVPR 2022).

    Args:
        several: The weights, at least one.
        shares: What each counts for, above 0; by default all the same.

    Raises:
        ValueError: They have other names or shapes, or there are not as many shares.
    """
    if shares is not None and (len(shares) != len(several) or min(shares) <= 0):
        raise ValueError(f"give {len(several)} shares above 0, one for each file")
    first = {name: value.shape for name, value in several[0].items()}
    if any({name: value.shape for name, value in one.items()} != first for one in several):
        raise ValueError("these are weights of different encoders")
    return {
        name: np.average([one[name] for one in several], axis=0, weights=shares) for name in first
    }


def save(
    weights: Mapping[str, NDArray[Any]], path: Path, *, pooling: Pooling | None = None
) -> None:
    """Write weights in half precision; a file that is there is replaced in one step.

    Args:
        weights: By name.
        path: The file.
        pooling: What the head reads, of weights that were trained.
    """
    said = {} if pooling is None else {_POOLING: np.array(pooling)}
    part = path.with_name(f"{path.name}.part")
    with part.open("wb") as file:
        halves = {name: np.asarray(value, np.float16) for name, value in weights.items()}
        np.savez(file, allow_pickle=False, **halves, **said)
    part.replace(path)


def load(path: Path) -> Weights:
    """Read weights, in single precision."""
    with np.load(path) as file:
        names = [name for name in file.files if name != _POOLING]
        return {name: file[name].astype(np.float32) for name in names}


def pooling_of(path: Path) -> Pooling:
    """Pooling of trained weights; the mean where the file does not say."""
    with np.load(path) as file:
        return "cls" if _POOLING in file.files and str(file[_POOLING]) == "cls" else "mean"


def split(path: Path, folder: Path) -> list[Path]:
    """Cut a file in pieces ``NAME.01``, ``NAME.02`` and so on, of at most 15 MiB.

    Returns:
        The pieces, in order.
    """
    content = path.read_bytes()
    folder.mkdir(parents=True, exist_ok=True)
    pieces = []
    for number, start in enumerate(range(0, len(content), _PIECE), start=1):
        piece = folder / f"{path.name}.{number:02d}"
        piece.write_bytes(content[start : start + _PIECE])
        pieces.append(piece)
    return pieces


def join(pieces: list[Path], path: Path) -> None:
    """Put pieces together again, in the order of their names."""
    with path.open("wb") as file:
        for piece in sorted(pieces, key=lambda one: one.name):
            file.write(piece.read_bytes())
