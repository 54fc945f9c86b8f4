"""A recording on disk: an index of its questions, and appending to it.

Only questions and places are kept, so that a file far larger than the memory can be used.
"""

from pathlib import Path
from typing import Any, NamedTuple, Self

from conflictscore.errors import InputError
from conflictscore.retrieval.recording.format import Recording, SearchSettings, decoded, encoded
from conflictscore.retrieval.recording.questions import question_key
from conflictscore.storage.record_file import RecordFile, RecordLine, RecordLines, no_json

__all__ = ["RecordingIndex", "RecordingWriter"]

_BEGINNING = b'{"format"'
"""How every line begins that the writer writes."""


class _Place(NamedTuple):
    question: str
    number: int
    start: int
    length: int


class RecordingIndex:
    """The questions of a recording, and where they stand; safe to use from many threads at once.

    Attributes:
        path: The file.
        half: Bytes of half a line at the end, as a kill leaves it.
        settings: How the questions were asked, each way once.
    """

    def __init__(self, lines: RecordLines) -> None:
        """Read every line, and check it.

        Raises:
            InputError: The file cannot be read, or a line is wrong; names file, line and field.
        """
        self.path = lines.path
        self._places: dict[str, _Place] = {}
        self.settings: list[SearchSettings] = []
        try:
            for line in lines:
                if line.text.strip():
                    self._add(line)
        except FileNotFoundError as error:
            raise InputError(f"{self._shown}: cannot be read ({error.strerror})") from None
        self.half = lines.half

    @classmethod
    def of(cls, path: str | Path) -> Self:
        """Read a file; see the class."""
        return cls(RecordLines(Path(path), _is_half))

    @property
    def questions(self) -> tuple[str, ...]:
        """The questions, as they were asked, each once."""
        return tuple(place.question for place in self._places.values())

    def __contains__(self, question: str) -> bool:
        return question_key(question) in self._places

    def read(self, question: str) -> Recording | None:
        """Recording of a question; None if it was not recorded.

        Raises:
            InputError: The file changed since it was indexed, or can no longer be read.
        """
        place = self._places.get(question_key(question))
        if place is None:
            return None
        try:
            with self.path.open("rb") as file:
                file.seek(place.start)
                text = file.read(place.length)
        except OSError as error:
            reason = error.strerror
            raise InputError(f"{self._shown}: can no longer be read ({reason})") from None
        where = f"{self._shown}, line {place.number}"
        found = decoded(text, where)
        if found.question != place.question:
            raise InputError(f"{where}: the file changed since it was opened")
        return found

    @property
    def _shown(self) -> str:
        return self.path.as_posix()

    def _add(self, line: RecordLine) -> None:
        found = decoded(line.text, f"{self._shown}, line {line.number}")
        key = question_key(found.question)
        self._places[key] = _Place(found.question, line.number, line.start, len(line.text))
        if found.settings not in self.settings:
            self.settings.append(found.settings)


class RecordingWriter:
    """Adds to a recording; a context manager that keeps other writers out.

    Attributes:
        index: What the file held when it was opened.
    """

    def __init__(self, path: str | Path, settings: SearchSettings) -> None:
        """Open or create the file; half a line that a kill left at its end is cut off.

        Raises:
            InputError: The file cannot be written, another command writes to it, it is not a sound
                recording, or was recorded with other settings.
        """
        self._file = RecordFile(
            Path(path), is_half=_is_half, kept="the questions recorded so far", sync_each=True
        )
        try:
            self.index = RecordingIndex(self._file.lines)
            self._refuse_other_settings(settings)
            self._file.resume()
        except BaseException:
            self._file.close()
            raise

    def _refuse_other_settings(self, settings: SearchSettings) -> None:
        for other in self.index.settings:
            if other != settings:
                raise InputError(
                    f"{self.index.path.as_posix()} was recorded with other settings:"
                    f" {_change(other, settings)}; record to another file"
                )

    def append(self, recording: Recording) -> None:
        """Add a line; it is on the disk when this returns.

        Raises:
            ConfigurationError: It cannot be written; what was written before is kept.
        """
        self._file.append(encoded(recording))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._file.close()


def _is_half(line: RecordLine) -> bool:
    """Whether a last line without its end is the beginning of one of ours.

    A whole line that was only stripped of its end is not, and neither is other text.
    """
    return _BEGINNING.startswith(line.text[: len(_BEGINNING)]) and no_json(line)


def _change(before: SearchSettings, now: SearchSettings) -> str:
    """Difference between two settings, in words."""
    there: dict[str, Any] = {"search": before.search, **before.parameters}
    here: dict[str, Any] = {"search": now.search, **now.parameters}
    return ", ".join(
        f"{name} {there.get(name)!r} there and {here.get(name)!r} now"
        for name in {**there, **here}
        if there.get(name) != here.get(name)
    )
