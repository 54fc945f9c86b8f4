"""A run that is killed, by a signal that cannot be caught, at any moment of its work."""

import os
import random
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.scoring_files.files import answer_row, score, write_lines
from tests.scoring_files.instant_judge import instant_context

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="SIGKILL is needed"),
    pytest.mark.timeout(300),  # every killed process is restarted
]

_KILLS = 5
_ROWS = 90


def _score(folder: Path, out: str) -> None:
    context = instant_context(folder / "cache.sqlite", folder / "judged")
    score(folder / "in.jsonl", folder / out, context=context)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def test_killed_time_and_again_a_run_comes_to_the_same_and_judges_nothing_twice(
    tmp_path: Path, spawning: Any
) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
        write_lines(folder / "in.jsonl", [answer_row(number, 1) for number in range(_ROWS)])
    _score(whole, "out.jsonl")
    pair = _size(whole / "judged") / (2 * _ROWS)
    draw, dead = random.Random(3), []

    for _ in range(_KILLS):
        process = spawning.Process(target=_score, args=(killed, "out.jsonl"), daemon=True)
        process.start()
        goal = _size(killed / "judged") + pair * draw.uniform(1, 25)
        while process.is_alive() and _size(killed / "judged") < goal:
            time.sleep(0.001)
        time.sleep(draw.uniform(0, 0.005))  # any moment while storing a verdict and writing a row
        process.kill()
        process.join(60)
        dead += [process.pid] * (process.exitcode == -signal.SIGKILL)
    _score(killed, "out.jsonl")

    assert (killed / "out.jsonl").read_bytes() == (whole / "out.jsonl").read_bytes()
    assert len(dead) == _KILLS
    judged = [line.split() for line in (killed / "judged").read_text().splitlines()]
    # a kill may come before a verdict is stored: only a process's last verdict is lost
    last = dict(judged)
    again = [text for text, count in Counter(text for _, text in judged).items() if count > 1]
    assert set(again) <= {last[str(pid)] for pid in dead if str(pid) in last}
    assert len({text for _, text in judged}) == 2 * _ROWS
