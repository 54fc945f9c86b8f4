"""Computes the statistics behind the figures, with scipy and statsmodels (the extra ``[bench]``).

Every result is deterministic, and depends only on the values, not on their order.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from math import fsum, lcm

from conflictscore.benchmarks.harness.figures import Interval, Proportion
from conflictscore.errors import ConfigurationError, install_hint

_NEEDED = ("scipy", "statsmodels")
"""The packages of the extra [bench] that the tests and intervals need."""
ALPHA = 0.05
"""The significance level of all tests, and one minus the coverage of all intervals."""
POWER = 0.8
"""The power used to compute the number of questions needed; 0.8 is customary."""
_MOST = 10_000_000
"""The largest number of questions to consider; a gain that needs more is too small to matter.

The number was chosen by hand: no benchmark has a thousandth of this number. The search would take
longer with a larger number.
"""
_RESAMPLES = 9_999
"""The number of bootstrap samples of an interval, which is scipy's default."""
_MOST_SUMS = 500_000
"""The largest sum for which :func:`sign_flip` stores a probability per sum (8 megabytes)."""


def require_statistics() -> None:
    """Check that scipy and statsmodels are installed, before anything is paid for."""
    if not all(map(find_spec, _NEEDED)):
        raise ConfigurationError(f"the statistics need the extra [bench]: {install_hint('bench')}")


def proportion(count: int, n: int) -> Proportion:
    """Compute a proportion with its Wilson 95 % interval; if n is 0, return only the counts."""
    if not 0 <= count <= n:
        raise ValueError(f"{count} of {n} is not a proportion")
    if not n:
        return Proportion(count=0, n=0, value=None)
    require_statistics()
    from statsmodels.stats.proportion import proportion_confint

    share = count / n
    low, high = proportion_confint(count, n, alpha=ALPHA, method="wilson")
    # keep the value inside the interval in spite of rounding errors at 0 and 1
    return Proportion(
        count=count, n=n, value=share, low=min(float(low), share), high=max(float(high), share)
    )


def mean_interval(values: Sequence[float]) -> Interval:
    """Compute the mean of one value per question, with its 95 % percentile bootstrap interval.

    The percentile interval contains the middle 95 % of the means of resampled questions. BCa
    intervals would correct for the skew of the values. But a paired comparison has too few
    differing questions to estimate the skew. On differences of -1, 0 and 1, BCa intervals contained
    the true mean no more often.

    Resampling identical values always gives the same mean, which says nothing about the error. So
    the bounds are None if the values are identical, or if there is only one.
    """
    if not values:
        return Interval(value=None, n=0)
    mean, in_order = fsum(values) / len(values), sorted(map(float, values))
    if in_order[0] == in_order[-1]:
        return Interval(value=in_order[0], n=len(values))
    require_statistics()
    low, high = _bootstrap(tuple(in_order))
    return Interval(value=mean, low=low, high=high, n=len(values))


@lru_cache(maxsize=1024)  # a report computes many of these intervals repeatedly
def _bootstrap(in_order: tuple[float, ...]) -> tuple[float, float]:
    import numpy as np
    from scipy.stats import bootstrap

    interval = bootstrap(
        (in_order,),
        np.mean,
        n_resamples=_RESAMPLES,
        # this batch size keeps the bootstrap samples of a whole benchmark within a few megabytes
        batch=500,
        confidence_level=1 - ALPHA,
        method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    return float(interval.low), float(interval.high)


def changes(pairs: Iterable[tuple[float, float]]) -> list[float]:
    """Return the differences by question, after minus before, without their rounding errors.

    A rounding error would make an unchanged grade look changed, and equal changes look unequal.
    """
    # 12 digits: far coarser than the errors, far finer than the difference of two grades
    return [round(new - old, 12) for old, new in pairs]


def wilcoxon_pratt(differences: Sequence[float]) -> float | None:
    """Compute p, in (0, 1], by the two-sided Wilcoxon signed-rank test over questions.

    Zeros are ranked with the other differences and then dropped (Pratt), so unchanged questions
    make a difference less credible. If there are no ties or zeros, scipy computes p exactly for up
    to 50 differences. If there are ties or zeros, scipy uses all patterns of signs for up to 13
    differences. In all other cases, scipy uses the normal distribution.

    The normal distribution makes p too small if only a few of many questions changed. But
    ``changed`` signs have only ``2**changed`` patterns, so no two-sided test of signs can reach a p
    below ``2 / 2**changed``. A smaller p is raised to this bound.

    Returns 1 if all differences are 0, and None if there are none.
    """
    if not differences:
        return None
    if not any(differences):
        return 1.0
    require_statistics()
    from scipy.stats import wilcoxon

    p = float(wilcoxon(sorted(differences), zero_method="pratt").pvalue)
    changed = sum(difference != 0 for difference in differences)
    return max(p, 2 * 0.5**changed)


def mcnemar(corrections: int, harms: int) -> float:
    """Compute p, in (0, 1], by the exact two-sided McNemar test; 1 if nothing changed."""
    require_statistics()
    from statsmodels.stats.contingency_tables import mcnemar as test

    # the exact test ignores the diagonal: questions on which both methods do the same
    return float(test([[0, corrections], [harms, 0]], exact=True).pvalue)


def sign_flip(totals: Sequence[int]) -> float | None:
    """Compute p, in (0, 1], by the exact two-sided sign-flip test over questions.

    The null hypothesis is a sum of 0. If this hypothesis is true, each total is equally likely to
    have the opposite sign. For totals of -1, 0 and 1 this is the exact McNemar test; for sums over
    several runs it is the McNemar test with questions as clusters. All patterns of signs are
    counted, adding one question at a time. Returns 1 if all totals are 0, and None if there are
    none.

    If the absolute totals add up to more than ``_MOST_SUMS``, they are divided by a whole number
    and rounded, since there is one probability per possible sum. The tail then starts lower by the
    largest possible rounding error, so p may be too large, but never too small. Totals are this
    large only if the questions of a study have different numbers of runs: the totals are then
    multiplied by the common denominator of these numbers (:func:`mean_sign_flip`).
    """
    if not totals:
        return None
    require_statistics()
    import numpy as np

    largest_sum = sum(map(abs, totals))
    unit = max(1, -(-largest_sum // _MOST_SUMS))
    steps = [round(abs(total) / unit) for total in totals if total]
    observed_sum, rounding_error = abs(sum(totals)), 0
    if unit > 1:
        # any sum of rounded totals is off by at most half a unit per question
        observed_sum, rounding_error = observed_sum // unit, -(-len(steps) // 2)
    chances, reach = np.ones(1), 0
    for step in steps:
        after = np.zeros(len(chances) + 2 * step)  # one probability per sum, from -reach to reach
        after[: len(chances)] += chances / 2
        after[2 * step :] += chances / 2
        chances, reach = after, reach + step
    tail = reach + max(0, observed_sum - rounding_error)
    return min(1.0, 2 * float(chances[tail:].sum()))


def mean_sign_flip(values_by_question: Sequence[Sequence[float]]) -> float | None:
    """Average values over runs and then over questions, and test that mean; see :func:`sign_flip`.

    ``values_by_question`` contains each question's differences (-1, 0 or 1), one per run. Some
    questions may have fewer runs than others, so the means are brought to a common denominator.
    """
    if not values_by_question:
        return None
    denominator = lcm(*map(len, values_by_question))
    return sign_flip(
        [
            round(fsum(differences)) * (denominator // len(differences))
            for differences in values_by_question
        ]
    )


def ratio_interval(pairs: Sequence[tuple[int, int]]) -> Interval:
    """Compute the ratio of two sums over questions, with a 95 % bootstrap interval.

    Each pair is a question's count and total. Whole questions are resampled, since the runs of a
    question are dependent. A question whose total is 0 adds to neither sum, so it is ignored.
    ``n`` is the sum of the totals. If all bootstrap samples are equal, the bounds are None. If
    there is no question, the interval has no value either.
    """
    counted_pairs = [pair for pair in pairs if pair[1]]
    total = sum(whole for _, whole in counted_pairs)
    if not total:
        return Interval(value=None, n=0)
    import numpy as np

    share = sum(part for part, _ in counted_pairs) / total
    kinds, counts = np.unique(np.array(counted_pairs), axis=0, return_counts=True)
    n = len(counted_pairs)
    # the seed is fixed, so that the same figures have the same interval
    draws = np.random.default_rng(0).multinomial(n, counts / n, size=_RESAMPLES) @ kinds
    low, high = map(float, np.percentile(draws[:, 0] / draws[:, 1], [2.5, 97.5]))
    if low == high:
        return Interval(value=share, n=total)
    return Interval(value=share, low=low, high=high, n=total)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values by Holm's step-down method, and return them in the same order.

    An adjusted p-value is at least the original one, and at most 1.

    Rejecting hypotheses whose adjusted p-value is below 0.05 keeps the chance of any false
    rejection below 5 %.
    """
    # statsmodels' multipletests runs the garbage collector at each call, which takes up to a second
    # in a big process
    p_adjusted, largest, tests_left = list(p_values), 0.0, len(p_values)
    for place in sorted(range(tests_left), key=p_values.__getitem__):
        largest = max(largest, min(1.0, tests_left * p_values[place]))
        p_adjusted[place] = largest
        tests_left -= 1
    return p_adjusted


def krippendorff_alpha(units: Iterable[Sequence[Hashable]]) -> float | None:
    """Compute Krippendorff's alpha for nominal values, that is, agreement beyond chance.

    Each unit is a list of ratings, of any length. A unit with a single rating is ignored. The
    maximum is 1, and chance agreement gives 0. Returns None if no unit has two ratings, or if all
    ratings are equal. Source: Krippendorff, Content Analysis (2004), chapter 11: alpha = 1 -
    observed / expected disagreement.
    """
    counts_by_unit = [Counter(ratings) for ratings in units if len(ratings) > 1]
    totals = sum(counts_by_unit, Counter[Hashable]())
    n = totals.total()

    def unequal(counts: Counter[Hashable]) -> int:  # the number of ordered pairs that differ
        return counts.total() ** 2 - sum(count**2 for count in counts.values())

    if not unequal(totals):
        return None
    disagreement = sum(unequal(counts) / (counts.total() - 1) for counts in counts_by_unit) / n
    return 1 - disagreement / (unequal(totals) / (n * (n - 1)))


def mcnemar_power(questions: int, discordant: float, gain: float) -> float:
    """Compute the probability that the exact two-sided McNemar test shows a gain at the 5 % level.

    The power is unconditional: it averages over the number of discordant pairs, which has a
    binomial distribution, and over the number of these pairs that favour the better method.

    Args:
        questions: The number of questions judged for both methods, at least 1.
        discordant: The share of questions that only one of the two methods gets right, in (0, 1].
        gain: The difference between the two shares of correct answers, in (0, ``discordant``].
    """
    require_statistics()
    import numpy as np
    from scipy.stats import binom

    # to save time, both tails of the number of discordant pairs are cut off; each has a probability
    # of at most 1e-12, far below any difference in power that matters
    least, most = binom.ppf(1e-12, questions, discordant), binom.isf(1e-12, questions, discordant)
    pairs = np.arange(least, most + 1)
    # the largest k, the number of pairs that favour the worse method, with 2 P(X <= k) < ALPHA
    lesser = binom.ppf(ALPHA / 2, pairs, 0.5) - 1
    chance_of_p = binom.cdf(lesser, pairs, (discordant - gain) / (2 * discordant))
    return float(np.sum(binom.pmf(pairs, questions, discordant) * chance_of_p))


@lru_cache(maxsize=1024)  # the search is slow, and reports ask for the same shares repeatedly
def questions_needed(discordant: float, gain: float) -> int | None:
    """Compute how many questions the exact McNemar test needs for 80 % power at the 5 % level.

    Args:
        discordant: The share of questions that only one of the two methods gets right, in (0, 1].
        gain: The difference between the two shares of correct answers, in [-``discordant``,
            ``discordant``].

    Returns:
        The number of questions, or None if no number suffices because the gain is 0, larger
        than ``discordant``, or too small to detect with ten million questions. If nearly all
        questions are discordant, the power of the exact test rises and falls with each question,
        so a slightly smaller number may also suffice.
    """
    gain = abs(gain)
    if not gain or not gain <= discordant <= 1:
        return None
    return _fewest(lambda many: mcnemar_power(many, discordant, gain))


def questions_needed_graded(spread: float, gain: float) -> int | None:
    """Compute how many questions a graded measure needs for the same power.

    The power is computed for the paired t-test, since Wilcoxon's test has no formula for power.
    ``spread`` is the standard deviation of the differences by question. Returns None if the gain or
    the spread is 0, or if ten million questions are not enough.
    """
    if not gain or not spread:
        return None
    require_statistics()
    from statsmodels.stats.power import TTestPower

    effect = abs(gain) / spread
    # TTestPower's own solver does not converge for very large and very small effects
    return _fewest(lambda many: float(TTestPower().power(effect, many, ALPHA)))


def _fewest(power: Callable[[int], float]) -> int | None:
    """Return a number of questions, 2 or more, whose power reaches ``POWER``.

    If the power never falls, this is the smallest such number. Returns None above ten million.
    """
    few, many = 1, 2
    while power(many) < POWER:
        if many == _MOST:
            return None
        few, many = many, min(2 * many, _MOST)
    while many - few > 1:
        middle = (few + many) // 2
        if power(middle) < POWER:
            few = middle
        else:
            many = middle
    return many
