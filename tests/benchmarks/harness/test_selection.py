"""The choice of questions for a run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conflictscore.benchmarks.harness.question_sample import drawn as drawn_of
from conflictscore.benchmarks.harness.question_sample import question_id, shuffled_options
from conflictscore.benchmarks.harness.records import Question
from conflictscore.errors import InputError

MANY = tuple(
    Question(id=question_id("t", f"Question {number}?"), question=f"Question {number}?")
    for number in range(100)
)


def sample(size: int, seed: int = 0, questions: tuple[Question, ...] = MANY) -> list[str]:
    return [q.id for q in drawn_of(questions, size, seed)]


@given(st.integers(1, 100), st.integers(1, 100), st.integers())
def test_a_larger_sample_of_the_same_seed_holds_the_smaller_one(
    one: int, other: int, seed: int
) -> None:
    small, large = sorted((one, other))
    assert len(sample(large, seed)) == large
    assert set(sample(small, seed)) <= set(sample(large, seed))


@given(st.permutations(MANY))
def test_a_sample_depends_on_seed_and_questions_and_keeps_the_order_of_the_file(
    shuffled: list[Question],
) -> None:
    drawn = sample(20, questions=tuple(shuffled))
    assert set(drawn) == set(sample(20))
    order = [question.id for question in shuffled]
    assert drawn == sorted(drawn, key=order.index)


def test_a_sample_is_not_the_beginning_and_another_seed_draws_another() -> None:
    first = {question.id for question in MANY[:20]}
    assert set(sample(20)) != first
    assert set(sample(20, seed=1)) not in (first, set(sample(20)))


@pytest.mark.parametrize("size", [101, 0, -1])
def test_a_sample_that_cannot_be_drawn_is_refused(size: int) -> None:
    with pytest.raises(
        InputError, match=f"sample is {size}; give 1 to 100, the number of questions"
    ):
        sample(size)


def test_the_id_of_a_question_does_not_change_between_versions_of_this_package() -> None:
    assert question_id("tqa", "What happens to you if you eat watermelon seeds?") == (
        "tqa-76a0794264bc"
    )
    assert shuffled_options("r", "w", question="Is  it?", seed=0) == (
        shuffled_options("r", "w", question="Is it?", seed=0)
    )
