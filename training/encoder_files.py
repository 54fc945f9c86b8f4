"""How the file of the encoder that nli-mpnet starts from is read."""

from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from conflictscore.labelers.nli.adapted import FOLDER, float_tensors

__all__ = ["ModelFile", "open_mpnet"]


class ModelFile(NamedTuple):
    """Content of an encoder's file."""

    tensors: dict[str, NDArray[np.float32]]
    """The weights by name, read from the disk where they are first used."""
    tokenizer: str
    """The tokenizer's definition, as JSON."""


def open_mpnet(path: Path) -> ModelFile:
    """Open a file whose digest is that of ``MPNET``; the weights are read into memory."""
    with ZipFile(path) as archive:
        content = np.frombuffer(archive.read(f"{FOLDER}/model.safetensors"), np.uint8)
        tokenizer = archive.read(f"{FOLDER}/tokenizer.json").decode()
    return ModelFile(float_tensors(content), tokenizer)
