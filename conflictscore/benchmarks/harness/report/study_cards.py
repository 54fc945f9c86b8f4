"""Shows a study of several runs in tables, for the terminal, the page and exports."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from conflictscore.benchmarks.harness.figures import Figures
from conflictscore.benchmarks.harness.report.figure_cells import difference_cells, estimate_cells
from conflictscore.benchmarks.harness.report.page.report_run import ReportRun
from conflictscore.benchmarks.harness.report.study import (
    PooledPair,
    Study,
    study_groups,
    study_of,
)
from conflictscore.benchmarks.harness.report.study_pooling import PooledTransitions
from conflictscore.reporting.figure_text import counted, one_line, p_value, percent, points, span
from conflictscore.reporting.plain_table import Card, card_of


def all_study_cards(runs: Sequence[ReportRun]) -> Iterator[Card]:
    """Yield the tables of all studies that these runs form."""
    return (card for _, card in named_study_cards(runs))


def named_study_cards(runs: Sequence[ReportRun]) -> Iterator[tuple[str, Card]]:
    """Yield the tables of all studies, each with a name that tells the studies apart.

    A single study is named ``all runs``.
    """
    groups = study_groups(runs)
    for group in groups:
        study = study_of(group)
        name = f"all runs of {study.benchmark}, {study.form}" if len(groups) > 1 else "all runs"
        for card in study_cards(study, group[0].figures):
            yield name, card


def study_cards(study: Study, figures: Figures) -> Iterator[Card]:
    """Yield the tables of one study.

    ``figures`` may be the figures of any run of the study, since only their names are used.
    """
    yield Card(
        f"Study: {counted(len(study.runs), 'run')} of {study.benchmark}, {study.form}",
        note=f"{', '.join(map(one_line, study.runs))}\n"
        f"{_temperature_line(study)}"
        f"{study.in_all:,} of {counted(study.questions, 'question')} are in all runs",
    )
    yield from _pooled_cards(study)
    groups = defaultdict[tuple[str, str], list[PooledPair]](list)
    for pair in study.pairs:
        groups[pair.against, pair.measure].append(pair)
    note = (
        "pooled: the mean over runs, then over questions; n: number of questions; changes: number"
        " of changed answers in all runs\np: two-sided, from a sign-flip test over questions (with"
        " one run, from the exact McNemar test) or, for graded measures, from Wilcoxon's test\n"
        "Holm: p, adjusted for all pairs of the study"
    )
    for (against, measure), pairs in groups.items():
        yield _pooled_card(against, measure, pairs, figures, note)
        note = ""  # only the first table explains the columns
    for card in (
        card_of(
            "Between runs: standard deviation of the difference, in points",
            ("method", "against", "measure", "found", "by chance"),
            [
                (
                    pair.method,
                    pair.against,
                    one_line(pair.measure),
                    f"{100 * pair.between:.2f}",
                    f"{100 * pair.by_chance:.2f}",
                )
                for pair in study.pairs
                if pair.between is not None and pair.by_chance is not None
            ],
            "by chance: the deviation to expect if no run were better than the others overall",
        ),
        card_of(
            "Flips in several runs",
            ("method", "n", "ever", "always", "alpha"),
            [
                (
                    flip.method,
                    flip.questions,
                    flip.ever,
                    flip.always,
                    "none" if flip.alpha is None else f"{flip.alpha:.2f}",
                )
                for flip in study.flips
            ],
            "n: questions that were answered in all runs; ever: answers that changed in at least"
            " one run; always: answers that changed in all runs; alpha: Krippendorff's alpha of"
            " these changes",
        ),
        card_of(
            "How often two judgements of the same answer differ",
            ("measure", "%", "95 % interval", "n"),
            [
                (
                    f"{one_line(noise.measure)}, {what}",
                    percent(disagreement.value),
                    span(percent(disagreement.low), percent(disagreement.high)),
                    disagreement.n,
                )
                for noise in study.noise
                for what, disagreement in (("answers", noise.answers), ("flips", noise.flips))
                if disagreement.n
            ],
            "n: number of answers with the same words, or of the same flips, that were judged in"
            " at least two runs; a cached verdict does not count as a judgement",
        ),
        Card("Differences that this study does not show", rows=tuple(_not_shown(study))),
    ):
        if card.rows:
            yield card


def _pooled_card(
    against: str, measure: str, pairs: list[PooledPair], figures: Figures, note: str
) -> Card:
    rows: list[tuple[str | int | None, ...]] = []
    faint = set()
    for pair in pairs:
        each = pair.runs.values()
        counts = (sum(r.corrected for r in each), sum(r.harmed for r in each))
        cells = (pair.difference.n, *counts, *difference_cells(pair.difference))
        holm_cell = None if pair.p_holm is None else p_value(pair.p_holm)
        rows.append((pair.method, *cells, p_value(pair.p_value), holm_cell))
        for name, run in pair.runs.items():
            faint.add(len(rows))
            cells = (run.difference.n, run.corrected, run.harmed, *difference_cells(run.difference))
            # runs have long names; 20 characters keep the table within a terminal's width
            rows.append((f"  {one_line(name, 20)}", *cells, p_value(run.p_value), None))
    return card_of(
        f"Pooled against {against}, by question: {one_line(measure)}",
        ("method", "n", *figures.change_words(measure), "points", "95 % interval", "p", "Holm"),
        rows,
        note,
        faint=frozenset(faint),
    )


def _not_shown(study: Study) -> Iterator[tuple[str, str]]:
    """For each difference that the study does not show, say how many questions would show it."""
    for pair in study.pairs:
        if pair.needed is not None:
            yield (
                "-",
                f"{pair.method} against {pair.against} by {one_line(pair.measure)}:"
                f" a study needs about {counted(pair.needed, 'question')}, each in"
                f" {counted(len(pair.runs), 'run')}, to show a difference of"
                f" {points(pair.difference.value)} points (power 80 %). This study has"
                f" {counted(pair.difference.n, 'question')}.",
            )


def _temperature_line(study: Study) -> str:
    """Name the temperatures of the runs; empty if no run set one."""
    distinct = sorted(
        {temperature for temperature in study.temperatures if temperature is not None}
    )
    if not distinct:
        return ""
    names = [*map(str, distinct), *(["not set in some runs"] if None in study.temperatures else ())]
    return f"temperature of the answers: {', '.join(names)}\n"


def _pooled_cards(study: Study) -> Iterator[Card]:
    """Yield the tables of pooled levels, conflict outcomes, categories and scores."""
    for measure in dict.fromkeys(level.measure for level in study.levels):
        yield _levels_card(study, measure)
    yield from map(_transitions_card, study.transitions)
    for method in dict.fromkeys(gain.method for gain in study.categories):
        yield _categories_card(study, method)
    if study.scores:
        yield card_of(
            "Pooled ConflictScore of the answers",
            ("method", "CS-C %", "95 % interval", "CS-R %", "95 % of CS-R", "n"),
            [
                (
                    score.method,
                    *estimate_cells(score.cs_c),
                    *estimate_cells(score.cs_r),
                    score.cs_c.n,
                )
                for score in study.scores
            ],
            "lower is better; n: questions whose answers were scored",
        )


def _levels_card(study: Study, measure: str) -> Card:
    return card_of(
        f"Pooled levels: {one_line(measure)}",
        ("method", "%", "95 % interval", "n", "deviation", "single runs, %"),
        [
            (
                level.method,
                *estimate_cells(level.level),
                level.level.n,
                None if level.between is None else f"{100 * level.between:.2f}",
                ", ".join(percent(run_level) for run_level in level.runs.values()),
            )
            for level in study.levels
            if level.measure == measure
        ],
        "the mean over runs, then over questions; n: questions; deviation: standard deviation"
        " between runs, in points",
    )


def _transitions_card(transitions: PooledTransitions) -> Card:
    rows = [
        ("retained", transitions.retained),
        ("revised", transitions.revised),
        ("corrected, of revised", transitions.corrected),
        ("harmed, of revised", transitions.harmed),
        ("harmed, of all answers with a conflict", transitions.harmed_of_conflict),
    ]
    return card_of(
        f"Pooled answers with a conflict: {transitions.method}",
        ("", "%", "95 % interval", "of"),
        [(name, *estimate_cells(share), share.n) for name, share in rows],
        f"{counted(transitions.answers, 'answer')} with a conflict, on"
        f" {counted(transitions.questions, 'question')}, across all runs; intervals are"
        " computed by resampling questions",
    )


def _categories_card(study: Study, method: str) -> Card:
    """Tabulate a method's gain over ``rag`` in every category.

    Categories are untrusted text.
    """
    return card_of(
        f"Pooled gain over rag by category: {method}",
        ("category", "n", "corrected", "harmed", "points", "95 % interval", "p", "Holm"),
        [
            (
                one_line(gain.category) or "(none)",
                gain.difference.n,
                gain.corrected,
                gain.harmed,
                *difference_cells(gain.difference),
                p_value(gain.p_value),
                None if gain.p_holm is None else p_value(gain.p_holm),
            )
            for gain in study.categories
            if gain.method == method
        ],
        "n: questions; corrected and harmed: numbers in all runs; Holm: p, adjusted for all"
        " categories and methods",
        free_text=True,
    )
