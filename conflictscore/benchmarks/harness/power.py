"""The questions that a comparison of two methods needs, by the tests that reports use."""

from collections.abc import Callable
from functools import lru_cache

from conflictscore.benchmarks.harness.statistics import require_statistics

ALPHA = 0.05
POWER = 0.8
_MOST = 10_000_000
"""Questions beyond which a gain is too small to ask about."""


def mcnemar_power(questions: int, discordant: float, gain: float) -> float:
    """The chance that the exact two-sided McNemar test shows a gain at 5 %.

    Args:
        questions: Judged for both methods, at least 1.
        discordant: The share of questions that only one of the two gets right, in (0, 1].
        gain: The difference of their shares of right answers, in (0, ``discordant``].

    Returns:
        The unconditional power, in [0, 1]: over the number of discordant pairs, which is binomial,
        and over how many of them favour the better method.
    """
    require_statistics()
    import numpy as np
    from scipy.stats import binom

    least, most = binom.ppf(1e-12, questions, discordant), binom.isf(1e-12, questions, discordant)
    pairs = np.arange(least, most + 1)
    # the most that the lesser side may have: 2 P(X <= k) < ALPHA
    lesser = binom.ppf(ALPHA / 2, pairs, 0.5) - 1
    shown = binom.cdf(lesser, pairs, (discordant - gain) / (2 * discordant))
    return float(np.sum(binom.pmf(pairs, questions, discordant) * shown))


@lru_cache(maxsize=1024)
def questions_needed(discordant: float, gain: float) -> int | None:
    """The questions with which the exact McNemar test shows a gain in 80 % of runs, at 5 %.

    Args:
        discordant: The share of questions that only one of the two methods gets right, in (0, 1].
        gain: The difference of their shares of right answers, in [-``discordant``, ``discordant``].

    Returns:
        None where no number can be had: the gain is 0, larger than ``discordant``, or so small that
        ten million questions do not show it.
    """
    gain = abs(gain)
    if not gain or not gain <= discordant <= 1:
        return None
    return _fewest(lambda many: mcnemar_power(many, discordant, gain))


def questions_needed_graded(spread: float, gain: float) -> int | None:
    """The same of a paired t-test of a graded measure, for which Wilcoxon's has no formula.

    Args:
        spread: The standard deviation of the differences by question, at least 0.
        gain: The mean difference to be shown; None comes back for 0.
    """
    if not gain or not spread:
        return None
    require_statistics()
    from statsmodels.stats.power import TTestPower

    effect = abs(gain) / spread
    # TTestPower's own solver fails to converge for large and for small effects
    return _fewest(lambda many: float(TTestPower().power(effect, many, ALPHA)))


def _fewest(power: Callable[[int], float]) -> int | None:
    """The fewest questions, at least 2, with that power; None beyond ten million."""
    few, many = 1, 2
    while power(many) < POWER:
        few, many = many, 2 * many
        if many > _MOST:
            return None
    while many - few > 1:
        middle = (few + many) // 2
        if power(middle) < POWER:
            few = middle
        else:
            many = middle
    return many
