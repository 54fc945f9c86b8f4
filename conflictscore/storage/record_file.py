"""Append-only JSON Lines files that stay intact even if the process is killed.

Benchmark records, judgements, recordings and scored rows are kept this way. A command locks the
file, reads what earlier commands wrote, and appends:

    with RecordFile(path, resumed_from="what was recorded so far") as file:
        for line in file.lines:       # number, start and bytes of every complete line
            take(line)
        cut = file.resume()           # truncates a partial line left by a kill
        file.append(json_line(record))

`RecordLines` only reads such a file, and `append_line` appends to one that several processes share.
"""

import errno
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, NoReturn, Self

from conflictscore.errors import ConfigurationError, InputError
from conflictscore.storage.locks import lock_beside
from conflictscore.storage.private_files import owner_only, remedy_for

# Lines are synced to disk at most this often, since a sync takes milliseconds. Only a power cut can
# lose the lines since the last sync; killing the process loses none. Chosen by hand.
_SYNC_SECONDS = 5.0


class RecordLine(NamedTuple):
    """A complete line: its number from 1, its offset in bytes, and its bytes with the newline."""

    number: int
    start: int
    text: bytes


IsHalf = Callable[[RecordLine], bool]
"""Decides whether a last line without a newline is partial, for example because the process was
killed while writing it."""


def no_json(line: RecordLine) -> bool:
    """Return whether the last line is partial, that is, not valid JSON."""
    try:
        json.loads(line.text)
    except (ValueError, RecursionError):  # RecursionError: nested too deeply
        return True
    return False


class RecordLines:
    """The complete lines of a file; each iteration reads the file again.

    An iteration sets four attributes. ``size`` is the number of bytes in the complete lines, and
    ``half`` is the number of bytes in a partial line after them. ``ended`` says whether the last
    complete line has its newline. ``to_the_end`` says whether the iteration reached the end of the
    file.
    """

    def __init__(self, path: Path, is_half: IsHalf = no_json) -> None:
        self.path, self._is_half = path, is_half
        self.size, self.half, self.ended, self.to_the_end = 0, 0, True, False

    def __iter__(self) -> Iterator[RecordLine]:
        """Yield the lines one at a time, so that a file may be larger than memory.

        Raises:
            InputError: The file cannot be read; FileNotFoundError if it is missing.
        """
        self.size, self.half, self.ended, self.to_the_end = 0, 0, True, False
        try:
            with self.path.open("rb") as file:
                for number, text in enumerate(file, 1):
                    line = RecordLine(number, self.size, text)
                    has_newline = text.endswith(b"\n")
                    if not has_newline and self._is_half(line):  # it must be the last line
                        self.half = len(text)
                        break
                    yield line
                    self.size += len(text)
                    self.ended = has_newline
            self.to_the_end = True
        except FileNotFoundError:
            raise
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read ({error.strerror})") from None


class RecordFile:
    """Appends lines to a locked file; a context manager.

    When `append` returns, the operating system has the line, so killing the process loses nothing.
    Syncing to disk takes longer than writing, so the file is synced only on closing and at the
    first append after five seconds. A power cut may lose the lines since the last sync. ``lines``
    are the lines that the file had when it was opened.
    """

    def __init__(
        self,
        path: Path,
        *,
        is_half: IsHalf = no_json,
        resumed_from: str = "what was written so far",
    ) -> None:
        """Open and lock the file; create it if it is missing, otherwise leave it unchanged.

        If a write fails, the error message says that the same command resumes from
        ``resumed_from``.

        Raises:
            InputError: The file cannot be written, or another command is writing to it.
        """
        self._path, self._kept = path, resumed_from
        self.lines = RecordLines(path, is_half)
        self._size: int | None = None
        self._synced = time.monotonic()
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: cannot be written (it is not a file)")
        try:
            # the file stays open until `close`
            self._file = open(path, "ab", buffering=0, opener=owner_only)  # noqa: SIM115
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror})") from None
        try:
            self._lock = lock_beside(path)
        except OSError as error:
            self._file.close()
            why = f"cannot be locked through a file in its folder ({error.strerror})"
            if isinstance(error, TimeoutError):
                why = "another command is writing to it; wait for it to end, or give another file"
            raise InputError(f"{path}: {why}") from None

    def resume(self) -> int:
        """Remove a partial line, add a missing newline, and return the number of bytes removed.

        Call this after reading the `lines` and checking that they belong to this command. Lines
        that have not been read are now read, to find where the file must be truncated.

        Raises:
            ConfigurationError: The file cannot be written.
        """
        if not self.lines.to_the_end:
            for _ in self.lines:
                pass
        try:
            self._file.truncate(self.lines.size)
            self._size = self.lines.size
            if not self.lines.ended:
                self._size += self._file.write(b"\n")
        except OSError as error:
            self._fail(error)
        return self.lines.half

    def append(self, line: bytes) -> int:
        """Append a line with its newline, completely or not at all, and return its offset.

        Raises:
            ConfigurationError: The line cannot be written, for example on a full disk; the file
                stays intact.
        """
        if self._file.closed:
            self._fail(OSError(errno.EBADF, "closed"))
        if self._size is None:
            raise RuntimeError("call resume() before append()")
        try:
            _write(self._file, line)
            if time.monotonic() - self._synced >= _SYNC_SECONDS:
                os.fsync(self._file.fileno())
                self._synced = time.monotonic()
        except BaseException as error:
            try:
                self._file.truncate(self._size)
            except OSError:  # no line may follow the partial line
                self._file.close()
            if isinstance(error, OSError):
                self._fail(error)
            raise
        start = self._size
        self._size += len(line)
        return start

    def close(self) -> None:
        """Sync to disk, and release the lock. Raise ConfigurationError if the disk is full."""
        with self._lock:
            if self._file.closed:
                return
            try:
                with self._file:
                    os.fsync(self._file.fileno())
            except OSError as error:
                self._fail(error)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_details: object) -> None:
        self.close()

    def _fail(self, error: OSError) -> NoReturn:
        raise ConfigurationError(
            f"{self._path}: cannot be written ({error.strerror}); {remedy_for(error)}, and run the"
            f" same command to resume from {self._kept}"
        ) from None


def json_line(value: Any, *, escape: bool = True) -> bytes:
    """Return plain JSON as a line with its newline, in ASCII by default.

    With ``escape=False`` the line is in UTF-8, and only lone surrogates are escaped.

    Raises:
        ValueError: The value has a NaN or an infinity.
    """
    text = json.dumps(value, ensure_ascii=escape, allow_nan=False)
    return text.encode("utf-8", "backslashreplace") + b"\n"


def append_line(path: Path, line: bytes) -> None:
    """Append a line with its newline to a file that other processes may append to concurrently.

    A partial line left by a kill is terminated first. The file is created if it is missing.
    """
    with open(path, "ab", buffering=0, opener=owner_only) as file:
        if not path.is_file():  # ``path`` is a pipe or a terminal
            _write(file, line)
            return
        with lock_beside(path, wait=True):
            size = os.fstat(file.fileno()).st_size
            with path.open("rb") as reader:
                reader.seek(max(0, size - 1))
                half = reader.read(1) not in (b"", b"\n")
            try:
                _write(file, b"\n" + line if half else line)
            except BaseException:
                file.truncate(size)
                raise


def _write(file: IO[bytes], line: bytes) -> None:
    """Write all bytes of a line; an unbuffered file may write only some of them at once."""
    rest = line
    while rest:
        rest = rest[file.write(rest) :]
