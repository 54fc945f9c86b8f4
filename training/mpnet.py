"""MPNet-base as an encoder to start from: how its file is read."""

from pathlib import Path
from zipfile import ZipFile

import numpy as np

from conflictscore.labelers.nli.adapted import FOLDER
from conflictscore.retrieval.dense import ModelFile, float_tensors

__all__ = ["open_mpnet"]


def open_mpnet(path: Path) -> ModelFile:
    """Open a file whose digest is that of ``MPNET``; the weights are read into memory."""
    with ZipFile(path) as archive:
        content = np.frombuffer(archive.read(f"{FOLDER}/model.safetensors"), np.uint8)
        tokenizer = archive.read(f"{FOLDER}/tokenizer.json").decode()
    return ModelFile(float_tensors(content), tokenizer)
