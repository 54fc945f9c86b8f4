"""Extracts a model's weights to train them further; averages and adjusts trained weights."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from conflictscore.errors import ConflictScoreError
from training import weights

_MPNET_FIRST_POSITION = 2
"""The first position that an MPNet checkpoint uses: positions begin after 1, the padding token's
number."""
_ARRANGED = re.compile(
    r"(shape|part|axis|zero)/.*|scale|axes|unit|far|one|zero|first|first_position|last|most"
    r"|.*_(scale|zero_point)"
)
"""Names of the graph's constants that are not weights."""
_PACKED = (".blocks", ".scales")
_ZERO = 128
"""The 8-bit value that stands for 0."""
_LINEAR = ("attention", "attended", "inner", "output", "head")


def _unpacked(path: Path) -> weights.Weights:
    """Return the weights of a model that training exported.

    The weights are those of the exported model, which are rounded. So a matrix product with these
    weights differs from that of the exported model only because the exported model also rounds its
    inputs.

    Raises:
        ValueError: The file is from another kind of model.
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
        raise ValueError(f"{path} is neither a model that training.export wrote nor nli-mpnet")
    return found


def _from_blocks(stored: Mapping[str, NDArray[Any]]) -> weights.Weights:
    """Return the matrices that are stored in 8-bit blocks."""
    found: weights.Weights = {}
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
    """Return each bucket's row, from the rows of distances; zeros for an unused bucket."""
    most = len(of_distance) // 2
    of_what = weights.buckets(np.arange(-most, most + 1))
    found = np.zeros((of_what.max() + 1, of_distance.shape[1]), np.float32)
    found[of_what] = of_distance
    return found


@click.group(help=__doc__)
def main() -> None:
    """Group the commands."""


@main.command()
@click.option(
    "--model",
    help="A folder written by training.export, or nli-mpnet; by default the bundled model.",
)
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path))
def unpack(model: str | None, out: Path) -> None:
    """Write a model's weights as start.npz, to train it further, and its tokenizer.json."""
    from conflictscore.labelers.nli.model import resolve

    try:
        folder = resolve(model)
        found = _unpacked(folder / "model.onnx")
    except (ConflictScoreError, ValueError) as error:
        raise click.BadParameter(str(error), param_hint="--model") from error
    out.mkdir(parents=True, exist_ok=True)
    weights.save(found, out / "start.npz")
    (out / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())


@main.command()
@click.argument("trained", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
def mean(trained: tuple[Path, ...], file: Path) -> None:
    """Write to FILE the mean of the TRAINED weights of runs that started from the same weights."""
    try:
        found = weights.mean([weights.load(path) for path in trained])
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="TRAINED") from error
    weights.save(found, file)


@main.command()
@click.argument("start", type=click.Path(exists=True, path_type=Path))
@click.argument("trained", type=click.Path(exists=True, path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--share", required=True, type=click.FloatRange(0, 1), help="Share of the change.")
def part(start: Path, trained: Path, file: Path, share: float) -> None:
    """Write to FILE the START weights plus a share of their change in training.

    With a smaller share, the model forgets less of what it knew before (Wortsman et al., CVPR
    2022).
    """
    try:
        found = weights.between(weights.load(start), weights.load(trained), share)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="TRAINED") from error
    weights.save(found, file)


@main.command()
@click.argument("trained", type=click.Path(exists=True, path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--supports", default=0.0, show_default=True, help="Added to SUPPORTS' logit.")
@click.option("--contradicts", default=0.0, show_default=True, help="Added to CONTRADICTS' logit.")
def bias(trained: Path, file: Path, supports: float, contradicts: float) -> None:
    """Write to FILE the TRAINED weights, changed to take sides more readily, or less."""
    found = weights.load(trained)
    if "head.bias" not in found:
        raise click.BadParameter("these weights were not trained", param_hint="TRAINED")
    found["head.bias"] += np.array([supports, contradicts, 0.0], np.float32)
    weights.save(found, file)


if __name__ == "__main__":
    main()
