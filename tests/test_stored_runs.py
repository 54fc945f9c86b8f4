"""Runs that earlier versions stored: read in the fields of today, or refused by name."""

import json
from pathlib import Path
from typing import Any

import pytest

from conflictscore.benchmarks.harness.methods.registry import LOOP
from conflictscore.benchmarks.harness.records import Question, StepRecord
from conflictscore.benchmarks.harness.results import results
from conflictscore.errors import InputError
from conflictscore.records import Change, Run, RunStatus
from conflictscore.reporting.run_log import read_runs
from tests.nodes.steps import attempt, claim_with, scored

FIRST, LAST = "It was lit in 1871. It is white.", "It was lit in 1874. It is white."
CLAIM = claim_with("+--", "It was lit in 1871.", at=(0, 19))
TOLD: dict[str, Any] = {"regeneration": "paper", "conflict_type": None, "flips": []}


def attempts(**of_the_second: Any) -> list[dict[str, Any]]:
    """Two attempts in the form of before."""
    first = attempt(scored(CLAIM), FIRST).to_json()
    second = attempt(scored(claim_with("++-", "new")), LAST, round=1).to_json()
    return [
        {**first, "reconsidered": None, "revisions": []},
        {**second, "reconsidered": None, "revisions": [], **of_the_second},
    ]


def revision(**changes: Any) -> dict[str, Any]:
    known = {
        "round": 1,
        "start": 0,
        "end": 19,
        "before": FIRST[:19],
        "after": LAST[:19],
        "way": "replace",
        "whole": False,
        "reason": "The log says so.",
        "new_claims": ["new"],
        "claims": [CLAIM.to_json()],
        "stands": True,
        "note": None,
        "balance_before": [-1 / 3],
        "balance_after": [1 / 3],
    }
    return known | changes


def stored(second: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "question": "When?",
        "answer": LAST,
        "first_answer": FIRST,
        "flip": {"before": FIRST, "after": LAST, "claim": "x", "supports": [], "contradicts": []},
        "attempts": attempts(**second),
        "run_id": "run-7",
        "flipped": True,
        **TOLD,
        **more,
    }


def test_an_answer_that_was_written_anew_has_one_change_of_the_whole() -> None:
    second = attempts()[1]["answer"] | {"justification": "The log says so."}

    [change] = Run.model_validate(
        {
            **{k: v for k, v in stored({}).items() if k not in ("flipped", "report")},
            "attempts": attempts(reconsidered=CLAIM.to_json(), answer=second),
        }
    ).changes

    assert (change.before, change.after, change.whole) == (FIRST, LAST, True)
    assert (change.action.value, change.applied, change.claims) == ("replace", True, (CLAIM,))
    assert change.reason == "The log says so."


def test_revisions_are_changes_with_what_was_refused(tmp_path: Path) -> None:
    refused = revision(start=20, end=32, before=FIRST[20:], after="x", stands=False, note="no")
    log = tmp_path / "runs.jsonl"
    log.write_text(json.dumps(stored({"revisions": [revision(), refused]})) + "\n")

    [logged] = read_runs(log)

    change, other = logged.run.changes
    assert (change.applied, change.action.value, change.balance_after) == (
        True,
        "replace",
        (1 / 3,),
    )
    assert (other.accepted, other.note, logged.run.applied_changes) == (False, "no", (change,))
    assert logged.run.status is RunStatus.CORRECTED
    assert Run.model_validate(logged.run.to_json()) == logged.run


def test_records_of_a_benchmark_run_are_read_as_before() -> None:
    question = Question(id="a", question="When?")
    value = {
        "attempts": attempts(reconsidered=CLAIM.to_json()),
        "reason": "",
        "notes": [],
        "regeneration_error": None,
    }

    [result] = results(
        [question],
        [StepRecord(question="a", step=LOOP, value=value)],
        methods=["rag", "regenerated-rag"],
    )

    assert result.reconsidered == CLAIM
    [change] = result.changes[LOOP]
    assert isinstance(change, Change)
    assert result.claims_about("regenerated-rag") == (CLAIM,)


def test_a_run_of_a_later_version_is_refused_by_its_version(tmp_path: Path) -> None:
    log = tmp_path / "runs.jsonl"
    later = {"changes": [{"round": 1, "tone": "calm"}], "versions": {"conflictscore": "9.1"}}
    log.write_text(json.dumps(stored({}, **later)) + "\n")

    with pytest.raises(
        InputError, match=r"line 1, field changes\.0\..*conflictscore 9\.1 wrote it"
    ):
        read_runs(log)
