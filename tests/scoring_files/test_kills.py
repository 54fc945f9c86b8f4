"""A run that is killed, by the signal that nothing can catch, at any instant of its work."""

import multiprocessing
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from conflictscore.scoring_files.engine import Outcome
from conflictscore.scoring_files.journal import Journal, WaitingLines
from measurements.instant_judge import instant_context
from tests.scoring_files.files import answer_row, lines, outcomes, score, write_lines

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="SIGKILL is needed"),
    pytest.mark.timeout(300),  # every process that is killed starts anew
]

_KILLS = 5
_ROWS = 90


@pytest.fixture(scope="module")
def spawning() -> Any:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "pyarrow.parquet", "pandas"])
    return context


def _score(folder: Path, out: str) -> None:
    context = instant_context(folder / "cache.sqlite", folder / "judged")
    score(folder / "in.jsonl", folder / out, context=context)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_killed_time_and_again_a_run_comes_to_the_same_and_judges_nothing_twice(
    tmp_path: Path, spawning: Any, suffix: str
) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
        write_lines(folder / "in.jsonl", [answer_row(number, 1) for number in range(_ROWS)])
    _score(whole, f"out.{suffix}")
    pair = _size(whole / "judged") / (2 * _ROWS)
    draw, dead = random.Random(3), []

    for _ in range(_KILLS):
        process = spawning.Process(target=_score, args=(killed, f"out.{suffix}"), daemon=True)
        process.start()
        goal = _size(killed / "judged") + pair * draw.uniform(1, 25)
        while process.is_alive() and _size(killed / "judged") < goal:
            time.sleep(0.001)
        time.sleep(draw.uniform(0, 0.005))  # any instant of keeping a verdict and writing a row
        process.kill()
        process.join(60)
        dead += [process.pid] * (process.exitcode == -signal.SIGKILL)
    _score(killed, f"out.{suffix}")

    assert (killed / f"out.{suffix}").read_bytes() == (whole / f"out.{suffix}").read_bytes()
    assert len(dead) == _KILLS
    judged = [line.split() for line in (killed / "judged").read_text().splitlines()]
    # a kill may fall between a verdict and its keeping: only the last one of a process is lost
    last = dict(judged)
    again = [text for text, count in Counter(text for _, text in judged).items() if count > 1]
    assert set(again) <= {last[str(pid)] for pid in dead if str(pid) in last}
    assert len({text for _, text in judged}) == 2 * _ROWS


def _outcome(row: int, error: str | None = None) -> Outcome:
    return Outcome(row=row, error=error, report=None, notes=[])


def _opened(folder: Path) -> Journal:
    return Journal(folder / "out.jsonl", folder / "waiting.sqlite")


def test_a_row_that_ended_before_its_turn_is_kept_and_written_when_its_turn_comes(
    tmp_path: Path,
) -> None:
    journal = _opened(tmp_path)
    for row in (3, 2):
        journal.end({"id": row}, _outcome(row))
    assert _size(tmp_path / "out.jsonl") == 0
    del journal  # as a kill would have it: nothing is closed

    journal = _opened(tmp_path)
    assert [journal.has(row) for row in (1, 2, 3, 4)] == [False, True, True, False]
    assert journal.ended == 2
    journal.end({"id": 1}, _outcome(1))
    journal.settle()

    assert [row["id"] for row in lines(tmp_path / "out.jsonl")] == [1, 2, 3]


def test_a_kill_between_a_rows_writing_and_its_leaving_the_waiting_room_doubles_nothing(
    tmp_path: Path,
) -> None:
    journal = _opened(tmp_path)
    for row in (1, 2, 4):
        journal.end({"id": row}, _outcome(row))
    journal.close()
    waiting = WaitingLines(tmp_path / "waiting.sqlite")
    waiting.put(2, b"what was written\n", again=False)
    waiting.close()

    journal = _opened(tmp_path)
    journal.end({"id": 3}, _outcome(3))
    journal.settle()

    assert [row["id"] for row in lines(tmp_path / "out.jsonl")] == [1, 2, 3, 4]


def test_a_kill_while_rows_scored_again_are_put_into_place_loses_none(tmp_path: Path) -> None:
    journal = _opened(tmp_path)
    for row in (1, 2, 3):
        journal.end({"id": row}, _outcome(row, "broken"))
    journal.end({"id": 2}, _outcome(2))
    assert journal.failed == {1, 3}
    (tmp_path / "out.jsonl.part").write_text("half of the new file")
    del journal

    journal = _opened(tmp_path)
    assert journal.failed == {1, 3}
    journal.settle()

    assert [row["error"] for row in outcomes(tmp_path / "out.jsonl")] == ["broken", None, "broken"]
    assert not (tmp_path / "out.jsonl.part").exists()
    assert list(WaitingLines(tmp_path / "waiting.sqlite").lines()) == []


def test_a_row_scored_again_whose_place_a_power_cut_took_is_scored_once_more(
    tmp_path: Path,
) -> None:
    journal = _opened(tmp_path)
    for row in (1, 2):
        journal.end({"id": row}, _outcome(row, "broken"))
    journal.end({"id": 2}, _outcome(2))
    journal.close()
    written = (tmp_path / "out.jsonl").read_bytes()
    (tmp_path / "out.jsonl").write_bytes(written.splitlines(keepends=True)[0])

    journal = _opened(tmp_path)

    assert [journal.has(row) for row in (1, 2)] == [True, False]
    assert journal.failed == {1}
