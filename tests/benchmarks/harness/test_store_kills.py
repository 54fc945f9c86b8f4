"""A run that is killed, by a signal that cannot be caught, while it is created and written."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from conflictscore.benchmarks.harness.store import RunStore
from tests.benchmarks.harness.run_folders import QUESTIONS, begin, contents, opened, record

pytestmark = pytest.mark.skipif(os.name != "posix", reason="SIGKILL is needed")


def _begin_and_die(folder: Path, steps: int) -> None:
    """Begin the run, and die at the file operation with this number."""
    left = steps

    def count(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if event in ("open", "os.mkdir", "os.rename") and str(arguments[0]).startswith(str(folder)):
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    begin(folder)


def test_a_kill_at_any_step_of_its_making_leaves_a_run_that_is_taken_up(
    tmp_path: Path, spawning: Any
) -> None:
    left_behind = set()
    for steps in range(100):
        folder = tmp_path / str(steps)
        process = spawning.Process(target=_begin_and_die, args=(folder, steps), daemon=True)
        process.start()
        process.join(60)
        own = f".{process.pid}.part"
        names = {name.replace(own, ".part") for name in contents(folder)} if folder.exists() else ()
        left_behind.add(frozenset(names) if folder.exists() else None)
        with opened(folder) as store:
            assert store.questions == QUESTIONS
            store.append(record("q0"))
        assert RunStore.read(folder).records() == (record("q0"),)
        if process.exitcode == 0:
            break
        assert process.exitcode == -signal.SIGKILL

    lock, questions, part = ".conflictscore.lock", "questions.jsonl", ".manifest.json.part"
    assert left_behind >= {
        None,
        frozenset(),
        frozenset({lock}),
        frozenset({lock, questions}),
        frozenset({lock, questions, part}),
        frozenset({lock, questions, "manifest.json"}),
        frozenset({lock, questions, "manifest.json", "records.jsonl"}),
    }
