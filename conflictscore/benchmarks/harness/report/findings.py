"""Plain sentences on what the figures of a run can and cannot show."""

from collections.abc import Iterator
from itertools import count
from math import sqrt

from conflictscore.benchmarks.harness.definition import CHOICES, SCORES
from conflictscore.benchmarks.harness.figures import Figures, Interval, Paired
from conflictscore.benchmarks.harness.methods.registry import BASELINE, method_of
from conflictscore.benchmarks.harness.power import (
    least_gain,
    questions_needed,
    questions_needed_graded,
)
from conflictscore.benchmarks.harness.report.flips import SECOND_LOOKS
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
them go one way, its two-sided p is ``2 / 2**pairs``. By a graded measure, with fewer than these p
rests on an approximation or cannot fall so low either."""


def findings(figures: Figures, paper: PaperFigures | None) -> tuple[str, ...]:
    """One or a few sentences for each thing that a reader could take the figures wrong by.

    Args:
        figures: The figures of a run.
        paper: What a paper reports for the same form; None where it has nothing.
    """
    return (
        *_what_is_missing(figures),
        *_comparisons(figures, paper),
        *_controls(figures),
        *_few_revised(figures),
        *_caveats(figures),
        *_paper_itself(figures, paper),
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
    tested = [
        pair
        for pair in (*figures.paired, *figures.compared)
        if pair.measure == figures.measures[0] and not method_of(pair.method).control
    ]
    graded = figures.is_graded(figures.measures[0])
    for pair in tested:
        yield _comparison(pair, paper, graded=graded)


def _comparison(pair: Paired, paper: PaperFigures | None, *, graded: bool) -> str:
    other = pair.against
    if pair.n == 0:
        return f"No question was judged for both {pair.method} and {other}: nothing can be said."
    differing = pair.corrected + pair.harmed
    if differing == 0:
        alike = (
            f"{pair.method} had the {pair.measure} of {other} on every question"
            if graded
            else f"{pair.method} was right and wrong on the same questions as {other}"
        )
        gain = None if graded else least_gain(pair.n)
        shown = (
            f" So many questions show a gain of {points(gain)} points, or more, in 80 % of runs, if"
            " every change is for the better."
        )
        seen = f"{alike} ({counted(pair.n, 'question')}): no difference was seen."
        return seen if gain is None else f"{seen}{shown}"
    holds_zero = _holds(pair.difference, 0)
    p = pair.p_value if pair.p_holm is None else pair.p_holm
    found = p is not None and p < _ALPHA
    adjusted = "" if pair.p_holm is None else f" ({p_value(pair.p_holm)} adjusted by Holm)"
    parts = [
        f"{pair.method} differs from {other} by {points(pair.difference.value)} points on"
        f" {counted(pair.n, 'question')} ({_bounds(pair.difference)}), p ="
        f" {p_value(pair.p_value)}{adjusted}."
    ]
    if differing < NEEDED_PAIRS and graded:
        parts.append(
            f"Only {counted(differing, 'question')} changed: too few for p to say much, whatever"
            " it is."
        )
    elif differing < NEEDED_PAIRS:
        parts.append(
            f"With {counted(differing, 'discordant pair')} no result can reach p < .05: at least"
            f" {NEEDED_PAIRS} are needed."
        )
    elif found:
        parts.append("Chance alone would seldom do that.")
    elif pair.p_value is not None and pair.p_value < _ALPHA:
        parts.append("Among so many tests, chance alone could do that.")
    else:
        parts.append("Chance alone could do that.")
    if not found and pair.difference.value:  # the observed gain always fits
        parts += _needed(pair, paper, graded=graded)
    if pair.difference.low is not None and not holds_zero and not found:
        # the resamples of a few pairs that mostly go one way hardly ever come to 0
        test, pairs = ("test", "changes") if graded else ("exact test", "discordant pairs")
        parts.append(
            f"The interval leaves 0 out where the {test} does not: a bootstrap of so few"
            f" {pairs} is too narrow, so go by p."
        )
        return " ".join(parts)
    reported = paper.difference(pair.method, pair.measure, other) if paper else None
    if paper is not None and reported is not None and pair.difference.low is not None:
        fits = _holds(pair.difference, reported)
        told = f"{paper.whose} {points(reported)} points"
        parts.append(_against_paper(told, fits=fits, holds_zero=holds_zero))
    return " ".join(parts)


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


def _against_paper(told: str, *, fits: bool, holds_zero: bool) -> str:
    if fits and holds_zero:
        return f"The interval holds {told} too: this run neither confirms nor refutes them."
    return f"{told[0].upper()}{told[1:]} are {'inside' if fits else 'outside'} the interval."


def _controls(figures: Figures) -> Iterator[str]:
    better, worse = figures.change_words(figures.measures[0])
    for pair in figures.paired:
        control = method_of(pair.method).control
        if pair.measure == figures.measures[0] and control and pair.n:
            yield (
                f"{control} ({pair.method}), the result changed on"
                f" {pair.corrected + pair.harmed:,} of {counted(pair.n, 'question')}:"
                f" {pair.corrected:,} {better}, {pair.harmed:,} {worse}."
                f"{_where_in_conflict(figures, pair.method)} A method that does no better shows"
                " nothing of its own."
            )


def _where_in_conflict(figures: Figures, method: str) -> str:
    """A control's changes to the answers that a second look asks about: the fair comparison."""
    moved = next((moved for moved in figures.transitions if moved.method == method), None)
    if moved is None:
        return ""
    better, worse = figures.change_words(figures.measures[0])
    return (
        f" Of the first answers with conflict, {moved.conflict:,} in all and the only ones that a"
        f" second look asks about: {moved.corrections.count:,} {better}, {moved.harms.count:,}"
        f" {worse}."
    )


def _few_revised(figures: Figures) -> Iterator[str]:
    _, worse = figures.change_words(figures.measures[0])
    harmed = f"{worse} values" if figures.is_graded(figures.measures[0]) else "harms"
    for moved in figures.transitions:
        harms = moved.harms
        if moved.method not in SECOND_LOOKS:
            continue
        if harms.low is None:
            yield (
                f"Under {moved.method} no answer was both revised and judged, of"
                f" {counted(moved.conflict, 'first answer')} with conflict: nothing can be said of"
                " its corrections and harms."
            )
        else:
            yield (
                f"Under {moved.method} the share of {harmed} rests on"
                f" {counted(harms.n, 'revised answer')}: anything from"
                f" {span(percent(harms.low), percent(harms.high))} % fits."
            )


def _caveats(figures: Figures) -> Iterator[str]:
    return filter(None, (method_of(method.method).caveat for method in figures.methods))


def _paper_itself(figures: Figures, paper: PaperFigures | None) -> Iterator[str]:
    if paper and paper.transitions and figures.paired:
        told = paper.transitions
        yield (
            f"By the same test the paper's own {told.corrections} corrections and {told.harms}"
            f" harms give p = {p_value(told.p_value)}."
        )


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
