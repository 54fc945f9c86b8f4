"""What a state holds, what it costs and takes, and what came of the run that it is of."""

from typing import Any

import pytest

from conflictscore.nodes.record import run_of
from conflictscore.records import Attempt, RunStatus
from tests.nodes.steps import attempt, claim_with, scored

CONFLICT = scored(claim_with("+-"))
AGREED = scored(claim_with("++"))


UNKNOWN = AGREED.model_copy(update={"error": "no claims"})
CHANGED = [attempt(CONFLICT), attempt(AGREED, "In 1874.", round=1)]


@pytest.mark.parametrize(
    ("attempts", "checked", "status"),
    [
        ([], None, RunStatus.PASSED_THROUGH),
        ([attempt(None)], None, RunStatus.PASSED_THROUGH),
        ([attempt(AGREED)], None, RunStatus.SCORED),
        ([attempt(AGREED)], "no", RunStatus.FAILED),
        ([attempt(scored(claim_with("+?")))], None, RunStatus.PARTLY_SCORED),
        ([attempt(scored(claim_with("??")))], None, RunStatus.FAILED),
        ([attempt(scored())], None, RunStatus.SCORED),
        ([attempt(UNKNOWN)], None, RunStatus.FAILED),
        ([attempt(CONFLICT)], None, RunStatus.KEPT),
        ([attempt(scored(claim_with("--"), policy=["refuted"]))], None, RunStatus.KEPT),
        (CHANGED, None, RunStatus.CORRECTED),
        (CHANGED, "no", RunStatus.CORRECTED),
    ],
)
def test_what_a_run_resulted_in(
    attempts: list[Attempt], checked: str | None, status: RunStatus
) -> None:
    state: dict[str, Any] = {"question": "When?", "attempts": [one.to_json() for one in attempts]}
    state |= {"checked": checked} if checked else {}

    assert run_of({**state, "flipped": False}).status is status
    assert run_of(state).status is RunStatus.UNFINISHED, "the last step has not been taken"


def test_a_run_whose_documents_have_no_numbers_yet_has_none() -> None:
    given = {"question": "When?", "documents": [{"text": "In 1871."}]}
    numbered = {"number": 1, "text": "In 1871."}

    assert run_of(given).documents == ()
    assert [d.number for d in run_of({**given, "run_id": "r", "documents": [numbered]}).documents]
