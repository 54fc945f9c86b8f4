"""Runs stored by other versions are refused with a message that names the version."""

import json
from pathlib import Path
from typing import Any

import pytest

from conflictscore.benchmarks.harness.report.page.render import render_report
from conflictscore.benchmarks.harness.report.page.report_run import live_run
from conflictscore.errors import InputError
from conflictscore.records import RunStatus
from conflictscore.reporting.run_log import read_runs
from tests.nodes.steps import attempt, claim_with, scored


@pytest.mark.parametrize(
    ("of_the_run", "of_the_attempt", "field", "version"),
    [
        ({}, {"reconsidered": None, "revisions": []}, r"attempts\.0\.re", "0.0.9"),
        ({"changes": [{"round": 1, "tone": "calm"}]}, {}, r"changes\.0\.", "9.1"),
    ],
)
def test_a_run_of_another_version_is_refused_by_its_version(
    of_the_run: dict[str, Any],
    of_the_attempt: dict[str, Any],
    field: str,
    version: str,
    tmp_path: Path,
) -> None:
    log, first = tmp_path / "runs.jsonl", attempt(scored(claim_with("+-", "x")), "x").to_json()
    run = {"run_id": "run-7", "attempts": [first | of_the_attempt], **of_the_run}
    log.write_text(json.dumps({**run, "versions": {"conflictscore": version}}) + "\n")

    with pytest.raises(
        InputError, match=rf"line 1, field {field}.*conflictscore {version} wrote it"
    ):
        read_runs(log)


@pytest.mark.parametrize("former", ["observed", "dropped"])
def test_a_run_with_a_status_that_is_gone_is_shown_under_its_old_name(
    former: str, tmp_path: Path
) -> None:
    log = tmp_path / "runs.jsonl"
    log.write_text(_stored(status=former))
    (logged,) = read_runs(log)
    page = render_report([live_run("served", [logged], {})])

    assert logged.run.status == former
    assert logged.run.status.value == former
    assert former in page
    assert former not in {*RunStatus}


def test_a_run_with_a_status_of_another_version_is_refused_by_its_version(tmp_path: Path) -> None:
    log = tmp_path / "runs.jsonl"
    log.write_text(_stored(status="pondered"))

    with pytest.raises(InputError, match=r"line 1, field status: .*conflictscore 9\.1 wrote it"):
        read_runs(log)


def _stored(**fields: Any) -> str:
    first = attempt(scored(claim_with("+-", "x")), "x").to_json()
    run = {"run_id": "run-7", "attempts": [first], "versions": {"conflictscore": "9.1"}}
    return json.dumps({**run, **fields}) + "\n"
