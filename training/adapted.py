"""Write what was learned of MPNet as a folder that stands beside MPNet's own file.

The folder gets ``model.onnx``, of a few megabytes: the graph, and for each matrix two narrow ones
of 8 bits whose product is added to it. The wide ones stay where they are, in the checkpoint's
file, which the graph names ``model.onnx.data``. So the package carries what was learned, and the
rest is fetched.
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

from conflictscore.labelers.nli.adapted import DATA_FILE, FOLDER, MPNET
from conflictscore.storage.fetching import fetch_with_bar, fetched
from training.encoder_files import open_mpnet
from training.export import write_config
from training.graph import Writer, onnx_graph
from training.weights import MPNET_FIRST_POSITION, Weights, from_mpnet, load

__all__ = ["Narrow", "main", "narrowed", "write_adapted"]

_OWN = ("q", "k", "v")
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


class _Places(NamedTuple):
    """Where the tensors of a safetensors file are."""

    entries: Mapping[str, Any]
    begin: int

    @classmethod
    def of(cls, archive: Path) -> "_Places":
        """Read from the archive that the file comes in."""
        with ZipFile(archive) as packed, packed.open(f"{FOLDER}/model.safetensors") as file:
            length = int.from_bytes(file.read(8), "little")
            return cls(json.loads(file.read(length)), 8 + length)


class _Beside(Writer):
    """Writes a graph whose wide matrices stay in the checkpoint's file."""

    def __init__(self, weights: Weights, places: _Places, narrow: Mapping[str, Narrow]) -> None:
        super().__init__(weights)
        self._places, self._narrow = places, narrow

    def trained(self, name: str) -> str:
        """A table of the embeddings is the checkpoint's, and all else is part of the model."""
        if name not in ("words", "positions"):
            return super().trained(name)
        first = MPNET_FIRST_POSITION if name == "positions" else 0
        return self._outside(name, f"embeddings.{name[:-1]}_embeddings.weight", first)

    def linear(self, name: str, x: str) -> str:
        """Products with the wide matrices, one after the other, and with the narrow ones."""
        if not name.startswith("layer."):
            return super().linear(name, x)
        products = [
            self._product(f"{name}/{place}", x, checkpoint)
            for place, checkpoint in enumerate(_in_checkpoint(name))
        ]
        wide = products[0]
        if len(products) > 1:
            wide = self.add("Concat", products, f"{name}/wide", axis=-1)
        if name in self._narrow:
            wide = self.add("Add", [wide, self._through(name, x)], f"{name}/adapted")
        return self.add("Add", [wide, self.trained(f"{name}.bias")], f"{name}/out")

    def _through(self, name: str, x: str) -> str:
        """The products with the narrow matrices, which become floats when the model is loaded."""
        narrow = self._narrow[name]
        for kind, small in (("down", narrow.down), ("up", narrow.up)):
            constant = self.constant(f"{name}.{kind}", small.T)
            matrix = self.add("Cast", [constant], f"{name}/{kind}", to=TensorProto.FLOAT)
            x = self.add("MatMul", [x, matrix], f"{name}/{kind}/product")
            if kind == "down":
                scale = self.constant(f"{name}.scale", narrow.scale)
                x = self.add("Mul", [x, scale], f"{name}/scaled")
        return x

    def _product(self, name: str, x: str, checkpoint: str) -> str:
        """With a matrix that the file has the other way round, which only ``Gemm`` reads so."""
        matrix = self._outside(f"{name}.weight", f"{checkpoint}.weight")
        outputs, inputs = self._places.entries[f"{checkpoint}.weight"]["shape"]
        flat = self.constant(f"flat/{inputs}", np.array([-1, inputs], np.int64))
        rows = self.add("Reshape", [x, flat], f"{name}/rows")
        product = self.add("Gemm", [rows, matrix], f"{name}/gemm", transB=1)
        shape = self.add("Shape", [x], f"{name}/shape", end=2)
        last = self.constant(f"last/{outputs}", np.array([outputs], np.int64))
        wanted = self.add("Concat", [shape, last], f"{name}/wanted", axis=0)
        return self.add("Reshape", [product, wanted], f"{name}/product")

    def _outside(self, name: str, checkpoint: str, first: int = 0) -> str:
        """A tensor of the checkpoint, without its first rows."""
        entry = self._places.entries[checkpoint]
        rows, *rest = entry["shape"]
        start, end = entry["data_offsets"]
        start += first * (end - start) // rows
        found = onnx.TensorProto(
            name=name,
            data_type=TensorProto.FLOAT,
            dims=[rows - first, *rest],
            data_location=TensorProto.EXTERNAL,
        )
        where = {"location": DATA_FILE, "offset": self._places.begin + start, "length": end - start}
        for key, value in where.items():
            found.external_data.add(key=key, value=str(value))
        self.constants[name] = found
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
    return [f"encoder.layer.{layer}.{part}" for part in parts]


def write_adapted(trained: Weights, archive: Path, folder: Path, *, rank: int) -> float:
    """Write the folder.

    Args:
        trained: Of MPNet, with its head, which reads the mean of all tokens.
        archive: The file of ``MPNET``, whose checkpoint training started from.
        folder: Need not exist.
        rank: Columns of the narrow matrices.

    Returns:
        The largest share of a matrix's change, by its Frobenius norm, that such a product leaves
        out.
    """
    narrow, left_out = dict[str, Narrow](), 0.0
    for name, before in from_mpnet(open_mpnet(archive).tensors).items():
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
    folder.mkdir(parents=True, exist_ok=True)
    writer = _Beside(trained, _Places.of(archive), narrow)
    onnx.save(onnx_graph(trained, pooling="mean", writer=writer), folder / "model.onnx")
    write_config(trained, folder)
    return left_out


@click.command(help=__doc__)
@click.option("--weights", "file", required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path))
@click.option("--rank", default=60, show_default=True, help="Columns of a narrow matrix.")
def main(file: Path, out: Path, rank: int) -> None:
    """Write the folder; MPNet is fetched if need be."""
    archive = fetched(MPNET) or fetch_with_bar(MPNET)
    left_out = write_adapted(load(file), archive, out, rank=rank)
    size = (out / "model.onnx").stat().st_size
    click.echo(
        f"{out / 'model.onnx'} has {size / 1e6:.1f} MB and leaves out at most {left_out:.1%} of"
        " a matrix's change"
    )


if __name__ == "__main__":
    main()
