"""Rows on a local Ray cluster of two workers, in another process because it opens sockets."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from conflictscore.errors import ConfigurationError, install_hint
from conflictscore.scoring_files.columns import Columns
from conflictscore.scoring_files.ray_engine import BlockScorer, RayEngine
from conflictscore.scoring_files.row_scoring import scoring_settings
from tests.scoring_files.files import answer_row, outcomes, score, write_lines
from tests.scoring_files.instant_judge import instant_context

pa = pytest.importorskip("pyarrow")

needs_ray = [
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed (extra [ray])"),
    pytest.mark.timeout(1200),
]


def started(folder: Path, *kinds: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.scoring_files.ray_run", folder, *kinds],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        # on a busy machine Ray starts late, and its workers would yield to everything else
        env={**os.environ, "RAY_raylet_start_wait_time_s": "300", "RAY_worker_niceness": "0"},
    )


def judged(folder: Path) -> list[tuple[int, str]]:
    """Which process judged which pair, in order."""
    log = folder / "judged"
    rows = log.read_text().splitlines() if log.exists() else []
    return [(int(pid), pair) for pid, pair in (row.split() for row in rows)]


class TestCluster:
    pytestmark = needs_ray

    def test_a_worker_that_is_killed_changes_nothing_in_the_output(self, tmp_path: Path) -> None:
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
        stdout, _ = run.communicate()

        assert stdout.splitlines() == ["instant: 161 scored now, 1 failed", "running: False"]
        assert (tmp_path / "instant.jsonl").read_bytes() == (here / "out.jsonl").read_bytes()
        workers = {pid for pid, _ in judged(tmp_path)}
        assert run.pid not in workers
        assert len(workers) >= 2
        again = [
            pair
            for pair, count in Counter(pair for _, pair in judged(tmp_path)).items()
            if count > 1
        ]
        assert len(again) <= 2, "the verdicts that the kill interrupted"

    def test_a_row_that_kills_its_workers_fails_alone_and_a_worker_that_cannot_score_ends_the_run(
        self, tmp_path: Path
    ) -> None:
        rows = [answer_row(number) for number in range(12)]
        rows[4]["documents"] = ["This is poison."]
        write_lines(tmp_path / "in.jsonl", rows)

        stdout, _ = started(tmp_path, "refused", "another", "deadly").communicate()

        lines = [line for line in stdout.splitlines() if "(raylet)" not in line]  # Ray's own log
        assert lines[0] == "refused: on a Ray worker: no such model"
        assert lines[1].startswith("another: on a Ray worker: its settings differ:")
        assert lines[2:] == ["deadly: 12 scored now, 1 failed", "running: True"]
        errors = [row["error"] for row in outcomes(tmp_path / "deadly.jsonl")]
        assert [error is None for error in errors] == [number != 4 for number in range(12)]
        assert (
            errors[4] == "no worker returned its scores: each died, or failed for an unknown reason"
        )


def block(*items: dict[str, Any]) -> Any:
    return pa.table({"json": [json.dumps(item) for item in items]})


def results(table: Any) -> list[dict[str, Any]]:
    return [json.loads(text) for text in table["json"].to_pylist()]


def test_a_worker_opens_its_models_once_and_scores_rows_as_a_run_on_one_machine(
    tmp_path: Path,
) -> None:
    context = instant_context(tmp_path / "cache.sqlite")
    opened = []

    def opener() -> Any:
        opened.append(1)
        return context

    scorer = BlockScorer(opener, scoring_settings(context), Columns(), 2)
    rows: list[dict[str, Any]] = [
        {"number": n, "fields": answer_row(n), "fault": None} for n in (3, 4, 5)
    ]
    rows.append({"number": 6, "fields": {}, "fault": "is not JSON"})
    first, second = results(scorer(block(*rows[:2]))), results(scorer(block(*rows[2:])))

    source = write_lines(tmp_path / "in.jsonl", [answer_row(n) for n in (1, 2, 3, 4, 5)])
    score(source, tmp_path / "out.jsonl", context=context)
    by_row = {result["outcome"]["row"]: result["outcome"] for result in first + second}
    assert [by_row[n] for n in (3, 4, 5)] == outcomes(tmp_path / "out.jsonl")[2:]
    assert by_row[6]["error"] == "is not JSON"
    assert len(opened) == 1
    unreadable = scorer(block({"stop": "in.jsonl: is not UTF-8"}))
    assert results(unreadable) == [{"stop": "in.jsonl: is not UTF-8"}]


def test_a_worker_that_would_score_by_other_settings_stops(tmp_path: Path) -> None:
    context = instant_context(tmp_path / "cache.sqlite")
    settings = {**scoring_settings(context), "duplicates": "by domain"}
    [result] = results(BlockScorer(lambda: context, settings, Columns(), 1)(block()))
    assert "duplicates" in result["stop"]


def test_without_ray_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigurationError, match=re.escape(install_hint("ray"))):
        RayEngine(lambda: pytest.fail("not opened"), {})
