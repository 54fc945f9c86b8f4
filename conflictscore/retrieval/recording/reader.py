"""Where each question stands in a recording: the file is read once, and then line by line.

Only questions and places are kept, so that a file far larger than the memory can be used.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from conflictscore.errors import InputError
from conflictscore.retrieval.recording.format import Recording, Settings, decoded
from conflictscore.retrieval.recording.questions import question_key

__all__ = ["RecordingIndex"]

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
