"""States in plain sentences what a run's figures can and cannot show."""

from collections.abc import Iterator
from itertools import count
from math import sqrt

from conflictscore.benchmarks.harness.definition import SCORES
from conflictscore.benchmarks.harness.figures import Figures, Interval, Paired
from conflictscore.benchmarks.harness.methods.method_opening import method_of
from conflictscore.benchmarks.harness.statistics import (
    ALPHA,
    questions_needed,
    questions_needed_graded,
)
from conflictscore.benchmarks.paper_figures import PaperFigures
from conflictscore.benchmarks.registry import BENCHMARKS
from conflictscore.reporting.figure_text import counted, p_value, points, span

_WIDTH_IN_ERRORS = 2 * 1.96
"""The width of a 95 % interval, in standard errors, if the mean is normally distributed."""

NEEDED_PAIRS = next(pairs for pairs in count(1) if 2 * 0.5**pairs < ALPHA)
"""The fewest differing pairs with which the exact McNemar test can yield a p-value below 0.05.

If all pairs differ in the same direction, the two-sided p is ``2 / 2**pairs``.
"""


def findings(figures: Figures, paper: PaperFigures | None) -> tuple[str, ...]:
    """Return one statement for each way in which a reader could misread the figures."""
    is_graded = figures.is_graded(figures.measures[0])
    comparisons = [
        " ".join(_comparison(pair, paper, is_graded=is_graded))
        for pair in figures.tests
        if pair.measure == figures.measures[0]
    ]
    caveats = (method_of(method.method).caveat for method in figures.methods)
    return (*_judges(figures), *comparisons, *filter(None, caveats))


def _judges(figures: Figures) -> Iterator[str]:
    first = figures.measures[0]
    names = ", ".join(figures.measures).capitalize()
    if any(benchmark.judged_by == first for benchmark in BENCHMARKS.values()):
        yield (
            f"{names}: verdicts of a model. Such verdicts are only as good as the model's agreement"
            " with annotators. Check some of them against the answers (conflictscore export)."
        )
    elif first in SCORES:
        yield (
            f"{names}: based on the labeler's verdicts on claims that a model extracted from the"
            " answer. A claim that an answer hedges or attributes is labelled as it is worded. So"
            " a score may be lower because the answer is worded differently, or omits claims."
        )


def _comparison(pair: Paired, paper: PaperFigures | None, *, is_graded: bool) -> Iterator[str]:
    """Describe the difference between two methods, its significance, and the paper's difference.

    If there are several tests, the Holm-adjusted p-value decides significance.
    """
    differing = pair.corrected + pair.harmed
    if pair.n == 0:
        yield f"No question was judged for both {pair.method} and {pair.against}."
        return
    if differing == 0:
        yield (
            f"{pair.method} has the same {pair.measure} as {pair.against} on every question"
            f" ({counted(pair.n, 'question')}): no difference was seen."
        )
        return
    p = pair.p_value if pair.p_holm is None else pair.p_holm
    is_significant = p is not None and p < ALPHA
    holm_note = "" if pair.p_holm is None else f" ({p_value(pair.p_holm)} after Holm's adjustment)"
    yield (
        f"{pair.method} differs from {pair.against} by {points(pair.difference.value)} points on"
        f" {counted(pair.n, 'question')} ({_bounds(pair.difference)}),"
        f" {_p_in_words(pair.p_value)}{holm_note}."
    )
    yield _by_chance(pair, differing, is_significant=is_significant)
    paper_difference = paper.difference(pair.method, pair.measure, pair.against) if paper else None
    # if the methods differ by 0 on average, there is no gain to plan for
    if not is_significant and pair.difference.value:
        yield from _needed(pair, paper_difference, is_graded=is_graded)
    if paper is not None and paper_difference is not None and pair.difference.low is not None:
        place = "inside" if _holds(pair.difference, paper_difference) else "outside"
        whose = f"{paper.whose[0].upper()}{paper.whose[1:]}"
        yield f"{whose} {points(paper_difference)} points are {place} the interval."


def _p_in_words(p: float | None) -> str:
    """Format a p-value, for example as ``p = 0.012`` or ``p < 0.001``."""
    text = p_value(p)
    return f"p < {text.removeprefix('<')}" if text.startswith("<") else f"p = {text}"


def _by_chance(pair: Paired, differing: int, *, is_significant: bool) -> str:
    """Say whether chance alone could explain the difference."""
    if differing < NEEDED_PAIRS:
        few = counted(differing, "question")
        return f"Only {few} changed. If fewer than {NEEDED_PAIRS} questions change, p says little."
    if is_significant:
        return "Such a difference would seldom arise by chance."
    if pair.p_value is not None and pair.p_value < ALPHA:
        return "With this many tests, such a difference could arise by chance."
    return "Such a difference could arise by chance."


def _needed(pair: Paired, paper_difference: float | None, *, is_graded: bool) -> Iterator[str]:
    """Say how many questions would show the gain if answers keep changing at this rate."""
    gains = dict.fromkeys(g for g in (paper_difference, pair.difference.value) if g)
    if is_graded:
        # the figures contain no standard deviation, so it is derived from the interval
        width = (pair.difference.high or 0.0) - (pair.difference.low or 0.0)
        spread = width * sqrt(pair.n) / _WIDTH_IN_ERRORS
        counts_by_gain = [(gain, questions_needed_graded(spread, gain)) for gain in gains]
    else:
        changing = (pair.corrected + pair.harmed) / pair.n
        counts_by_gain = [(gain, questions_needed(changing, gain)) for gain in gains]
    sizes = [
        f"{points(gain)} points in {n:,} questions" for gain, n in counts_by_gain if n is not None
    ]
    if sizes:
        yield f"If answers change this often, 80 % of runs show a gain of {' or of '.join(sizes)}."


def _bounds(difference: Interval) -> str:
    if difference.low is None or difference.high is None:
        return "no interval, because the difference is the same on every question"
    bounds = span(points(difference.low), points(difference.high))
    return f"95 % interval {bounds}" + (", which contains 0" if _holds(difference, 0) else "")


def _holds(interval: Interval, number: float) -> bool:
    """Return whether the interval contains a number; without bounds, it contains none."""
    return (
        interval.low is not None
        and interval.high is not None
        and interval.low <= number <= interval.high
    )
