"""Plain sentences on what the figures of a run can and cannot show."""

from collections.abc import Iterator
from itertools import count
from math import sqrt

from conflictscore.benchmarks.harness.definition import CHOICES, SCORES
from conflictscore.benchmarks.harness.figures import Figures, Interval, Paired
from conflictscore.benchmarks.harness.methods.registry import BASELINE, method_of
from conflictscore.benchmarks.harness.power import (
    questions_needed,
    questions_needed_graded,
)
from conflictscore.benchmarks.paper_figures import PaperFigures
from conflictscore.benchmarks.registry import BENCHMARKS
from conflictscore.reporting.figure_text import counted, p_value, percent, points, span

_ALPHA = 0.05
_WIDTH_IN_ERRORS = 2 * 1.96
"""Standard errors that a 95 % interval is wide."""
_MOST_BUT_ALL = 0.999
"""Rounds to less than 100.0 %, as a share that is not whole should."""

NEEDED_PAIRS = next(pairs for pairs in count(1) if 2 * 0.5**pairs < _ALPHA)
"""The fewest pairs that differ with which the exact McNemar test can fall below 0.05: when all of
them go one way, its two-sided p is ``2 / 2**pairs``."""


def findings(figures: Figures, paper: PaperFigures | None) -> tuple[str, ...]:
    """One or a few sentences for each thing that a reader could take the figures wrong by."""
    return (
        *_what_is_missing(figures),
        *_comparisons(figures, paper),
        *filter(None, (method_of(method.method).caveat for method in figures.methods)),
    )


def _what_is_missing(figures: Figures) -> Iterator[str]:
    if figures.ended < figures.questions:
        ended = f"{figures.ended:,} of {counted(figures.questions, 'question')}"
        yield f"The run has ended on {ended}: these figures are not final."
    if figures.failed:
        yield (
            f"{counted(figures.failed, 'question')} failed for at least one method; a failure is in"
            " no proportion and no pair."
        )
    unjudged = sum(sum(method.unjudged.values()) for method in figures.methods)
    if unjudged:
        verdicts = "1 verdict" if unjudged == 1 else f"{unjudged:,} verdicts"
        yield f"{verdicts} could not be had; the answers concerned are in no mean of that measure."
    for measure in figures.measures:
        judged = {m.measures[measure].n for m in figures.methods if measure in m.measures}
        if len(judged) > 1:
            what = "means" if figures.is_graded(measure) else "shares"
            yield (
                f"The {what} of {measure} are not over the same questions for every method"
                f" ({min(judged):,} to {max(judged):,}); the two of a pair are."
            )
    if unscored := _unscored(figures):
        yield (
            f"{counted(unscored, 'first answer')} could not be scored: a conflict there cannot be"
            " seen, and a second look keeps the answer."
        )
    coverage = figures.coverage.value
    if coverage is not None and coverage < 1:
        yield (
            f"{percent(min(coverage, _MOST_BUT_ALL))} % of the pairs of claim and document were"
            " labelled; a conflict in the others cannot be seen."
        )
    if figures.transitions and not {*CHOICES.values()} & {*figures.measures}:
        if any(moved.by_wording for moved in figures.transitions):
            yield (
                "In free form an answer counts as revised where the run's labeler does not find"
                " every claim of each answer supported by the other; its mistakes count as changes"
                " and as none. By wording, any other word is a revision."
            )
        else:
            yield "In free form an answer counts as revised where its words differ, however little."
    yield from _judges(figures)


def _judges(figures: Figures) -> Iterator[str]:
    """A remark on the judge, where a model judges the answers."""
    first = figures.measures[0]
    names = ", ".join(figures.measures).capitalize()
    if any(entry.judged_by == first for entry in BENCHMARKS.values()):
        yield (
            f"{names}: a model's verdicts, worth as much as that judge agrees with people. Read"
            " some of them beside the answers (conflictscore export)."
        )
    elif first in SCORES:
        yield (
            f"{names}: from the labeler's verdicts on claims that a model took out of the answer. A"
            " claim that is hedged, or told as what a document says, is labelled by what it says:"
            " less may come of the wording as well as of what was left out."
        )


def _unscored(figures: Figures) -> int:
    """First answers without a pair of claim and document, as where no claims could be had."""
    answered = sum(m.questions - m.failed for m in figures.methods if m.method == BASELINE)
    return max(0, answered - figures.coverage.n)


def _comparisons(figures: Figures, paper: PaperFigures | None) -> Iterator[str]:
    graded = figures.is_graded(figures.measures[0])
    for pair in (*figures.paired, *figures.compared):
        if pair.measure == figures.measures[0] and not method_of(pair.method).control:
            yield " ".join(_comparison(pair, paper, graded=graded))


def _comparison(pair: Paired, paper: PaperFigures | None, *, graded: bool) -> Iterator[str]:
    differing = pair.corrected + pair.harmed
    if pair.n == 0:
        yield f"No question was judged for both {pair.method} and {pair.against}."
        return
    if differing == 0:
        yield (
            f"{pair.method} has the {pair.measure} of {pair.against} on every question"
            f" ({counted(pair.n, 'question')}): no difference was seen."
        )
        return
    p = pair.p_value if pair.p_holm is None else pair.p_holm
    found = p is not None and p < _ALPHA
    adjusted = "" if pair.p_holm is None else f" ({p_value(pair.p_holm)} adjusted by Holm)"
    yield (
        f"{pair.method} differs from {pair.against} by {points(pair.difference.value)} points on"
        f" {counted(pair.n, 'question')} ({_bounds(pair.difference)}), p ="
        f" {p_value(pair.p_value)}{adjusted}."
    )
    if differing < NEEDED_PAIRS:
        few = counted(differing, "question")
        yield f"Only {few} changed: p says little with fewer than {NEEDED_PAIRS}."
    elif found:
        yield "Chance alone would seldom do that."
    elif pair.p_value is not None and pair.p_value < _ALPHA:
        yield "Among so many tests, chance alone could do that."
    else:
        yield "Chance alone could do that."
    if not found and pair.difference.value:  # the observed gain always fits
        yield from _needed(pair, paper, graded=graded)
    reported = paper.difference(pair.method, pair.measure, pair.against) if paper else None
    if paper is not None and reported is not None and pair.difference.low is not None:
        place = "inside" if _holds(pair.difference, reported) else "outside"
        whose = f"{paper.whose[0].upper()}{paper.whose[1:]}"
        yield f"{whose} {points(reported)} points are {place} the interval."


def _needed(pair: Paired, paper: PaperFigures | None, *, graded: bool) -> Iterator[str]:
    """How many questions would show a gain, where answers change as much as here."""
    reported = paper.difference(pair.method, pair.measure, pair.against) if paper else None
    gains = dict.fromkeys(g for g in (reported, pair.difference.value) if g)
    if graded:
        low, high = pair.difference.low, pair.difference.high
        width = 0.0 if low is None or high is None else high - low
        spread = width * sqrt(pair.n) / _WIDTH_IN_ERRORS
        known = [(gain, questions_needed_graded(spread, gain)) for gain in gains]
    else:
        changing = (pair.corrected + pair.harmed) / pair.n
        known = [(gain, questions_needed(changing, gain)) for gain in gains]
    told = [f"{points(gain)} points in {n:,} questions" for gain, n in known if n is not None]
    if told:
        yield f"At this rate of change, 80 % of runs would show a gain of {' or of '.join(told)}."


def _bounds(difference: Interval) -> str:
    if difference.low is None or difference.high is None:
        return "no interval: all questions differ alike"
    bounds = span(points(difference.low), points(difference.high))
    return f"95 % interval {bounds}" + (", which holds 0" if _holds(difference, 0) else "")


def _holds(interval: Interval, value: float) -> bool:
    return (
        interval.low is not None
        and interval.high is not None
        and interval.low <= value <= interval.high
    )
