"""How many questions a comparison needs, by the tests that reports use."""

from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conflictscore.benchmarks.harness.statistics import (
    mcnemar,
    mcnemar_power,
    questions_needed,
    questions_needed_graded,
    sign_flip,
)


@given(st.integers(1, 25), st.floats(0.05, 1), st.floats(0.05, 1))
@settings(max_examples=25)
def test_power_is_the_chance_of_all_outcomes_that_the_test_believes(
    questions: int, discordant: float, share: float
) -> None:
    gain = share * discordant
    better, worse = (discordant + gain) / 2, (discordant - gain) / 2
    power = sum(
        comb(questions, up)
        * comb(questions - up, down)
        * better**up
        * worse**down
        * (1 - discordant) ** (questions - up - down)
        for up, down in product(range(questions + 1), repeat=2)
        if up + down <= questions and up > down and mcnemar(up, down) < 0.05
    )
    assert mcnemar_power(questions, discordant, gain) == pytest.approx(power, abs=1e-9)


@pytest.mark.parametrize(
    ("discordant", "gain"), [(0.2, 0.08), (24 / 779, 8 / 779), (0.1, -0.02), (0.05, 0.05)]
)
def test_so_many_questions_reach_the_power_and_one_fewer_does_not(
    discordant: float, gain: float
) -> None:
    n = questions_needed(discordant, gain)
    assert n is not None
    powers = [mcnemar_power(many, discordant, abs(gain)) for many in (n - 1, n)]
    assert powers[0] < 0.8 <= powers[1]
    # Connor (1987), for the test that is not exact
    from scipy.stats import norm

    spread = norm.isf(0.025) * discordant**0.5 + norm.isf(0.2) * (discordant - gain**2) ** 0.5
    assert (spread / gain) ** 2 < n < 1.6 * (spread / gain) ** 2


def test_what_no_number_of_questions_shows_has_none() -> None:
    assert questions_needed(0.2, 0.0) is None
    assert questions_needed(0.05, 0.08) is None
    assert questions_needed(0.5, 1e-6) is None
    assert questions_needed_graded(0.0, 0.1) is None
    assert questions_needed_graded(0.2, 1e-17) is None


@pytest.mark.parametrize("gain", [1.0, 0.03])
def test_a_graded_gain_takes_what_a_paired_t_test_takes(gain: float) -> None:
    n = questions_needed_graded(0.3, gain)
    assert n is not None
    from statsmodels.stats.power import TTestPower

    powers = [TTestPower().power(gain / 0.3, many, 0.05) for many in (n - 1, n)]
    assert powers[0] < 0.8 <= powers[1]


@given(st.lists(st.integers(-3, 3), min_size=2, max_size=7))
@settings(max_examples=30)
def test_the_sign_flip_test_is_the_permutation_test_with_all_patterns(totals: list[int]) -> None:
    from scipy.stats import permutation_test

    found = permutation_test((np.array(totals),), np.sum, permutation_type="samples")
    assert sign_flip(totals) == pytest.approx(min(1.0, found.pvalue))
