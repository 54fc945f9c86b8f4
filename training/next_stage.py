"""Write nli-mpnet's next stage as the folder that comes with the package.

A stage learned products of narrow matrices for the upper layers, and their biases, norms and head.
The products stand beside those of the stages before in ``learned.npz``, in 8 bits each; the rest is
put into the graph ``model.onnx``.

    python -m training.next_stage --learned RUN/learned.npz --out FOLDER
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from conflictscore.labelers.nli.adapted import LEARNED, NLI_MPNET
from training.weights import DOWN, UP

_MOST = 127
"""The largest number of 8 bits."""


class Narrow(NamedTuple):
    """Two matrices of 8 bits whose product, with a scale between them, is added to a wide one.

    Attributes:
        down: Shape (rank, inputs), int8.
        scale: Of each row of ``down``, shape (rank,).
        up: Shape (outputs, rank), int8.
    """

    down: NDArray[Any]
    scale: NDArray[Any]
    up: NDArray[Any]


def narrowed(change: NDArray[Any], rank: int) -> Narrow:
    """The two matrices of this rank whose product comes nearest to a change, in 8 bits each."""
    up, sizes, down = np.linalg.svd(change, full_matrices=False)
    up, down = up[:, :rank], down[:rank]
    most_up, most_down = np.abs(up).max(axis=0), np.abs(down).max(axis=1)
    return Narrow(
        np.round(down / most_down[:, None] * _MOST).astype(np.int8),
        (sizes[:rank] * most_up * most_down / _MOST**2).astype(np.float32),
        np.round(up / most_up * _MOST).astype(np.int8),
    )


def with_products(
    before: Mapping[str, NDArray[Any]], learned: Mapping[str, NDArray[Any]], share: float = 1.0
) -> dict[str, Any]:
    """The arrays of ``learned.npz`` of the stage before, with this stage's products beside them.

    Args:
        before: Arrays by name: ``order``, and ``PLACE.down``, ``.scale`` and ``.up``.
        learned: What a run learned: ``PLACE.weight.down`` of shape (rank, inputs) and
            ``PLACE.weight.up`` of shape (outputs, rank), and other arrays, which are not read.
        share: Of the products, in (0, 1].
    """
    arrays: dict[str, Any] = dict(before)
    for name in learned:
        if not name.endswith(DOWN):
            continue
        place = name.removesuffix(f".weight{DOWN}")
        down, up = learned[name], learned[f"{place}.weight{UP}"]
        product = narrowed(up.astype(np.float64) @ down.astype(np.float64), len(down))
        arrays[f"{place}.down"] = np.concatenate([before[f"{place}.down"], product.down])
        arrays[f"{place}.scale"] = np.concatenate(
            [before[f"{place}.scale"], np.float32(share) * product.scale]
        )
        arrays[f"{place}.up"] = np.concatenate([before[f"{place}.up"], product.up], axis=1)
    return arrays


def put_into_graph(
    graph: onnx.GraphProto, learned: Mapping[str, NDArray[Any]], share: float = 1.0
) -> int:
    """Move the graph's constants to what a run learned; returns how many.

    Args:
        graph: Changed in place.
        learned: By name; products of narrow matrices are not read.
        share: How far to move, in [0, 1].

    Raises:
        ValueError: The graph has no such constant, or one of another shape.
    """
    places = {constant.name: place for place, constant in enumerate(graph.initializer)}
    small = [name for name in learned if not name.endswith((DOWN, UP))]
    for name in small:
        value = learned[name].astype(np.float32)
        if name == "head.weight":
            value = value.T
        if name not in places or [*value.shape] != [*graph.initializer[places[name]].dims]:
            raise ValueError(f"the graph has no {name} of shape {value.shape}")
        before = numpy_helper.to_array(graph.initializer[places[name]])
        value = np.ascontiguousarray(before + np.float32(share) * (value - before))
        tensor = numpy_helper.from_array(value, name)
        graph.initializer[places[name]].CopyFrom(tensor)
    return len(small)


def write_next_stage(
    learned: Mapping[str, NDArray[Any]], shipped: Path, folder: Path, share: float = 1.0
) -> None:
    """Write the folder.

    Args:
        learned: What the run learned, by name.
        shipped: The folder of the stage that the run began with.
        folder: Need not exist; gets all files of ``shipped``, and the new ones.
        share: Of what was learned: below 1 the mean of the stages, weighted.
    """
    shutil.copytree(shipped, folder, dirs_exist_ok=True)
    with np.load(shipped / LEARNED) as before:
        np.savez_compressed(folder / LEARNED, **with_products(before, learned, share))
    model = onnx.load(shipped / "model.onnx", load_external_data=False)
    put_into_graph(model.graph, learned, share)
    (folder / "model.onnx").write_bytes(model.SerializeToString())


@click.command(help=__doc__)
@click.option("--learned", "file", required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path))
@click.option("--share", default=1.0, show_default=True, help="Of what was learned.")
def main(file: Path, out: Path, share: float) -> None:
    """Write the folder and say how large it is."""
    with np.load(file) as arrays:
        write_next_stage(dict(arrays), NLI_MPNET.shipped, out, share)
    size = sum(path.stat().st_size for path in out.iterdir())
    click.echo(f"{out}: {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
