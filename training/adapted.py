"""Write what was learned of MPNet as the folder that comes with the package.

The folder gets ``learned.npz``: for each matrix two narrow ones of 8 bits, whose product is added
to the checkpoint's when that is fetched (``conflictscore.labelers.nli.adapted``), and
``model.onnx``, the graph that reads the sums in blocks of 8 bits.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

import click
import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto

from conflictscore.labelers.nli.adapted import (
    BLOCK,
    DATA_FILE,
    FOLDER,
    LEARNED,
    MPNET,
    AdaptedModel,
    aligned,
    float_tensors,
    summed,
)
from conflictscore.storage.fetching import fetch_with_bar, fetched
from training.export import write_config
from training.graph import Writer, onnx_graph
from training.unpacking import unpacked
from training.weights import MPNET_FIRST_POSITION, Weights, from_mpnet, load

__all__ = ["Narrow", "checkpoint", "main", "narrowed", "write_adapted", "write_single"]

_OWN = ("q", "k", "v")
_MOST = 127
"""The largest number of 8 bits."""
_ZERO = 128
"""In 8 bits without a sign."""


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

    def product(self) -> NDArray[Any]:
        """Matrix added to the wide one."""
        found: NDArray[Any] = (self.up * self.scale) @ self.down.astype(np.float32)
        return found


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


class _Packed(Writer):
    """Writes a graph whose large matrices stand in 8 bits in ``DATA_FILE``."""

    def __init__(self, weights: Weights) -> None:
        super().__init__(weights)
        self.order: dict[str, list[str]] = {}
        self.bytes = 0
        """Of ``DATA_FILE`` so far."""

    def rows(self, name: str, places: str) -> str:
        """Rows of a table of the checkpoint."""
        if name == "positions":
            first = self.constant("first_position", np.array(MPNET_FIRST_POSITION, np.int64))
            places = self.add("Add", [places, first], "places/of_table")
        outputs, inputs = self.weights[name].shape
        unused = MPNET_FIRST_POSITION if name == "positions" else 0
        table = f"embeddings.{name[:-1]}_embeddings.weight"
        blocks, scale = self._outside(name, [table], outputs + unused, inputs)
        small = self.add("Gather", [blocks, places], f"{name}/small")
        signed = self.add("Cast", [small], f"{name}/cast", to=TensorProto.FLOAT)
        zero = self.constant("zero/8", np.array(_ZERO, np.float32))
        centred = self.add("Sub", [signed, zero], f"{name}/centred")
        scales = self.add("Gather", [scale, places], f"{name}/scales")
        last = self.constant("axis/last", np.array([-1], np.int64))
        wide = self.add("Unsqueeze", [scales, last], f"{name}/wide")
        scaled = self.add("Mul", [centred, wide], f"{name}/scaled")
        # Blocks become a row again; what fills up the last one is cut off.
        kept = [0, 0, -1] if name == "words" else [0, -1]
        flat = self.constant(f"shape/{name}", np.array(kept, np.int64))
        found = self.add("Reshape", [scaled, flat], f"{name}/flat")
        if not inputs % BLOCK:
            return found
        zero_at = self.constant("shape/from", np.array([0], np.int64))
        end = self.constant("shape/inputs", np.array([inputs], np.int64))
        return self.add("Slice", [found, zero_at, end, last], f"{name}/out")

    def linear(self, name: str, x: str) -> str:
        """A matrix product, with the matrix in 8 bits where it is a layer's, and a bias."""
        if not name.startswith("layer."):
            return super().linear(name, x)
        outputs, inputs = self.weights[f"{name}.weight"].shape
        blocks, scale = self._outside(name, _in_checkpoint(name), outputs, inputs)
        settings = {"K": inputs, "N": outputs, "bits": 8, "block_size": BLOCK, "accuracy_level": 4}
        product = self.add(
            "MatMulNBits", [x, blocks, scale], f"{name}/product", domain="com.microsoft", **settings
        )
        return self.add("Add", [product, self.trained(f"{name}.bias")], f"{name}/out")

    def _outside(self, name: str, parts: list[str], rows: int, inputs: int) -> tuple[str, str]:
        """The blocks and the scales of a matrix, after those before it."""
        self.order[name] = parts
        blocks = -(-inputs // BLOCK)
        return (
            self._external(f"{name}.blocks", TensorProto.UINT8, [rows, blocks, BLOCK]),
            self._external(f"{name}.scales", TensorProto.FLOAT, [rows, blocks], 4),
        )

    def _external(self, name: str, kind: int, dims: list[int], each: int = 1) -> str:
        found = TensorProto(
            name=name, data_type=kind, dims=dims, data_location=TensorProto.EXTERNAL
        )
        size = each * int(np.prod(dims))
        where = {"location": DATA_FILE, "offset": self.bytes, "length": size}
        for key, value in where.items():
            found.external_data.add(key=key, value=str(value))
        self.constants[name] = found
        self.bytes += aligned(size)
        return name


def _in_checkpoint(name: str) -> list[str]:
    """Name in an MPNet checkpoint of a matrix of ``training.weights``."""
    _, layer, kind = name.split(".")
    parts = {
        "attention": [f"attention.attn.{part}" for part in _OWN],
        "attended": ["attention.attn.o"],
        "inner": ["intermediate.dense"],
        "output": ["output.dense"],
    }[kind]
    return [f"encoder.layer.{layer}.{part}.weight" for part in parts]


def checkpoint(archive: Path) -> Weights:
    """Tensors of the file of ``MPNET``, by their own names."""
    with ZipFile(archive) as packed:
        return float_tensors(np.frombuffer(packed.read(f"{FOLDER}/model.safetensors"), np.uint8))


def write_adapted(trained: Weights, archive: Path, folder: Path, *, rank: int) -> float:
    """Write the folder.

    Args:
        trained: Of MPNet, with its head.
        archive: The file of ``MPNET``, whose checkpoint training started from.
        folder: Need not exist.
        rank: Columns of the narrow matrices.

    Returns:
        The largest share of a matrix's change, by its Frobenius norm, that such a product leaves
        out.
    """
    narrow, left_out = dict[str, Narrow](), 0.0
    for name, before in from_mpnet(checkpoint(archive)).items():
        if before.ndim == 1 or not name.startswith("layer."):
            continue
        # Weights are kept in half precision; what equals the checkpoint in it was not trained.
        if (trained[name] == before.astype(np.float16)).all():
            continue
        change = trained[name] - before
        place = name.removesuffix(".weight")
        found = narrow[place] = narrowed(change, rank)
        rest = np.linalg.norm(change - found.product()) / np.linalg.norm(change)
        left_out = max(left_out, float(rest))
    write_learned(trained, narrow, folder)
    return left_out


def write_single(model: AdaptedModel, archive: Path, folder: Path) -> None:
    """Write a model of which a part is fetched in single precision.

    Args:
        model: Fetched, and so with its matrices in 8 bits.
        archive: What was fetched of it.
        folder: Need not exist.
    """
    weights = unpacked(model.folder / "model.onnx")
    tensors = checkpoint(archive)
    with np.load(model.shipped / LEARNED) as learned:
        for name, parts in json.loads(str(learned["order"])).items():
            whole = summed(name, [tensors[part] for part in parts], learned)
            weights |= (
                {f"{name}.weight": whole}
                if name.startswith("layer.")
                else {name: whole[MPNET_FIRST_POSITION if name == "positions" else 0 :]}
            )
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(onnx_graph(weights), folder / "model.onnx")
    write_config(weights, folder)
    (folder / "tokenizer.json").write_bytes((model.folder / "tokenizer.json").read_bytes())


def write_learned(trained: Weights, narrow: Mapping[str, Narrow], folder: Path) -> int:
    """Write a folder whose matrices are the checkpoint's with these products.

    Returns:
        Bytes that ``DATA_FILE`` will have.
    """
    folder.mkdir(parents=True, exist_ok=True)
    writer = _Packed(trained)
    model = onnx_graph(trained, writer)
    model.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    onnx.save(model, folder / "model.onnx")
    learned: dict[str, Any] = {
        f"{name}.{kind}": matrix
        for name, one in narrow.items()
        for kind, matrix in one._asdict().items()
    }
    np.savez_compressed(folder / LEARNED, order=np.array(json.dumps(writer.order)), **learned)
    write_config(trained, folder)
    return writer.bytes


@click.command(help=__doc__)
@click.option("--weights", "file", required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path))
@click.option("--rank", default=60, show_default=True, help="Columns of a narrow matrix.")
def main(file: Path, out: Path, rank: int) -> None:
    """Write the folder; MPNet is fetched if need be."""
    archive = fetched(MPNET) or fetch_with_bar(MPNET)
    left_out = write_adapted(load(file), archive, out, rank=rank)
    size = sum(file.stat().st_size for file in out.iterdir())
    click.echo(f"{out} has {size / 1e6:.1f} MB and leaves out at most {left_out:.1%} of a change")


if __name__ == "__main__":
    main()
