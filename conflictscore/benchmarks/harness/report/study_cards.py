"""A study of several runs as tables."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from conflictscore.benchmarks.harness.figures import Figures, Interval
from conflictscore.benchmarks.harness.report.page.report_run import ReportRun
from conflictscore.benchmarks.harness.report.study import PooledPair, Study, study_groups, study_of
from conflictscore.reporting.figure_text import (
    counted,
    one_line,
    p_value,
    percent,
    points,
    span,
)
from conflictscore.reporting.plain_table import Card


def all_study_cards(runs: Sequence[ReportRun]) -> Iterator[Card]:
    """The tables of all studies that some of these runs make."""
    for group in study_groups(runs):
        yield from study_cards(study_of(group), group[0].figures)


def study_cards(study: Study, figures: Figures) -> Iterator[Card]:
    """The tables of a study in order."""
    yield Card(
        f"Study: {counted(len(study.runs), 'run')} of {study.benchmark}, {study.form}",
        note=f"{', '.join(map(one_line, study.runs))}\n"
        f"{study.in_all:,} of {counted(study.questions, 'question')} are in all runs",
    )
    groups: dict[tuple[str, str], list[PooledPair]] = {}
    for pair in study.pairs:
        groups.setdefault((pair.against, pair.measure), []).append(pair)
    for number, ((other, measure), pairs) in enumerate(groups.items()):
        card = _pooled(other, measure, pairs, figures)
        yield replace(card, note="") if number else card
    yield from _between(study)
    yield from _flips(study)
    yield from _noise(study)
    if sentences := [sentence for pair in study.pairs if (sentence := _needed(pair))]:
        yield Card("Not shown by this study", rows=tuple(("-", one) for one in sentences))


def _pooled(other: str, measure: str, pairs: list[PooledPair], figures: Figures) -> Card:
    rows: list[tuple[str, ...]] = []
    faint = set()
    for pair in pairs:
        each = pair.runs.values()
        moved = (sum(r.corrected for r in each), sum(r.harmed for r in each))
        rows.append((pair.method, *_cells(pair.difference, moved), *_p(pair)))
        for name, run in pair.runs.items():
            faint.add(len(rows))
            moved = run.corrected, run.harmed
            rows.append(
                (
                    f"  {one_line(name, 20)}",
                    *_cells(run.difference, moved),
                    p_value(run.p_value),
                    "",
                )
            )
    return Card(
        f"Pooled against {other}, by question: {one_line(measure)}",
        ("method", "n", *figures.change_words(measure), "points", "95 % interval", "p", "Holm"),
        tuple(rows),
        "pooled: mean over questions of the mean over their runs; n: questions; changes: of all"
        " runs together\np, two-sided, by question: sign-flip test, of one run the exact McNemar"
        " test; of graded measures Wilcoxon's; Holm: over all pairs of the study",
        faint=frozenset(faint),
    )


def _cells(difference: Interval, moved: tuple[int, int]) -> tuple[str, ...]:
    return (
        f"{difference.n:,}",
        *(f"{count:,}" for count in moved),
        points(difference.value),
        span(points(difference.low), points(difference.high)),
    )


def _p(pair: PooledPair) -> tuple[str, str]:
    return p_value(pair.p_value), "" if pair.p_holm is None else p_value(pair.p_holm)


def _between(study: Study) -> Iterator[Card]:
    rows = [
        (
            pair.method,
            pair.against,
            one_line(pair.measure),
            f"{100 * pair.between:.2f}",
            f"{100 * pair.by_chance:.2f}",
        )
        for pair in study.pairs
        if pair.between is not None and pair.by_chance is not None
    ]
    if rows:
        yield Card(
            "Between runs: standard deviation of the difference, in points",
            ("method", "against", "measure", "found", "by chance"),
            tuple(rows),
            "by chance: if runs differed on single questions alone, and none was better as a whole",
        )


def _flips(study: Study) -> Iterator[Card]:
    rows = [
        (
            one.method,
            f"{one.questions:,}",
            f"{one.ever:,}",
            f"{one.always:,}",
            "none" if one.alpha is None else f"{one.alpha:.2f}",
            percent(one.same_kind.value),
            f"{one.same_kind.n:,}",
        )
        for one in study.flips
    ]
    if rows:
        yield Card(
            "Flips in several runs",
            ("method", "n", "ever", "always", "alpha", "same\noutcome %", "of"),
            tuple(rows),
            "n: questions answered in all runs; ever and always: changed in any run and in all;"
            " alpha: Krippendorff's, of these changes\nsame outcome: of those changed and judged in"
            " several runs",
        )


def _noise(study: Study) -> Iterator[Card]:
    rows = [
        (
            f"{one_line(noise.measure)}, {what}",
            percent(value.value),
            span(percent(value.low), percent(value.high)),
            f"{value.n:,}",
        )
        for noise in study.noise
        for what, value in (("answers", noise.answers), ("flips", noise.flips))
        if value.n
    ]
    if rows:
        yield Card(
            "Two judgements of one answer that differ",
            ("measure", "%", "95 % interval", "n"),
            tuple(rows),
            "n: answers in the same words, and flips between the same two, that were judged in at"
            " least two runs; a verdict found in a cache is no judgement",
        )


def _needed(pair: PooledPair) -> str:
    """Questions that would show a difference that is not shown; empty where it is, or is 0."""
    if pair.needed is None:
        return ""
    return (
        f"{pair.method} against {pair.against} by {one_line(pair.measure)}:"
        f" {points(pair.difference.value)} points would take about"
        f" {counted(pair.needed, 'question')}, each in {counted(len(pair.runs), 'run')} (power"
        f" 80 %); there are {pair.difference.n:,}."
    )
