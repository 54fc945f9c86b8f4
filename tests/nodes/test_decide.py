"""Which attempt changed the answer, and what a state holds."""

import pytest

from conflictscore.nodes.decide import flipped_by
from conflictscore.nodes.state import claims_of, run_of
from conflictscore.records import Answer, Attempt


@pytest.mark.parametrize(
    ("answers", "by"),
    [
        (["One"], None),
        (["One", "one "], None),
        (["One", "Two"], 1),
        (["One", "Two", "two", "TWO"], 1),
        (["One", "One", "Two"], 2),
        (["One", "Two", "One"], None),
        (["One", "Two", "One", "Two"], 3),
        (["One", "Two", "Three"], 2),
    ],
)
def test_the_attempt_that_changed_the_answer_is_the_first_that_all_later_ones_kept(
    answers: list[str], by: int | None
) -> None:
    attempts = tuple(
        Attempt(round=number, answer=Answer(text=text)) for number, text in enumerate(answers)
    )
    found = flipped_by(attempts)
    assert (found.round if found else None) == by


def test_before_an_answer_is_taken_apart_a_state_has_no_claims() -> None:
    assert claims_of({}) == ()


def test_a_run_under_way_has_the_answers_that_are_known_so_far() -> None:
    def known(*answers: str, draft: str | None = None) -> tuple[str | None, str | None]:
        state = {
            "question": "When was it lit?",
            "attempts": [
                Attempt(round=n, answer=Answer(text=a)).to_json() for n, a in enumerate(answers)
            ],
            "draft": Answer(text=draft).to_json() if draft else None,
        }
        run = run_of(state)
        return run.first_answer, run.answer

    assert known() == (None, None)
    assert known(draft="In 1871.") == ("In 1871.", "In 1871.")
    assert known("In 1871.", draft="In 1874.") == ("In 1871.", "In 1874.")
    assert known("In 1871.", "In 1872.", "In 1874.") == ("In 1871.", "In 1874.")
