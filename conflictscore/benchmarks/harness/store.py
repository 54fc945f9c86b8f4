"""A run on the disk: begun or gone on with by one command at a time, read by any."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import IO, Self

from conflictscore.benchmarks.harness.manifest import Manifest, changed_versions, read_manifest
from conflictscore.benchmarks.harness.record_lines import (
    FoundRecords,
    RecordWriter,
    encoded,
    read_records,
)
from conflictscore.benchmarks.harness.records import Question, StepRecord
from conflictscore.benchmarks.harness.run_folder import (
    MANIFEST,
    RECORDS,
    begin,
    claim,
    read_questions,
    refuse_another_run,
)
from conflictscore.errors import InputError

__all__ = ["RunStore"]


class RunStore:
    """A run, with what was recorded of it; a context manager, to be used from one thread.

    Attributes:
        folder: Where it is.
        manifest: What it was begun with.
        questions: What it asks, in order.
        notes: What the user should know about how it was found.
    """

    def __init__(
        self,
        folder: Path,
        manifest: Manifest,
        questions: tuple[Question, ...],
        records: Sequence[StepRecord],
        notes: tuple[str, ...],
        writing: "_Writing | None" = None,
    ) -> None:
        self.folder, self.manifest, self.questions, self.notes = folder, manifest, questions, notes
        self._records: list[StepRecord] = []
        self._done: dict[tuple[str, str, str], StepRecord] = {}
        self._of: dict[str, dict[tuple[str, str], StepRecord]] = {q.id: {} for q in questions}
        self._writing = writing
        for record in records:
            self._keep(record)

    @classmethod
    def open(
        cls, folder: str | Path, manifest: Manifest, questions: Sequence[Question]
    ) -> "RunStore":
        """Begin a run, or go on with one that was begun with the same; other writers are kept out.

        Half a line at the end of its records is cut off, with a note.

        Args:
            folder: Where the run is or will be; it is made where there is none.
            manifest: What the run is made with now.
            questions: What it asks, each with an id of its own.

        Raises:
            InputError: The folder cannot be written, is used by another command, holds other
                files, a damaged run, one of another format or one that was begun with something
                else; or two questions have the same id.
        """
        folder = Path(folder)
        try:
            locked = claim(folder)
            try:
                begin(folder, manifest, questions)
                begun, held, found = _read(folder)
                refuse_another_run(folder, (begun, held), (manifest, questions))
                writer = RecordWriter(folder / RECORDS, found)
            except BaseException:
                locked.close()
                raise
        except OSError as error:
            raise InputError(
                f"{folder}: no run can be written there ({error.strerror}); give another folder"
            ) from None
        notes = []
        if found.half:
            notes.append(
                f"{folder / RECORDS}: half a line at the end, as a kill leaves it, was cut off"
                f" ({found.half} bytes); its step is taken again"
            )
        if changes := changed_versions(begun, manifest):
            notes.append(f"packages are not those of the run's beginning: {'; '.join(changes)}")
        return cls(folder, begun, held, found.records, tuple(notes), _Writing(writer, locked))

    @classmethod
    def read(cls, folder: str | Path) -> "RunStore":
        """Read a run, also one that is being written, and change nothing in its folder.

        Half a line at the end of its records is left out, with a note.

        Raises:
            InputError: There is no run in the folder, or it is damaged or of another format.
        """
        folder = Path(folder)
        manifest, questions, found = _read(folder)
        notes = (
            f"{folder / RECORDS}: half a line at the end was left out; the run was killed there, or"
            " is at work",
        )
        return cls(folder, manifest, questions, found.records, notes if found.half else ())

    @property
    def done(self) -> Mapping[tuple[str, str, str], StepRecord]:
        """The last record of each step by question id, step and key; some are failures."""
        return MappingProxyType(self._done)

    def records(self) -> tuple[StepRecord, ...]:
        """All records in order, with those that a later one replaces: they were paid for too."""
        return tuple(self._records)

    def done_of(self, question: str) -> tuple[StepRecord, ...]:
        """The last record of each step of the question with this id.

        Raises:
            KeyError: The run has no such question.
        """
        return tuple(self._of[question].values())

    def append(self, record: StepRecord) -> StepRecord:
        """Add a record; once this returns, the death of the process cannot take it back.

        A power cut can take the last seconds, which are then asked for again.

        Returns:
            The record as a later reader will find it; with it, figures do not depend on whether a
            run was resumed.

        Raises:
            ConfigurationError: It cannot be written, as on a full disk; the file stays sound.
            ValueError: The run has no such question, or was opened to be read.
        """
        if record.question not in self._of:
            raise ValueError(f"the run has no question {record.question!r}")
        if self._writing is None:
            raise ValueError("the run was opened to be read")
        line = encoded(record)
        self._writing.writer.append(line)
        kept = StepRecord.model_validate(json.loads(line))
        self._keep(kept)
        return kept

    def close(self) -> None:
        """Force what was added onto the disk, and let other writers in.

        Raises:
            ConfigurationError: The disk does not take it.
        """
        if self._writing is not None:
            self._writing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _keep(self, record: StepRecord) -> None:
        self._records.append(record)
        self._done[record.question, record.step, record.key] = record
        self._of[record.question][record.step, record.key] = record


class _Writing:
    """The records that are added to, under the lock of the folder."""

    def __init__(self, writer: RecordWriter, locked: IO[bytes]) -> None:
        self.writer, self._locked = writer, locked

    def close(self) -> None:
        try:
            self.writer.close()
        finally:
            self._locked.close()


def _read(folder: Path) -> tuple[Manifest, tuple[Question, ...], FoundRecords]:
    manifest = read_manifest(folder / MANIFEST)
    questions = read_questions(folder)
    found = read_records(folder / RECORDS, {question.id for question in questions})
    return manifest, questions, found
