"""A run on disk: started or resumed by one command at a time, read by any."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

from conflictscore.benchmarks.harness.manifest import Manifest, changed_versions, read_manifest
from conflictscore.benchmarks.harness.records import Question, StepRecord
from conflictscore.benchmarks.harness.run_folder import (
    MANIFEST,
    RECORDS,
    begin,
    claim,
    read_questions,
    refuse_another_run,
)
from conflictscore.benchmarks.harness.validation import decoded
from conflictscore.errors import InputError
from conflictscore.storage.record_file import RecordFile, RecordLines, json_line, no_json

__all__ = ["RunStore"]


class RunStore:
    """A run, with what was recorded of it; a context manager, to be used from one thread.

    Attributes:
        folder: Where it is.
        manifest: What it was started with.
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
        file: RecordFile | None = None,
    ) -> None:
        self.folder, self.manifest, self.questions, self.notes = folder, manifest, questions, notes
        self._records: list[StepRecord] = []
        self._done: dict[tuple[str, str, str], StepRecord] = {}
        self._of: dict[str, dict[tuple[str, str], StepRecord]] = {q.id: {} for q in questions}
        self._file, self._open = file, ExitStack()
        for record in records:
            self._keep(record)

    @classmethod
    def open(
        cls, folder: str | Path, manifest: Manifest, questions: Sequence[Question]
    ) -> "RunStore":
        """Start a run, or resume one that was started with the same; other writers are kept out.

        Half a line at the end of its records is cut off, with a note.

        Args:
            folder: Where the run is or will be; it is made where there is none.
            manifest: What the run is made with now.
            questions: What it asks, each with an id of its own.

        Raises:
            InputError: The folder cannot be written, is used by another command, holds other
                files, a damaged run, one of another format or one that was started with something
                else; or two questions have the same id.
        """
        folder = Path(folder)
        with ExitStack() as opened:
            try:
                opened.enter_context(claim(folder))
                begin(folder, manifest, questions)
            except OSError as error:
                raise InputError(
                    f"{folder}: no run can be written there ({error.strerror}); give another folder"
                ) from None
            begun, held = read_manifest(folder / MANIFEST), read_questions(folder)
            refuse_another_run(folder, (begun, held), (manifest, questions))
            path = folder / RECORDS
            file = RecordFile(path, is_half=no_json, kept="what was recorded so far")
            opened.enter_context(file)
            records = list(_records(file.lines, held))
            notes = []
            if half := file.resume():
                notes.append(
                    f"{path}: half a line at the end, as a kill leaves it, was cut off"
                    f" ({half} bytes); its step is taken again"
                )
            if changes := changed_versions(begun, manifest):
                notes.append(f"packages are not those of the run's beginning: {'; '.join(changes)}")
            store = cls(folder, begun, held, records, tuple(notes), file)
            store._open = opened.pop_all()
            return store

    @classmethod
    def read(cls, folder: str | Path) -> "RunStore":
        """Read a run, also one that is being written, and change nothing in its folder.

        Half a line at the end of its records is left out, with a note.

        Raises:
            InputError: There is no run in the folder, or it is damaged or of another format.
        """
        folder = Path(folder)
        manifest, questions = read_manifest(folder / MANIFEST), read_questions(folder)
        lines = RecordLines(folder / RECORDS, is_half=no_json)
        try:
            records = list(_records(lines, questions))
        except FileNotFoundError:
            records = []
        note = (
            f"{lines.path}: half a line at the end was left out; the run was killed there, or is at"
            " work"
        )
        return cls(folder, manifest, questions, records, (note,) if lines.half else ())

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
        if self._file is None:
            raise ValueError("the run was opened to be read")
        line = json_line(record.to_json())
        self._file.append(line)
        kept = StepRecord.model_validate(json.loads(line))
        self._keep(kept)
        return kept

    def close(self) -> None:
        """Force what was added onto the disk, and let other writers in.

        Raises:
            ConfigurationError: The disk does not take it.
        """
        self._open.close()

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


def _records(lines: RecordLines, questions: Sequence[Question]) -> Iterator[StepRecord]:
    ids = {question.id for question in questions}
    for line in lines:
        where = f"{lines.path}, row {line.number}"
        advice = "delete this row, and the same command takes its step again"
        record = decoded(line.text, StepRecord, where, advice)
        if record.question not in ids:
            raise InputError(
                f"{where}: the question {record.question!r} is not in questions.jsonl; {advice}"
            )
        yield record
