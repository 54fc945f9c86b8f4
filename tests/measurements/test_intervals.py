"""Means with bootstrap intervals."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measurements.intervals import mean_interval


def test_the_interval_of_a_share_is_about_what_the_normal_distribution_says() -> None:
    mean = mean_interval([0.0, 1.0] * 200)
    assert mean.value == 0.5
    assert (mean.low, mean.high) == pytest.approx((0.451, 0.549), abs=0.005)
    assert str(mean) == f"0.500 [{mean.low:.3f}, {mean.high:.3f}]"


@settings(max_examples=25)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=20))
def test_the_mean_lies_between_the_smallest_and_the_largest_value(values: list[float]) -> None:
    mean = mean_interval(values)
    assert min(values) - 1e-9 <= mean.low <= mean.high <= max(values) + 1e-9
    assert mean == mean_interval(values)


def test_no_values_have_no_mean() -> None:
    with pytest.raises(ValueError, match="no values"):
        mean_interval([])
