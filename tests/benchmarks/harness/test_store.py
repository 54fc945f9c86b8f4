"""A run's folder is started, resumed, refused, and read."""

import json
from pathlib import Path
from typing import Any

import pytest

from conflictscore.benchmarks.harness.manifest import Manifest
from conflictscore.benchmarks.harness.methods.registry import GRADE, LOOP
from conflictscore.benchmarks.harness.records import StepFailure, StepRecord
from conflictscore.benchmarks.harness.store import RunStore
from conflictscore.errors import InputError
from tests.benchmarks.harness.run_folders import (
    QUESTIONS,
    begin,
    contents,
    manifest,
    opened,
    record,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "first"


def test_a_run_is_gone_on_with_and_read_as_it_was_left(folder: Path) -> None:
    failed = StepRecord(question="q0", step=LOOP, error="the provider failed")
    grade = record("q0", GRADE, "a1", verdicts={})
    with opened(folder) as store:
        store.append(failed)
        store.append(grade)
    with opened(folder) as store:
        assert store.done == {("q0", LOOP, ""): failed, ("q0", GRADE, "a1"): grade}
        store.append(record("q0", text="in 1857"))
        store.append(record("q2", text="in 1859"))
        left = store

    read = RunStore.read(folder)

    assert read.records() == left.records()
    assert [line.error for line in read.records()] == ["the provider failed", None, None, None]
    assert read.done == left.done
    assert read.done["q0", LOOP, ""] == record("q0", text="in 1857")
    assert read.done["q0", GRADE, "a1"] == grade
    assert (read.folder, read.manifest, read.questions) == (folder, manifest(), QUESTIONS)
    assert read.notes == left.notes == ()


def test_a_run_of_format_1_has_no_kinds_of_failure_and_its_stopped_steps_are_taken_again(
    folder: Path,
) -> None:
    begin(folder)
    lines = [
        {"question": "q0", "step": LOOP, "error": "the provider failed"},
        {"question": "q1", "step": LOOP, "error": "the run was stopped during this step"},
    ]
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    (folder / "records.jsonl").write_text(text)
    begun = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**begun, "format": 1}))

    read = RunStore.read(folder)

    assert read.manifest.format == 1
    assert [line.failure for line in read.records()] == [StepFailure.FAILED, StepFailure.STOPPED]
    assert set(read.done) == {("q0", LOOP, "")}


def test_questions_need_an_id_of_their_own(folder: Path) -> None:
    with pytest.raises(InputError, match="2 questions have the id 'q1'; ids must be unique"):
        begin(folder, manifest(), [*QUESTIONS, QUESTIONS[1]])
    with opened(folder) as store:
        assert store.questions == QUESTIONS


def test_a_run_is_read_while_it_is_written_and_reading_changes_nothing(folder: Path) -> None:
    with opened(folder) as store:
        store.append(record("q0"))
        with (folder / "records.jsonl").open("ab") as file:
            file.write(b'{"question": "q1", "st')
        before = contents(folder)

        read = RunStore.read(folder)

        assert read.records() == (record("q0"),)
        assert [note.partition(": ")[2] for note in read.notes] == [
            "the incomplete last line was left out; the run was killed or is still running"
        ]
        assert contents(folder) == before
        with pytest.raises(ValueError, match=r"^the run was opened only for reading$"):
            read.append(record("q1"))


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (b'{"question": "q1", "st\n', r"damaged \(not JSON\)"),
        (b"\0\0\0\0\n", r"damaged \(not JSON\)"),
        (b"\n", r"damaged \(not JSON\)"),
        (b'{"question": "q1", "step": "dance", "value": {}}\n', r"damaged \(field step: Input"),
        (
            b'{"question": "q1", "step": "loop"}\n',
            r"damaged \(a step needs either a value, or an error",
        ),
        (b'{"question": "q9", "step": "loop", "value": {}}\n', "the question 'q9' is not in q"),
    ],
)
def test_damage_is_named_by_its_row_and_goes_away_with_it(
    folder: Path, damage: bytes, words: str
) -> None:
    with opened(folder) as store:
        store.append(record("q0"))
        store.append(record("q2"))
    path = folder / "records.jsonl"
    one, other = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(one + damage + other)

    for reading in (begin, RunStore.read):
        advice = "; delete this row, and the same command repeats its step$"
        with pytest.raises(InputError, match=rf"records\.jsonl, row 2: {words}.*{advice}"):
            reading(folder)
    assert path.read_bytes() == one + damage + other
    path.write_bytes(one + other)
    with opened(folder) as store:
        assert store.records() == (record("q0"), record("q2"))


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (
            manifest(seed=8),
            r"other settings, by conflictscore 0\.1\.0: configuration\.seed was 7 and is now 8; r",
        ),
        (
            manifest(options={str(number): number for number in range(10)}),
            r"configuration\.options\.7 was missing and is now 7; and 2 more; resume it with",
        ),
        (manifest("beacons"), "is a run of lighthouses, not of beacons; give another folder"),
    ],
)
def test_a_run_is_not_gone_on_with_in_another_way(folder: Path, now: Manifest, words: str) -> None:
    with opened(folder) as store:
        store.append(record("q0"))
    before = contents(folder)

    with pytest.raises(InputError, match=words) as refused:
        begin(folder, now)

    assert str(refused.value).startswith(f"{folder}: ")
    assert contents(folder) == before
    begin(folder)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (QUESTIONS[:2], "row 3: not the expected question"),
        (QUESTIONS[::-1], "row 1: not the expected question"),
        (
            (*QUESTIONS[:2], QUESTIONS[2].model_copy(update={"category": "x"})),
            "row 3: not the expected",
        ),
    ],
)
def test_other_questions_are_refused(folder: Path, asked: Any, words: str) -> None:
    begin(folder)

    with pytest.raises(InputError, match=rf"questions\.jsonl, {words}"):
        begin(folder, manifest(), asked)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (None, r"questions\.jsonl: cannot be read"),
        ('{"id": "q0"', r"questions\.jsonl, row 1: damaged \(not JSON\)"),
        ('{"id": "q0"}', r"questions\.jsonl, row 1: damaged \(field question: Field required\)"),
    ],
)
def test_a_damaged_questions_file_is_named(folder: Path, damage: str | None, words: str) -> None:
    begin(folder)
    path = folder / "questions.jsonl"
    if damage is None:
        path.unlink()
    else:
        path.write_text(damage)

    for reading in (begin, RunStore.read):
        with pytest.raises(InputError, match=words):
            reading(folder)


@pytest.mark.parametrize(
    "names",
    [
        ["notes.txt"],
        ["questions.jsonl"],
        ["manifest.json"],
        [".conflictscore.lock", "records.jsonl"],
    ],
)
def test_a_folder_with_other_files_is_left_as_it_is(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).write_text('{"name": "mine"}\n')
    before = contents(tmp_path)

    with pytest.raises(
        InputError, match=r"by another program|holds other files \(\S+\) and no man"
    ):
        begin(tmp_path)

    assert contents(tmp_path) == before


def test_where_there_is_no_run_none_is_read(folder: Path) -> None:
    with pytest.raises(InputError, match=r"first: contains no run \(no manifest\.json\)"):
        RunStore.read(folder)
    assert not folder.exists()


def test_a_refused_command_does_not_change_the_comparisons_of_a_run(tmp_path: Path) -> None:
    begin(tmp_path / "run")
    compared = manifest().model_copy(update={"compare": (("guarded-rag", "rag"),)})
    before = contents(tmp_path / "run")
    with pytest.raises(InputError, match="not the expected question"):
        begin(tmp_path / "run", compared, QUESTIONS[:2])
    assert contents(tmp_path / "run") == before
    begin(tmp_path / "run", compared)
    assert RunStore.read(tmp_path / "run").manifest.compare == compared.compare
