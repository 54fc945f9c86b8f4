"""The value of a changed answer."""

import pytest

from conflictscore.benchmarks.harness.report.flips import (
    FlipKind,
    flip_kind,
    justification,
    second_look,
)
from tests.benchmarks.harness.report.lamps import choice, free, graded

REGENERATED, GUARDED = "regenerated-rag", "guarded-rag"


CORRECTION, HARM, NEUTRAL, UNJUDGED = FlipKind


@pytest.mark.parametrize(
    ("before", "after", "rising", "falling"),
    [
        (False, True, CORRECTION, HARM),
        (True, False, HARM, CORRECTION),
        (True, True, NEUTRAL, NEUTRAL),
        (False, False, NEUTRAL, NEUTRAL),
        (None, True, UNJUDGED, UNJUDGED),
        (True, None, UNJUDGED, UNJUDGED),
        (0.25, 0.75, CORRECTION, HARM),
        (0.75, 0.25, HARM, CORRECTION),
        (0.5, 0.5, NEUTRAL, NEUTRAL),
        (0.1 + 0.2, 0.3, NEUTRAL, NEUTRAL),  # they differ only by a rounding error
        (None, 0.5, UNJUDGED, UNJUDGED),
    ],
)
def test_a_flip_is_what_the_measure_says_of_both_answers_and_higher_is_better_unless_less_is(
    before: float | None, after: float | None, rising: FlipKind, falling: FlipKind
) -> None:
    flip = graded("a", before, after)
    assert flip_kind(flip, REGENERATED, "recall") is rising
    assert flip_kind(flip, REGENERATED, "recall", falls=True) is falling


def test_the_same_words_and_a_failed_answer_are_no_flip() -> None:
    same = free("a", ("It was  1871.", False), ("it was 1871.", True))
    assert flip_kind(same, REGENERATED, "truthful") is None
    assert flip_kind(choice("a", 0, None), REGENERATED, "accuracy") is None
    refused = choice("a", 0, 1, refused=True)
    assert flip_kind(refused, REGENERATED, "accuracy") is HARM
    assert flip_kind(refused, GUARDED, "accuracy") is None


def test_the_second_look_is_that_of_regenerated_rag_where_it_was_run() -> None:
    result = choice("a", 0, 1)
    assert second_look(result) == REGENERATED
    guarded = {"rag", GUARDED}
    methods = {method: ended for method, ended in result.methods.items() if method in guarded}
    assert second_look(result.model_copy(update={"methods": methods})) == GUARDED
    revised = {"revised-rag": result.methods[GUARDED]}
    assert second_look(result.model_copy(update={"methods": revised})) == "revised-rag"
    assert second_look(result.model_copy(update={"methods": {}})) is None


def test_a_method_with_a_step_of_its_own_is_not_given_the_loops_reason() -> None:
    result = choice("a", 0, 1)
    revised = {**result.methods, "revised-rag": result.methods[GUARDED]}
    result = result.model_copy(update={"methods": revised, "justification": "The log says 1874."})
    assert justification(result, REGENERATED) == "The log says 1874."
    assert justification(result, GUARDED) == "The log says 1874."
    assert justification(result, "revised-rag") is None
