"""Stores a run in a folder, which one command at a time can write, and any number can read.

```
.conflictscore.lock    the lock of the command that writes
questions.jsonl        the questions, in order
templates.json         every prompt template that may be used, by name
manifest.json          the settings with which the run was started
records.jsonl          one line per step; lines are only ever appended
transcripts/           every call with its prompt and reply; see harness.transcripts
figures.json           the figures, written at the end of each session
calls.sqlite           replies of non-deterministic models, so that no call is paid for twice
```

The first four files are created in this order, and the manifest is either complete or missing. So
even if a run is killed at any moment, the same command can resume it.

Limits without a stated reason were chosen by hand.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import zip_longest
from pathlib import Path
from types import MappingProxyType

from conflictscore.benchmarks.harness.manifest import Manifest, differences, read_manifest
from conflictscore.benchmarks.harness.methods.registry import METHODS
from conflictscore.benchmarks.harness.records import Question, StepKey, StepRecord
from conflictscore.benchmarks.harness.stand_alone import TEMPLATES, notes_on_folder
from conflictscore.benchmarks.json_lines import decoded
from conflictscore.errors import InputError
from conflictscore.storage.locks import LOCK_FILE, lock_folder
from conflictscore.storage.private_files import write_whole
from conflictscore.storage.record_file import RecordFile, RecordLines, json_line, no_json

_MANIFEST = "manifest.json"
_RECORDS = "records.jsonl"
_QUESTIONS = "questions.jsonl"
_SHOWN = 8
"""The maximum number of differences, or files, that an error message shows.

Eight fit on a screen; the message says how many more there are.
"""


class RunStore:
    """A run with its records; an instance is used from one thread only.

    Attributes:
        folder: The run's folder.
        manifest: The settings with which the run was started.
        questions: The run's questions, in order.
        notes: Notes for the user, for example on an incomplete last line.
    """

    def __init__(
        self,
        folder: Path,
        manifest: Manifest,
        questions: tuple[Question, ...],
        lines: RecordLines,
        file: RecordFile | None = None,
    ) -> None:
        """Read the records in ``lines``; without a ``file``, the run cannot be written."""
        self.folder, self.manifest, self.questions = folder, manifest, questions
        self.notes: tuple[str, ...] = ()
        self._records: list[StepRecord] = []
        self._done: dict[StepKey, StepRecord] = {}
        self._ids = {question.id for question in questions}
        self._file = file
        advice = "delete this row, and the same command repeats its step"
        with suppress(FileNotFoundError):  # there are no records yet
            for line in lines:
                where = f"{lines.path}, row {line.number}"
                record = decoded(line.text, StepRecord, where, advice)
                if record.question not in self._ids:
                    unknown = f"the question {record.question!r} is not in {_QUESTIONS}"
                    raise InputError(f"{where}: {unknown}; {advice}")
                self._keep(record)

    @classmethod
    @contextmanager
    def open(
        cls,
        folder: str | Path,
        manifest: Manifest,
        questions: Sequence[Question],
        templates: Mapping[str, str] | None = None,
    ) -> "Iterator[RunStore]":
        """Start a run, or resume a run that has the same settings; lock out other writers.

        ``templates`` are written into the folder, for people who read the run elsewhere. An
        incomplete last line of the records is cut off, and ``notes`` says so.
        """
        folder = Path(folder)
        with ExitStack() as stack:
            try:
                _refuse_other_files(folder)
                stack.enter_context(lock_folder(folder, otherwise="folder"))
                _begin(folder, manifest, questions, templates)
            except OSError as error:
                raise InputError(
                    f"{folder}: no run can be written there ({error.strerror}); give another folder"
                ) from None
            stored_manifest, stored_questions = _read_begun(folder)
            _refuse_another_run(folder, stored_manifest, manifest)
            for row, (there, now) in enumerate(zip_longest(stored_questions, questions), 1):
                if there is None or now is None or there.to_json() != now.to_json():
                    raise InputError(
                        f"{folder / _QUESTIONS}, row {row}: not the expected question; resume"
                        " the run with the questions that it was started with, or give"
                        " another folder"
                    )
            # the manifest is changed only now, since a refused command must not change the run
            stored_manifest = _with_comparison(folder, stored_manifest, manifest)
            path = folder / _RECORDS
            file = RecordFile(path, is_half=no_json, resumed_from="what was recorded so far")
            stack.enter_context(file)
            store = cls(folder, stored_manifest, stored_questions, file.lines, file)
            if half := file.resume():
                store.notes = (
                    f"{path}: the last line was incomplete, as after a kill, and was cut off"
                    f" ({half} bytes); its step is repeated",
                )
            yield store

    @classmethod
    def read(cls, folder: str | Path) -> "RunStore":
        """Read a run, even while it is being written, without changing its folder.

        An incomplete last line of the records is ignored, and ``notes`` says so.
        """
        folder = Path(folder)
        lines = RecordLines(folder / _RECORDS, is_half=no_json)
        store = cls(folder, *_read_begun(folder), lines)
        if lines.half:
            store.notes = (
                f"{lines.path}: the incomplete last line was left out; the run was killed or is"
                " still running",
            )
        return store

    @property
    def done(self) -> Mapping[StepKey, StepRecord]:
        """The last record of each step, by question id, step and key.

        Some of these records are failures.
        """
        return MappingProxyType(self._done)

    def lacking(self) -> tuple[str, ...]:
        """Return a note on each missing or damaged file that readers of a copied folder need."""
        return tuple(notes_on_folder(self.folder, self.manifest))

    def records(self) -> tuple[StepRecord, ...]:
        """Return all records in order, including replaced ones, since these were paid for too."""
        return tuple(self._records)

    def append(self, record: StepRecord) -> StepRecord:
        """Append a record; once this returns, the record survives the death of the process.

        A power cut can lose the last few seconds of records; their steps are then repeated.

        Returns:
            The record as it will be read from the file. Use this record instead of the argument:
            then figures do not depend on whether a run was resumed.
        """
        if record.question not in self._ids:
            raise ValueError(f"the run has no question {record.question!r}")
        if self._file is None:
            raise ValueError("the run was opened only for reading")
        line = json_line(record.to_json())
        self._file.append(line)
        stored_record = StepRecord.model_validate(json.loads(line))
        self._keep(stored_record)
        return stored_record

    def _keep(self, record: StepRecord) -> None:
        self._records.append(record)
        if not record.stopped:
            self._done[record.question, record.step, record.key] = record


def _begin(
    folder: Path,
    manifest: Manifest,
    questions: Sequence[Question],
    templates: Mapping[str, str] | None,
) -> None:
    """Write the files of a new run; the manifest comes last, as a sign that all are complete."""
    if (folder / _MANIFEST).exists():
        return
    name, count = Counter(question.id for question in questions).most_common(1)[0]
    if count > 1:
        raise InputError(f"{count} questions have the id {name!r}; ids must be unique")
    lines = "".join(f"{json.dumps(question.to_json())}\n" for question in questions)
    write_whole(folder / _QUESTIONS, lines.encode())
    if templates is not None:
        text = json.dumps(templates, indent=1, ensure_ascii=False)
        write_whole(folder / TEMPLATES, f"{text}\n".encode())
    _write_manifest(folder, manifest)


def _write_manifest(folder: Path, manifest: Manifest) -> None:
    write_whole(folder / _MANIFEST, (json.dumps(manifest.to_json(), indent=2) + "\n").encode())


def _with_comparison(folder: Path, stored_manifest: Manifest, new_manifest: Manifest) -> Manifest:
    """Return the manifest with this session's comparisons, and store it if it has changed."""
    if stored_manifest.compare == new_manifest.compare:
        return stored_manifest
    updated_manifest = stored_manifest.model_copy(update={"compare": new_manifest.compare})
    _write_manifest(folder, updated_manifest)
    return updated_manifest


def _read_begun(folder: Path) -> tuple[Manifest, tuple[Question, ...]]:
    """Read the manifest and questions of a run; raise an error if any of its methods is unknown."""
    manifest = read_manifest(folder / _MANIFEST)
    for name in manifest.configuration.get("methods", ()):
        if name not in METHODS:
            raise InputError(
                f"{folder}: the run has the method {name!r}, which is not installed here; nothing"
                " is damaged; read the run with the version that wrote it"
                f" ({manifest.versions.get('conflictscore', '?')}), or install the package with the"
                f" method (entry point {name} of the group conflictscore.methods)"
            )
    path = folder / _QUESTIONS
    advice = "restore a copy of the file, or start the run again in another folder"
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); {advice}") from None
    rows = (decoded(line, Question, f"{path}, row {n}", advice) for n, line in enumerate(lines, 1))
    return manifest, tuple(rows)


def _refuse_another_run(folder: Path, old: Manifest, new: Manifest) -> None:
    if old.benchmark != new.benchmark:
        raise InputError(
            f"{folder}: is a run of {old.benchmark}, not of {new.benchmark}; give another folder"
        )
    if changes := differences(old, new):
        raise InputError(
            f"{folder}: the run was started with other settings, by conflictscore"
            f" {old.versions.get('conflictscore', '?')}: {_listed(changes, '; ')};"
            " resume it with the original settings, or give another folder"
        )


def _refuse_other_files(folder: Path) -> None:
    """Raise an error if a folder has files but is not a run, so no user's file is overwritten."""
    try:
        names = {path.name for path in folder.iterdir()}
    except FileNotFoundError:
        return
    if _MANIFEST in names:
        # read_manifest raises an error if the file belongs to another program
        read_manifest(folder / _MANIFEST)
        return
    # A run that was killed before its manifest was written leaves only these files. They belong to
    # a run only if the lock is among them, since it is created first.
    remains = {n for n in names if n in (LOCK_FILE, _QUESTIONS, TEMPLATES) or n.endswith(".part")}
    if others := names - remains if LOCK_FILE in names else names:
        raise InputError(
            f"{folder}: holds other files ({_listed(sorted(others), ', ')}) and no {_MANIFEST}, so"
            " it is not a run; give a new or an empty folder"
        )


def _listed(names: Sequence[str], between: str) -> str:
    more = [f"and {len(names) - _SHOWN} more"] if len(names) > _SHOWN else []
    return between.join([*names[:_SHOWN], *more])
