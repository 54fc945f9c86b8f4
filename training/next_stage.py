"""Writes nli-mpnet's next stage as the folder that comes with the package.

A stage trains products of narrow matrices for the upper layers, and their biases, norms and head.
The products are stored with those of earlier stages in ``learned.npz``, with 8 bits per value. The
biases, norms and head go into the graph ``model.onnx``. If the products of a matrix have a total
rank of more than ``--most-rank``, their sum is approximated by a product of that rank. So the
folder does not grow with each stage.

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

MOST_RANK = 64
"""Default of --most-rank, which keeps nli-mpnet's folder small."""
_MOST = 127
"""The largest 8-bit value."""


class Narrow(NamedTuple):
    """Two 8-bit matrices whose product, with a scale between them, is added to a wide matrix.

    Attributes:
        down: Shape (rank, inputs), int8.
        scale: The scale of each row of ``down``, shape (rank,).
        up: Shape (outputs, rank), int8.
    """

    down: NDArray[Any]
    scale: NDArray[Any]
    up: NDArray[Any]


def narrowed(change: NDArray[Any], rank: int) -> Narrow:
    """Return the two 8-bit matrices of this rank whose product best approximates a change."""
    up, sizes, down = np.linalg.svd(change, full_matrices=False)
    up, down = up[:, :rank], down[:rank]
    most_up, most_down = np.abs(up).max(axis=0), np.abs(down).max(axis=1)
    return Narrow(
        np.round(down / most_down[:, None] * _MOST).astype(np.int8),
        (sizes[:rank] * most_up * most_down / _MOST**2).astype(np.float32),
        np.round(up / most_up * _MOST).astype(np.int8),
    )


def with_products(
    before: Mapping[str, NDArray[Any]],
    learned: Mapping[str, NDArray[Any]],
    share: float = 1.0,
    most_rank: int = MOST_RANK,
) -> dict[str, Any]:
    """Return the arrays of the previous stage's ``learned.npz``, with this stage's products.

    Args:
        before: Arrays by name: ``order``, and ``PLACE.down``, ``.scale`` and ``.up``.
        learned: A run's trained tensors: ``PLACE.weight.down`` of shape (rank, inputs) and
            ``PLACE.weight.up`` of shape (outputs, rank); other arrays are ignored.
        share: The share of the products to add, in (0, 1].
        most_rank: The largest rank of the sum of a matrix's products; a larger sum is approximated.
    """
    arrays: dict[str, Any] = dict(before)
    for name in learned:
        if not name.endswith(DOWN):
            continue
        place = name.removesuffix(f".weight{DOWN}")
        down, up = learned[name], learned[f"{place}.weight{UP}"]
        change = up.astype(np.float64) @ down.astype(np.float64)
        earlier = Narrow(*(before[f"{place}.{part}"] for part in Narrow._fields))
        if len(earlier.down) + len(down) > most_rank:
            product = narrowed(_widened(earlier) + share * change, most_rank)
        else:
            product = _joined(earlier, narrowed(share * change, len(down)))
        for part, value in product._asdict().items():
            arrays[f"{place}.{part}"] = value
    return arrays


def _widened(product: Narrow) -> NDArray[Any]:
    """Return the product of two narrow matrices, as a matrix of shape (outputs, inputs)."""
    return (product.up * product.scale.astype(np.float64)) @ product.down.astype(np.float64)


def _joined(earlier: Narrow, later: Narrow) -> Narrow:
    """Return the sum of two products, as a single product of wider matrices."""
    return Narrow(
        np.concatenate([earlier.down, later.down]),
        np.concatenate([earlier.scale, later.scale]),
        np.concatenate([earlier.up, later.up], axis=1),
    )


def put_into_graph(
    graph: onnx.GraphProto, learned: Mapping[str, NDArray[Any]], share: float = 1.0
) -> int:
    """Move the graph's constants towards a run's trained values; return their number.

    Args:
        graph: Changed in place.
        learned: Trained values by name; products of narrow matrices are ignored.
        share: The share of the difference by which to move, in [0, 1].

    Raises:
        ValueError: The graph lacks a constant, or has it in a different shape.
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
    learned: Mapping[str, NDArray[Any]],
    shipped: Path,
    folder: Path,
    share: float = 1.0,
    most_rank: int = MOST_RANK,
) -> None:
    """Write the folder.

    Args:
        learned: The run's trained tensors, by name.
        shipped: The folder of the stage with which the run began.
        folder: The folder to write; it gets all files of ``shipped``, and the new ones.
        share: The share of the trained change to add. If it is below 1, the new stage is a weighted
            mean of this stage and the previous one.
        most_rank: See :func:`with_products`.
    """
    shutil.copytree(shipped, folder, dirs_exist_ok=True)
    with np.load(shipped / LEARNED) as before:
        np.savez_compressed(folder / LEARNED, **with_products(before, learned, share, most_rank))
    model = onnx.load(shipped / "model.onnx", load_external_data=False)
    put_into_graph(model.graph, learned, share)
    (folder / "model.onnx").write_bytes(model.SerializeToString())


@click.command(help=__doc__)
@click.option("--learned", "file", required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path))
@click.option("--share", default=1.0, show_default=True, help="Share of the trained change to add.")
@click.option("--most-rank", default=MOST_RANK, show_default=True, type=click.IntRange(min=1))
def main(file: Path, out: Path, share: float, most_rank: int) -> None:
    """Write the folder, and print its size."""
    with np.load(file) as arrays:
        write_next_stage(dict(arrays), NLI_MPNET.shipped, out, share, most_rank)
    size = sum(path.stat().st_size for path in out.iterdir())
    click.echo(f"{out}: {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
