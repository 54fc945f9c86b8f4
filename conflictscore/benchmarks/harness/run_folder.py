"""The files of a run: how a folder becomes a run, and what keeps another command from it.

```
.conflictscore.lock    held by the command that writes
questions.jsonl        the questions, in order
manifest.json          what the run was started with
records.jsonl          one line a step, only ever added to
```

They are made in this order, and the manifest is whole or not there. So a death at any instant
leaves a folder which the same command takes up again.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import IO

from pydantic import ValidationError

from conflictscore.benchmarks.harness.manifest import Manifest, differences, read_manifest
from conflictscore.benchmarks.harness.records import Question
from conflictscore.benchmarks.harness.validation import first_fault
from conflictscore.benchmarks.json_lines import read_json_lines
from conflictscore.errors import InputError
from conflictscore.storage.locking import LOCK_FILE, lock_folder
from conflictscore.storage.manifests import write_whole

__all__ = ["MANIFEST", "RECORDS", "begin", "claim", "read_questions", "refuse_another_run"]

MANIFEST = "manifest.json"
RECORDS = "records.jsonl"
_QUESTIONS = "questions.jsonl"
_BEGUN = {LOCK_FILE, _QUESTIONS, f"{_QUESTIONS}.part", f"{MANIFEST}.part"}
"""What a death leaves of a run that has no manifest yet."""
_SHOWN = 8
"""The most differences, or files, that an error shows."""


def claim(folder: Path) -> IO[bytes]:
    """Lock a folder that holds a run, or in which one can be begun; it is made where it is not.

    Returns:
        The lock file; the folder is locked until it is closed.

    Raises:
        InputError: The folder holds something else, and is left as it is; or another command
            has locked it.
        OSError: It cannot be written.
    """
    _refuse_other_files(folder)
    return lock_folder(folder, otherwise="folder")


def begin(folder: Path, manifest: Manifest, questions: Sequence[Question]) -> None:
    """Make the run, unless it was begun before.

    Raises:
        InputError: Two questions have the same id.
        OSError: The folder cannot be written.
    """
    if (folder / MANIFEST).exists():
        return
    counts = Counter(question.id for question in questions)
    if equal := [name for name, count in counts.items() if count > 1]:
        raise InputError(
            f"{counts[equal[0]]} questions have the id {equal[0]!r}; each needs its own"
        )
    write_whole(folder / _QUESTIONS, "".join(f"{json.dumps(q.to_json())}\n" for q in questions))
    write_whole(folder / MANIFEST, json.dumps(manifest.to_json(), indent=2) + "\n")


def read_questions(folder: Path) -> tuple[Question, ...]:
    """The questions of the run.

    Raises:
        InputError: Their file cannot be read, or is damaged; names the row.
    """
    questions = []
    for where, fields in read_json_lines(folder / _QUESTIONS):
        try:
            questions.append(Question.model_validate(fields))
        except ValidationError as error:
            raise InputError(
                f"{where}: damaged ({first_fault(error)}); put back a copy of the file, or begin"
                " the run anew in another folder"
            ) from None
    return tuple(questions)


def refuse_another_run(
    folder: Path,
    begun: tuple[Manifest, Sequence[Question]],
    now: tuple[Manifest, Sequence[Question]],
) -> None:
    """Raise where a run was started with something else than what would resume it.

    Raises:
        InputError: Benchmark, configuration, hashes or questions differ; shows how.
    """
    (old, held), (new, asked) = begun, now
    if old.benchmark != new.benchmark:
        raise InputError(
            f"{folder}: is a run of {old.benchmark}, not of {new.benchmark}; give another folder"
        )
    if changes := differences(old, new):
        raise InputError(
            f"{folder}: the run was started with other settings: {_listed(changes, '; ')};"
            " resume it with those, or give another folder"
        )
    _refuse_other_questions(folder / _QUESTIONS, held, asked)


def _refuse_other_questions(
    path: Path, held: Iterable[Question], asked: Iterable[Question]
) -> None:
    for row, (there, now) in enumerate(zip_longest(held, asked), 1):
        if there is None or now is None or there.to_json() != now.to_json():
            sides = (f"id {one.id!r}" if one else "none" for one in (there, now))
            raise InputError(
                f"{path}, row {row}: not the question that is to be asked"
                f" ({' there and '.join(sides)} now); resume the run with the questions that it"
                " was started with, or give another folder"
            )


def _refuse_other_files(folder: Path) -> None:
    try:
        names = {path.name for path in folder.iterdir()}
    except FileNotFoundError:
        return
    if MANIFEST in names:
        read_manifest(folder / MANIFEST)  # that of another program is refused
    elif others := names - _BEGUN if LOCK_FILE in names else names:
        raise InputError(
            f"{folder}: holds other files ({_listed(sorted(others), ', ')}) and no {MANIFEST}, so"
            " it is not a run; give a new or an empty folder"
        )


def _listed(items: Sequence[str], between: str) -> str:
    more = [f"and {len(items) - _SHOWN} more"] if len(items) > _SHOWN else []
    return between.join([*items[:_SHOWN], *more])
