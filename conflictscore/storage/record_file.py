"""A file of JSON lines that is only ever added to, and that no death leaves unsound.

Records of runs, rows, judgements, recordings and scored rows are kept this way. A command locks the
file, reads what an earlier one left, resumes it, and appends:

    with RecordFile(path, kept="what was recorded so far") as file:
        for line in file.lines:       # number, start and bytes of every whole line
            take(line)
        cut = file.resume()           # bytes of half a line that a kill left, cut off
        file.append(json_line(record))

`RecordLines` reads the same file without changing it, and `append_line` adds to one that several
processes share.
"""

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, NoReturn, Self

from conflictscore.errors import ConfigurationError, InputError
from conflictscore.storage.locking import lock
from conflictscore.storage.private_files import owner_only

__all__ = ["RecordFile", "RecordLine", "RecordLines", "append_line", "json_line", "no_json"]

_SYNC_SECONDS = 5.0


class RecordLine(NamedTuple):
    """A whole line."""

    number: int
    """From 1."""
    start: int
    """Bytes before it."""
    text: bytes
    """With its line end, which only the last line may lack."""


IsHalf = Callable[[RecordLine], bool]
"""Whether a last line without its line end is what a death in mid-write left of a record.

One that is not is read as a whole line: it may be whole, or not be ours at all.
"""


def no_json(line: RecordLine) -> bool:
    """A last line is half unless it is JSON: half an object is none."""
    try:
        json.loads(line.text)
    except (ValueError, RecursionError):
        return True
    return False


class RecordLines:
    """The whole lines of a file, read anew by each iteration.

    Attributes:
        path: The file.
        size: Bytes of the whole lines that the last iteration read.
        half: Bytes of the half line that it found after them.
        ended: Whether the last whole line has its line end.
    """

    def __init__(self, path: Path, is_half: IsHalf = lambda line: True) -> None:
        """Take the file; nothing is opened yet.

        Args:
            path: The file.
            is_half: Told a last line without its end; by default each such line is half.
        """
        self.path, self._is_half = path, is_half
        self.size, self.half, self.ended = 0, 0, True

    def __iter__(self) -> Iterator[RecordLine]:
        """Read the lines one by one, so that a file may be larger than the memory.

        Raises:
            InputError: The file cannot be read.
            FileNotFoundError: There is none.
        """
        self.size, self.half, self.ended = 0, 0, True
        try:
            with self.path.open("rb") as file:
                for number, text in enumerate(file, 1):
                    line = RecordLine(number, self.size, text)
                    ended = text.endswith(b"\n")
                    if not ended and self._is_half(line):
                        self.half = len(text)
                        return
                    yield line
                    self.size += len(text)
                    self.ended = ended
        except FileNotFoundError:
            raise
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read ({error.strerror})") from None


class RecordFile:
    """Appends lines to a file that it keeps locked; a context manager.

    Each line is with the operating system when `append` returns, so the death of the process costs
    nothing.

    Attributes:
        lines: What the file held when it was opened.
    """

    def __init__(
        self,
        path: Path,
        *,
        is_half: IsHalf = lambda line: True,
        kept: str = "what was written so far",
        sync_each: bool = False,
    ) -> None:
        """Open and lock the file; it is made where there is none, and otherwise left as it is.

        Args:
            path: The file; its folder must be there.
            is_half: Told a last line without its end; by default each such line is half.
            kept: What the same command resumes after a full disk, for errors.
            sync_each: Force each line onto the disk before `append` returns. Otherwise that is
                done with the first line after five seconds, and when the file is closed: a power
                cut costs the lines since then.

        Raises:
            InputError: The file cannot be written, or another command writes to it.
        """
        self._path, self._kept, self._sync_each = path, kept, sync_each
        self.lines = RecordLines(path, is_half)
        self._size: int | None = None
        self._synced = time.monotonic()
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: cannot be written (it is not a file)")
        try:
            self._file = open(path, "ab", buffering=0, opener=owner_only)  # noqa: SIM115
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror})") from None
        try:
            lock(self._file.fileno())
        except OSError:
            self._file.close()
            raise InputError(
                f"{path}: another command writes to it; wait for it to end, or give another file"
            ) from None

    def resume(self) -> int:
        """Cut off half a line at the end, and give the last line its end where that is missing.

        To be called once all `lines` were read and found to be of this command.

        Returns:
            Bytes that were cut off.

        Raises:
            ConfigurationError: The file cannot be written.
        """
        try:
            self._file.truncate(self.lines.size)
            self._size = self.lines.size
            if not self.lines.ended:
                self._size += self._file.write(b"\n")
        except OSError as error:
            self._fail(error.strerror)
        return self.lines.half

    def append(self, line: bytes) -> None:
        """Add a line with its line end, whole or not at all.

        Raises:
            ConfigurationError: It cannot be written, as on a full disk; the file stays sound.
        """
        if self._file.closed:
            self._fail("closed")
        if self._size is None:
            raise RuntimeError("a file is appended to once it was resumed")
        try:
            _write(self._file, line)
            if self._sync_each or time.monotonic() - self._synced >= _SYNC_SECONDS:
                os.fsync(self._file.fileno())
                self._synced = time.monotonic()
        except BaseException as error:
            self._cut_back(self._size)
            if isinstance(error, OSError):
                self._fail(error.strerror)
            raise
        self._size += len(line)

    def close(self) -> None:
        """Force what was added onto the disk, and let other commands in.

        Raises:
            ConfigurationError: The disk does not take it.
        """
        if self._file.closed:
            return
        with self._file:
            if self._size is not None:
                try:
                    os.fsync(self._file.fileno())
                except OSError as error:
                    self._fail(error.strerror)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _cut_back(self, size: int) -> None:
        """Take half a line off again, or let no other line follow it."""
        try:
            self._file.truncate(size)
        except OSError:
            with contextlib.suppress(OSError):
                self._file.close()

    def _fail(self, reason: str | None) -> NoReturn:
        raise ConfigurationError(
            f"{self._path}: cannot be written ({reason}); make room there, and run the same command"
            f" to resume from {self._kept}"
        ) from None


def json_line(value: Any, *, escape: bool = True) -> bytes:
    """A value as a line of JSON, with its line end.

    Args:
        value: Plain JSON.
        escape: Write ASCII alone; otherwise UTF-8, where only half a character is escaped.

    Raises:
        ValueError: It has a number that JSON does not have.
    """
    text = json.dumps(value, ensure_ascii=escape, allow_nan=False)
    return text.encode("utf-8", "backslashreplace") + b"\n"


def append_line(path: Path, line: bytes, *, cut: bool = False, sync: bool = False) -> None:
    """Add a line to a file that other processes may add to at the same moment.

    Half a line that a kill left is closed off first. The file is made where there is none.

    Args:
        path: The file.
        line: The line with its line end; empty to do no more than the rest.
        cut: Cut half a line off instead, which is right where all lines come from here.
        sync: Force the line onto the disk.

    Raises:
        OSError: It cannot be written.
    """
    with open(path, "ab", buffering=0, opener=owner_only) as file:
        if not path.is_file():  # a pipe or a terminal
            _write(file, line)
            return
        lock(file.fileno(), wait=True)
        size = os.fstat(file.fileno()).st_size
        with path.open("rb") as written:
            written.seek(max(0, size - 1))
            half = written.read(1) not in (b"", b"\n")
        if half and cut:
            size = _whole_lines(path)
            file.truncate(size)
        try:
            _write(file, b"\n" + line if half and not cut else line)
            if sync:
                os.fsync(file.fileno())
        except BaseException:
            file.truncate(size)
            raise


def _whole_lines(path: Path) -> int:
    """Bytes of the whole lines."""
    lines = RecordLines(path)
    for _ in lines:
        pass
    return lines.size


def _write(file: IO[bytes], line: bytes) -> None:
    rest = line
    while rest:
        rest = rest[file.write(rest) :]
