"""Formulas 1 to 4 on one question."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conflictscore.benchmarks.natconfqa.metrics import (
    MEASURES,
    Count,
    Counts,
    MeasureValue,
    values,
)


@st.composite
def count(draw: st.DrawFn) -> Count:
    n = draw(st.integers(0, 6))
    hits = draw(st.integers(0, n))
    return Count(hits=hits, n=n, unjudged=draw(st.integers(0, n - hits)))


every_counts = st.builds(
    Counts,
    answer_precision=st.none() | count(),
    answer_recall=count(),
    conflict_precision=st.none() | count(),
    conflict_recall=count(),
)


def counts(precision: Count | None, recall: Count | None) -> Counts:
    """The same for answers as for conflicts."""
    return Counts(
        answer_precision=precision,
        answer_recall=recall,
        conflict_precision=precision,
        conflict_recall=recall,
    )


def of(hits: int, n: int, unjudged: int = 0) -> Count:
    return Count(hits=hits, n=n, unjudged=unjudged)


def test_precision_and_recall_are_fractions_and_f1_their_harmonic_mean() -> None:
    measured = values(counts(of(1, 2), of(3, 4)))
    assert measured["answer_precision"] == MeasureValue(0.5)
    assert measured["answer_recall"] == MeasureValue(0.75)
    assert measured["answer_f1"].value == pytest.approx(0.6)
    assert measured["conflict_f1"].value == pytest.approx(0.6)


def test_answers_and_conflicts_are_measured_apart() -> None:
    measured = values(
        Counts(
            answer_precision=of(1, 1),
            answer_recall=of(0, 2),
            conflict_precision=of(1, 4),
            conflict_recall=of(2, 2),
        )
    )
    assert [measured[name].value for name in MEASURES] == [1, 0, 0, 0.25, 1, 0.4]


@given(st.integers(1, 9), st.integers(1, 9))
def test_a_perfect_answer_has_one_in_everything(answers: int, conflicts: int) -> None:
    measured = values(counts(of(answers, answers), of(conflicts, conflicts)))
    assert {value.value for value in measured.values()} == {1.0}


def test_a_fraction_of_nothing_is_undefined_and_not_unjudged() -> None:
    measured = values(counts(of(0, 0), of(1, 2)))
    assert measured["conflict_precision"] == MeasureValue(None)
    assert measured["conflict_f1"] == MeasureValue(None)
    assert measured["conflict_recall"] == MeasureValue(0.5)


def test_a_decision_that_could_not_be_had_leaves_the_measure_unjudged() -> None:
    for unknown in (None, of(1, 2, unjudged=1)):
        measured = values(counts(unknown, of(1, 2)))
        assert measured["answer_precision"] == MeasureValue(None, unjudged=True)
        assert measured["answer_f1"] == MeasureValue(None, unjudged=True)
        assert measured["answer_recall"] == MeasureValue(0.5)


def test_f1_is_undefined_where_one_side_is_whatever_became_of_the_other() -> None:
    assert values(counts(None, of(0, 0)))["answer_f1"] == MeasureValue(None)
    assert values(counts(of(0, 0), of(0, 1, unjudged=1)))["answer_f1"] == MeasureValue(None)


@given(every_counts)
def test_every_measure_is_between_zero_and_one_and_f1_between_its_parts(given_: Counts) -> None:
    measured = values(given_)
    for value in measured.values():
        assert value.value is None or 0 <= value.value <= 1
        assert not (value.unjudged and value.value is not None)
    for kind in ("answer", "conflict"):
        parts = [measured[f"{kind}_precision"].value, measured[f"{kind}_recall"].value]  # type: ignore[index]
        f1 = measured[f"{kind}_f1"].value  # type: ignore[index]
        known = [part for part in parts if part is not None]
        assert (f1 is not None) == (len(known) == 2)
        if f1 is not None:
            assert min(known) - 1e-12 <= f1 <= max(known) + 1e-12
            assert (f1 == 0) == (min(known) == 0)
