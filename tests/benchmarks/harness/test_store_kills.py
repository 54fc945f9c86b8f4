"""A run that is killed, by the signal that nothing can catch, while it is made and written."""

import multiprocessing
import os
import random
import signal
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from conflictscore.benchmarks.harness.manifest import Manifest
from conflictscore.benchmarks.harness.records import Question
from conflictscore.benchmarks.harness.store import RunStore
from tests.benchmarks.harness.run_folders import QUESTIONS, contents, manifest, opened, record

pytestmark = pytest.mark.skipif(os.name != "posix", reason="SIGKILL is needed")

_KILLS = 8
_MANY = tuple(Question(id=f"q{number}", question="Where?") for number in range(100))
_TEXT = "x" * 500_000
"""Long enough that a line is written in many pages, and a kill falls between them."""


@pytest.fixture(scope="module")
def spawning() -> Any:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


def _append(folder: Path, sender: Connection) -> None:
    with RunStore.open(folder, manifest(), _MANY) as store:
        sender.send(len(store.notes))
        begun = {name for name, _, _ in store.done}
        for question in _MANY:
            if question.id not in begun:
                store.append(record(question.id, text=_TEXT))
                sender.send(question.id)


def test_kills_while_records_are_added_lose_none_and_add_none_twice(
    tmp_path: Path, spawning: Any
) -> None:
    rng = random.Random(7)
    added: list[str] = []
    for _ in range(_KILLS):
        receiver, sender = spawning.Pipe(duplex=False)
        process = spawning.Process(target=_append, args=(tmp_path, sender), daemon=True)
        process.start()
        sender.close()
        receiver.recv()
        added += [receiver.recv() for _ in range(rng.randint(0, 2))]
        time.sleep(rng.uniform(0, 0.004))  # any instant of encoding and writing
        process.kill()
        process.join(60)
        assert process.exitcode == -signal.SIGKILL
        try:
            while True:
                added.append(receiver.recv())
        except EOFError:
            pass
        found = [line.question for line in RunStore.read(tmp_path).records()]
        # a record may be there whose writer died before it could say so
        assert found[: len(added)] == added
        assert len(found) - len(added) <= 1
        added = found

    with RunStore.open(tmp_path, manifest(), _MANY) as store:
        assert (
            [line.question for line in store.records()]
            == added
            == [question.id for question in _MANY[: len(added)]]
        )
        assert all(line.value == {"text": _TEXT} for line in store.records())
    assert added, "every kill came before the first record"


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
    opened(folder).close()


def test_a_kill_at_any_step_of_its_making_leaves_a_run_that_is_taken_up(
    tmp_path: Path, spawning: Any
) -> None:
    left_behind = set()
    for steps in range(100):
        folder = tmp_path / str(steps)
        process = spawning.Process(target=_begin_and_die, args=(folder, steps), daemon=True)
        process.start()
        process.join(60)
        left_behind.add(frozenset(contents(folder)) if folder.exists() else None)
        with opened(folder) as store:
            assert store.questions == QUESTIONS
            store.append(record("q0"))
        assert RunStore.read(folder).records() == (record("q0"),)
        if process.exitcode == 0:
            break
        assert process.exitcode == -signal.SIGKILL

    lock, questions, part = ".conflictscore.lock", "questions.jsonl", "manifest.json.part"
    assert left_behind >= {
        None,
        frozenset(),
        frozenset({lock}),
        frozenset({lock, questions}),
        frozenset({lock, questions, part}),
        frozenset({lock, questions, "manifest.json"}),
        frozenset({lock, questions, "manifest.json", "records.jsonl"}),
    }


def test_a_run_that_was_never_made_whole_may_be_begun_with_something_else(tmp_path: Path) -> None:
    opened(tmp_path).close()
    for name in ("manifest.json", "records.jsonl"):
        (tmp_path / name).unlink()
    now: Manifest = manifest(seed=8)

    with RunStore.open(tmp_path, now, QUESTIONS[:1]) as store:
        assert (store.manifest, store.questions) == (now, QUESTIONS[:1])
