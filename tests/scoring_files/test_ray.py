"""Rows on a local Ray cluster of two workers; it runs beside the tests, as it opens sockets."""

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest

from conflictscore.errors import ConfigurationError, install_hint
from conflictscore.nodes.state import RunContext
from conflictscore.scoring_files.ray_engine import RayEngine, score_batch
from conflictscore.scoring_files.rows import Row
from measurements.instant_judge import instant_context
from tests.scoring_files.files import answer_row, outcomes, score, write_lines

needs_ray = pytest.mark.skipif(
    find_spec("ray") is None, reason="Ray is not installed (extra [ray])"
)


def started(folder: Path, *kinds: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.scoring_files.ray_run", folder, *kinds],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )


def judged(folder: Path) -> list[tuple[int, str]]:
    """Which process judged which pair, in order."""
    log = folder / "judged"
    lines = log.read_text().splitlines() if log.exists() else []
    return [(int(pid), pair) for pid, pair in (line.split() for line in lines)]


@needs_ray
@pytest.mark.timeout(300)
def test_a_worker_that_is_killed_changes_nothing_in_what_comes_out(tmp_path: Path) -> None:
    rows = [*(answer_row(number) for number in range(160)), "[1]"]
    source = write_lines(tmp_path / "in.jsonl", rows)
    here = tmp_path / "here"
    here.mkdir()
    score(source, here / "out.jsonl")

    run = started(tmp_path, "instant")
    while run.poll() is None and len({pid for pid, _ in judged(tmp_path)}) < 2:
        time.sleep(0.01)
    victim = judged(tmp_path)[-1][0]
    os.kill(victim, signal.SIGKILL)
    out, _ = run.communicate(timeout=250)

    assert out.splitlines() == ["instant: 161 scored, 1 failed", "running: False"]
    assert (tmp_path / "instant.jsonl").read_bytes() == (here / "out.jsonl").read_bytes()
    done = judged(tmp_path)
    workers = {pid for pid, _ in done}
    assert run.pid not in workers
    assert len(workers) >= 2
    again = [pair for pair, count in Counter(pair for _, pair in done).items() if count > 1]
    assert set(again) <= {dict(done)[victim]}  # the one that the kill interrupted


@needs_ray
@pytest.mark.timeout(300)
def test_a_row_that_kills_its_worker_fails_alone_and_a_worker_that_cannot_score_ends_the_run(
    tmp_path: Path,
) -> None:
    rows = [answer_row(number) for number in range(12)]
    rows[4]["documents"] = ["This is poison."]
    write_lines(tmp_path / "in.jsonl", rows)

    out, _ = started(tmp_path, "refused", "broken", "deadly").communicate(timeout=250)

    # what Ray tells on a cluster of the caller, between the runs, is no matter of ours
    assert [line for line in out.splitlines() if "(raylet)" not in line] == [
        "refused: on a Ray worker: no such model",
        "broken: a Ray worker cannot score: no module named conflictscore; each machine of the"
        " cluster needs conflictscore of this version, with the same extras",
        "deadly: 12 scored, 1 failed",
        "running: True",
    ]
    errors = [row["error"] for row in outcomes(tmp_path / "deadly.jsonl")]
    assert [error is None for error in errors] == [number != 4 for number in range(12)]
    assert errors[4].startswith("the worker died each time: ")


def test_a_worker_opens_its_models_once_a_run(tmp_path: Path) -> None:
    opened = []

    def opener(name: str) -> RunContext:
        opened.append(name)
        return instant_context(tmp_path / f"{name}.sqlite")

    batch = [Row(number, answer_row(number)) for number in (3, 4, 5)]
    for run in ("a", "a", "b", "a"):
        results = score_batch(run, partial(opener, run), batch, 2)
        assert not isinstance(results, str)
        assert [result.outcome["row"] for result in results] == [3, 4, 5]

    assert opened == ["a", "b", "a"]


def test_without_ray_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)

    with pytest.raises(ConfigurationError, match=re.escape(install_hint("ray"))):
        RayEngine(lambda: pytest.fail("not opened"), concurrency=1, workers=None)
