"""Formulas 1 to 4 on one question."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conflictscore.benchmarks.harness.records import Verdict
from conflictscore.benchmarks.natconfqa.metrics import MEASURES, with_f1

FAILED = Verdict(value=None, error="ill")
shares = (
    st.none()
    | st.just(FAILED)
    | st.builds(Verdict, value=st.fractions(0, 1, max_denominator=50).map(float))
)


def measured(
    precision: Verdict | None, recall: Verdict | None, of_answers: Verdict | None = FAILED
) -> dict[str, Verdict]:
    return with_f1(
        {
            "conflicts precision": precision,
            "conflicts recall": recall,
            "answers precision": of_answers,
            "answers recall": of_answers,
        }
    )


def test_f1_is_the_harmonic_mean_of_either_kind() -> None:
    found = measured(Verdict(value=0.5), Verdict(value=0.75), Verdict(value=1))
    assert list(found) == list(MEASURES)
    assert found["conflicts f1"].value == pytest.approx(0.6)
    assert found["answers f1"].value == 1


def test_a_fraction_of_nothing_is_absent_and_its_f1_with_it_whatever_became_of_the_other() -> None:
    for other in (Verdict(value=0.5), FAILED, None):
        found = measured(None, other)
        assert "conflicts precision" not in found
        assert "conflicts f1" not in found
        assert found.get("conflicts recall") == other


def test_a_decision_that_could_not_be_had_leaves_the_measure_unjudged() -> None:
    found = measured(FAILED, Verdict(value=0.5))
    assert found["conflicts f1"] == FAILED
    assert found["conflicts recall"].value == 0.5


@given(shares, shares)
def test_f1_is_between_its_parts(precision: Verdict | None, recall: Verdict | None) -> None:
    f1 = measured(precision, recall).get("conflicts f1")
    known = [one.value for one in (precision, recall) if one and one.value is not None]
    assert (f1 is not None and f1.value is not None) == (len(known) == 2)
    if f1 is not None and f1.value is not None:
        assert min(known) - 1e-12 <= f1.value <= max(known) + 1e-12
        assert (f1.value == 0) == (min(known) == 0)
