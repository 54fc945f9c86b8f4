"""A recording on the disk: read once and then line by line, appended to by one writer at a time.

Only questions and places are kept, so that a file far larger than the memory can be used.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from conflictscore.errors import InputError
from conflictscore.retrieval.recording.format import Recording, Settings, decoded, encoded
from conflictscore.retrieval.recording.questions import question_key
from conflictscore.storage.locking import lock

__all__ = ["RecordingIndex", "RecordingWriter"]

_BEGINNING = b'{"format"'
"""How every line begins that the writer writes."""


class _Line(NamedTuple):
    question: str
    number: int
    start: int
    length: int


@dataclass(frozen=True, slots=True)
class RecordingIndex:
    """The questions of a recording, and where they stand; safe to use from many threads at once.

    Attributes:
        path: The file.
        size: Bytes of the whole lines; what follows is half a line, as a kill leaves it.
        half: Bytes of that half line.
        settings: How the questions were asked, each way once.
    """

    path: Path
    size: int
    half: int
    settings: tuple[Settings, ...]
    _lines: Mapping[str, _Line]

    @classmethod
    def of(cls, path: str | Path) -> "RecordingIndex":
        """Read a file, and check every line of it.

        Raises:
            InputError: The file cannot be read, or a line is wrong; names file, line and field.
        """
        file = Path(path)
        lines: dict[str, _Line] = {}
        settings: list[Settings] = []
        start = 0
        try:
            with file.open("rb") as rows:
                for number, row in enumerate(rows, 1):
                    if not row.endswith(b"\n") and _is_half(row):
                        return cls(file, start, len(row), tuple(settings), lines)
                    if row.strip():
                        found = decoded(row, f"{file.as_posix()}, line {number}")
                        line = _Line(found.question, number, start, len(row))
                        lines[question_key(found.question)] = line
                        if found.settings not in settings:
                            settings.append(found.settings)
                    start += len(row)
        except OSError as error:
            raise InputError(f"{file.as_posix()}: cannot be read ({error.strerror})") from None
        return cls(file, start, 0, tuple(settings), lines)

    @property
    def questions(self) -> tuple[str, ...]:
        """The questions, as they were asked, each once."""
        return tuple(line.question for line in self._lines.values())

    def __contains__(self, question: str) -> bool:
        return question_key(question) in self._lines

    def read(self, question: str) -> Recording | None:
        """What was recorded for a question; None where it was not.

        Raises:
            InputError: The file changed since it was indexed, or can no longer be read.
        """
        line = self._lines.get(question_key(question))
        if line is None:
            return None
        shown = self.path.as_posix()
        try:
            with self.path.open("rb") as file:
                file.seek(line.start)
                row = file.read(line.length)
        except OSError as error:
            raise InputError(f"{shown}: can no longer be read ({error.strerror})") from None
        found = decoded(row, f"{shown}, line {line.number}")
        if found.question != line.question:
            raise InputError(f"{shown}, line {line.number}: the file changed since it was opened")
        return found


def _is_half(row: bytes) -> bool:
    """Whether a row without a line end is the beginning of a line, as a kill leaves it.

    A whole line that was only stripped of its line end is none, and neither is other text.
    """
    if not _BEGINNING.startswith(row[: len(_BEGINNING)]):
        return False
    try:
        json.loads(row)
    except ValueError:
        return True
    return False


class RecordingWriter:
    """A recording that is gone on with; a context manager that keeps other writers out.

    Attributes:
        index: What the file held when it was opened.
    """

    def __init__(self, path: str | Path, settings: Settings, *, mix: bool = False) -> None:
        """Open the file, and make it where there is none.

        Half a line that a kill left at its end is cut off.

        Args:
            path: The file.
            settings: How the questions will be asked.
            mix: Whether the file may hold questions that were asked in another way.

        Raises:
            InputError: The file cannot be written, is written to by another process, holds
                something else than a sound recording, or was recorded with other settings.
        """
        self._path = Path(path)
        if self._path.exists() and not self._path.is_file():
            raise InputError(f"{self._shown}: cannot be recorded to (it is no file)")
        try:
            self._file = self._path.open("ab", buffering=0)
        except OSError as error:
            raise self._unwritable(error) from None
        try:
            self._lock()
            self.index = RecordingIndex.of(self._path)
            if not mix:
                self._refuse_other_settings(settings)
            self._end_the_last_line()
        except BaseException:
            self._file.close()
            raise

    def append(self, recording: Recording) -> None:
        """Add a line; it is on the disk when this returns.

        Raises:
            InputError: It cannot be written; what was written before is kept.
        """
        self._write(encoded(recording))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    @property
    def _shown(self) -> str:
        return self._path.as_posix()

    def _lock(self) -> None:
        try:
            lock(self._file.fileno())
        except OSError:
            raise InputError(
                f"{self._shown}: cannot be locked; is another process recording to it? Wait for"
                " that one, or record to another file"
            ) from None

    def _refuse_other_settings(self, settings: Settings) -> None:
        for other in self.index.settings:
            if other != settings:
                raise InputError(
                    f"{self._shown} was recorded with other settings: {_change(other, settings)};"
                    " record to another file, or add to this one with --mix"
                )

    def _end_the_last_line(self) -> None:
        try:
            self._file.truncate(self.index.size)
            with self._path.open("rb") as file:
                file.seek(max(0, self.index.size - 1))
                ended = file.read() in (b"", b"\n")
        except OSError as error:
            raise self._unwritable(error) from None
        if not ended:
            self._write(b"\n")

    def _write(self, data: bytes) -> None:
        if self._file.closed:
            raise InputError(f"{self._shown}: cannot be recorded to any more")
        try:
            while data:
                data = data[self._file.write(data) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            self._file.close()  # the next line would stand in the middle of this one
            raise self._unwritable(error) from None

    def _unwritable(self, error: OSError) -> InputError:
        return InputError(f"{self._shown}: cannot be recorded to ({error.strerror})")


def _change(before: Settings, now: Settings) -> str:
    """What differs between two settings, in words."""
    there: dict[str, Any] = {"search": before.search, **before.parameters}
    here: dict[str, Any] = {"search": now.search, **now.parameters}
    return ", ".join(
        f"{name} {there.get(name)!r} there and {here.get(name)!r} now"
        for name in {**there, **here}
        if there.get(name) != here.get(name)
    )
