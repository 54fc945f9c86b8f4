"""What a state holds, what it costs and takes, and what came of the run that it is of."""

from typing import Any

import pytest

from conflictscore.nodes.record import run_of
from conflictscore.nodes.state import time_left, weights_of
from conflictscore.records import Claim, ClaimEvidence, RunStatus
from tests.nodes.steps import attempt, claim_with, scored, setting

CONFLICT = scored(claim_with("+-"))
AGREED = scored(claim_with("++"))


def test_the_time_that_is_left_is_never_less_than_none() -> None:
    took: Any = {"timings": {"generate": 1.5, "label": 2.0}}

    assert time_left(took, setting()) is None
    assert time_left(took, setting(budget_seconds=10)) == 6.5
    assert time_left(took, setting(budget_seconds=3)) == 0
    assert time_left({}, setting(budget_seconds=3)) == 3


def test_documents_weigh_what_the_last_answer_says() -> None:
    def weights(*attempts: Any) -> Any:
        return weights_of({"attempts": [one.to_json() for one in attempts]})

    weighed = attempt(scored(claim_with("+-"), weights={2: 0.5}))
    assert weights(weighed) == {2: 0.5}
    assert weights(weighed, attempt(CONFLICT, round=1)) == {}
    assert weights(attempt(None)) == {}


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


def test_a_question_that_was_not_rewritten_is_the_one_that_was_asked() -> None:
    assert run_of({"question": "When?"}).asked == "When?"
    assert run_of({"question": "When was it lit?", "asked": "When?"}).asked == "When?"
    assert run_of({"question": "When?", "answer": "Never.", "draft": {"text": "x"}}).answer == (
        "Never."
    )


def test_claims_without_a_label_are_not_known_to_conflict() -> None:
    silent = ClaimEvidence(claim=Claim(number=1, text="It was lit."))
    state = {"attempts": [attempt(scored(silent)).to_json()], "flipped": False}
    assert run_of(state).status is RunStatus.FAILED
