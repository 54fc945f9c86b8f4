"""Intervals, tests and agreement, including on almost no data."""

import re
import sys
import warnings
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conflictscore.benchmarks.harness.figures import Interval
from conflictscore.benchmarks.harness.statistics import (
    holm,
    krippendorff_alpha,
    mcnemar,
    mean_interval,
    mean_sign_flip,
    proportion,
    require_statistics,
    sign_flip,
    wilcoxon_pratt,
)
from conflictscore.errors import ConfigurationError, install_hint


@given(st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_a_proportion_lies_in_its_interval_and_that_in_0_to_1(pair: tuple[int, int]) -> None:
    share = proportion(*pair)
    assert share.low is not None
    assert share.value is not None
    assert share.high is not None
    assert 0 <= share.low <= share.value <= share.high <= 1
    assert share.low < share.high


@pytest.mark.parametrize(("count", "n"), [(3, 2), (-1, 2), (1, 0)])
def test_more_than_all_is_refused(count: int, n: int) -> None:
    with pytest.raises(ValueError, match=f"{count} of {n}"):
        proportion(count, n)


@settings(max_examples=30)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=12))
def test_the_same_values_in_another_order_have_the_same_interval(values: list[float]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mean = mean_interval(values)
        assert mean == mean_interval(values[::-1])
    assert mean.n == len(values)
    assert (mean.low is None) == (mean.high is None) == (len(set(values)) == 1)
    if mean.low is not None and mean.high is not None:
        assert min(values) - 1e-9 <= mean.low <= mean.high <= max(values) + 1e-9


@pytest.mark.parametrize(
    ("values", "mean"),
    [
        ([], Interval(value=None, n=0)),
        ([0.25], Interval(value=0.25, n=1)),
        ([0.1] * 30, Interval(value=0.1, n=30)),
    ],
)
def test_values_that_do_not_differ_have_no_bounds(values: list[float], mean: Interval) -> None:
    assert mean_interval(values) == mean


@pytest.mark.parametrize("missing", ["scipy", "statsmodels"])
@pytest.mark.parametrize(
    "figure",
    [
        require_statistics,
        lambda: proportion(1, 2),
        lambda: mean_interval([0.0, 1.0]),
        lambda: mcnemar(1, 0),
    ],
)
def test_without_the_extra_the_error_says_how_to_get_it(
    missing: str, figure: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ConfigurationError, match=re.escape(install_hint("bench"))):
        figure()


def test_krippendorffs_alpha_is_that_of_his_own_example() -> None:
    # four people's values for twelve units, without missing ones
    units = [
        "111",
        "2232",
        "3333",
        "3333",
        "2222",
        "1234",
        "4444",
        "1121",
        "2222",
        "555",
        "11",
        "3",
    ]
    assert krippendorff_alpha(units) == pytest.approx(0.743, abs=0.0005)


def test_where_nobody_could_disagree_there_is_no_alpha() -> None:
    assert krippendorff_alpha([["a"], ["b"]]) is None
    assert krippendorff_alpha([["a", "a"], ["a", "a"]]) is None


def test_nothing_to_compare_has_no_p_and_no_change_has_one() -> None:
    assert wilcoxon_pratt([]) is None
    assert wilcoxon_pratt([0.0, 0.0]) == 1


def test_questions_that_did_not_change_make_a_difference_harder_to_believe() -> None:
    # Ranks 21 to 26 for the six that changed, the one loss at 22: z = (22 - 70.5) / 28.857. Without
    # the zeros, ranks 1 to 6 would have given 0.0747 by the same distribution.
    p = wilcoxon_pratt([0.1, 0.2, 0.3, 0.4, -0.15, 0.5, *[0.0] * 20])
    assert p == pytest.approx(0.0928, abs=5e-5)


def test_holm_is_the_step_down_of_bonferroni() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5]) == [0.5]
    assert holm([]) == []


@pytest.mark.parametrize("changed", [1, 3, 5, 6])
def test_few_changes_among_many_questions_have_the_p_of_their_signs(changed: int) -> None:
    # all changes point the same way: 2 of the 2**changed patterns of signs are as extreme
    assert wilcoxon_pratt([0.25] * changed + [0.0] * 700) == 2 / 2**changed


@pytest.mark.parametrize("sign", [1, -1])
def test_uneven_numbers_of_runs_do_not_need_a_probability_for_each_of_billions_of_sums(
    sign: int,
) -> None:
    # the least common multiple of 21 to 30 runs exceeds 10**9, so the exact table would not fit
    values = [[sign * float(run % 3 == 0) for run in range(21 + n % 10)] for n in range(12)]
    p = mean_sign_flip(values)
    assert p is not None
    assert p == pytest.approx(2 / 2**12, rel=0.02)
    even = mean_sign_flip([[sign / 1.0] * 2] * 12)
    assert even is not None
    assert even <= p


def test_rounded_sums_never_make_p_smaller() -> None:
    totals = [7, -3, 11, 5, 2, -1, 8, 9, -4, 6]
    exact = sign_flip(totals)
    rounded = sign_flip([total * 10**9 + 1 for total in totals])
    assert exact is not None
    assert rounded is not None
    assert exact <= rounded + 1e-12
    assert rounded == pytest.approx(exact, rel=0.02)
