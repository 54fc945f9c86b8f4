"""A recording on disk: reading it, and appending to it."""

from pathlib import Path
from typing import Any, Self

from conflictscore.errors import InputError
from conflictscore.retrieval.recording.format import Recording, SearchSettings, decoded, encoded
from conflictscore.retrieval.recording.questions import question_key
from conflictscore.storage.record_file import RecordFile, RecordLine, RecordLines, no_json

__all__ = ["RecordingIndex", "RecordingWriter"]

_BEGINNING = b'{"format"'
"""How every line begins that the writer writes."""


class RecordingIndex:
    """The questions of a recording and what was found for them.

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
        self._recordings: dict[str, Recording] = {}
        self.settings: list[SearchSettings] = []
        shown = self.path.as_posix()
        try:
            for line in lines:
                if line.text.strip():
                    found = decoded(line.text, f"{shown}, line {line.number}")
                    self._recordings[question_key(found.question)] = found
                    if found.settings not in self.settings:
                        self.settings.append(found.settings)
        except FileNotFoundError as error:
            raise InputError(f"{shown}: cannot be read ({error.strerror})") from None
        self.half = lines.half

    @classmethod
    def of(cls, path: str | Path) -> Self:
        """Read a file; see the class."""
        return cls(RecordLines(Path(path), _is_half))

    @property
    def questions(self) -> tuple[str, ...]:
        """The questions, as they were asked, each once."""
        return tuple(recording.question for recording in self._recordings.values())

    def __contains__(self, question: str) -> bool:
        return question_key(question) in self._recordings

    def get(self, question: str) -> Recording | None:
        """Recording of a question; None if it was not recorded."""
        return self._recordings.get(question_key(question))


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
            _refuse_other_settings(self.index, settings)
            self._file.resume()
        except BaseException:
            self._file.close()
            raise

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


def _refuse_other_settings(index: RecordingIndex, settings: SearchSettings) -> None:
    here: dict[str, Any] = {"search": settings.search, **settings.parameters}
    for other in index.settings:
        there: dict[str, Any] = {"search": other.search, **other.parameters}
        change = ", ".join(
            f"{name} {there.get(name)!r} there and {here.get(name)!r} now"
            for name in {**there, **here}
            if there.get(name) != here.get(name)
        )
        if change:
            raise InputError(
                f"{index.path.as_posix()} was recorded with other settings: {change}; record to"
                " another file"
            )
