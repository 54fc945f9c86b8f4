"""Runs that other versions stored are refused with the version that wrote them."""

import json
from pathlib import Path
from typing import Any

import pytest

from conflictscore.errors import InputError
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
