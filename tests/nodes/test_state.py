"""What a state holds, what it costs and takes, and what came of the run that it is of."""

from typing import Any

import pytest

from conflictscore.nodes.record import run_of
from conflictscore.records import RunStatus
from tests.nodes.steps import attempt, claim_with, scored

CONFLICT = scored(claim_with("+-"))
AGREED = scored(claim_with("++"))


@pytest.mark.parametrize(
    ("known", "status"),
    [
        ({}, RunStatus.PASSED_THROUGH),
        ({"attempts": [attempt(None)]}, RunStatus.PASSED_THROUGH),
        ({"attempts": [attempt(AGREED)]}, RunStatus.SCORED),
        ({"attempts": [attempt(AGREED)], "checked": "no"}, RunStatus.FAILED),
        ({"attempts": [attempt(scored(claim_with("+?")))]}, RunStatus.PARTLY_SCORED),
        ({"attempts": [attempt(scored(claim_with("??")))]}, RunStatus.FAILED),
        ({"attempts": [attempt(scored())]}, RunStatus.SCORED),
        (
            {"attempts": [attempt(AGREED.model_copy(update={"error": "no claims"}))]},
            RunStatus.FAILED,
        ),
        ({"attempts": [attempt(CONFLICT)]}, RunStatus.KEPT),
        ({"attempts": [attempt(scored(claim_with("--"), policy=["refuted"]))]}, RunStatus.KEPT),
        (
            {"attempts": [attempt(CONFLICT), attempt(AGREED, "In 1874.", round=1)]},
            RunStatus.CORRECTED,
        ),
        (
            {
                "attempts": [attempt(CONFLICT), attempt(AGREED, "In 1874.", round=1)],
                "checked": "no",
            },
            RunStatus.CORRECTED,
        ),
    ],
)
def test_what_a_run_resulted_in(known: dict[str, Any], status: RunStatus) -> None:
    state = {
        "question": "When?",
        "attempts": [one.to_json() for one in known.get("attempts", [])],
        **{name: value for name, value in known.items() if name != "attempts"},
    }

    assert run_of({**state, "flipped": False}).status is status
    assert run_of(state).status is RunStatus.UNFINISHED, "the last step has not been taken"


def test_a_run_whose_documents_have_no_numbers_yet_has_none() -> None:
    given = {"question": "When?", "documents": [{"text": "In 1871."}]}
    numbered = {"number": 1, "text": "In 1871."}

    assert run_of(given).documents == ()
    assert [d.number for d in run_of({**given, "run_id": "r", "documents": [numbered]}).documents]
