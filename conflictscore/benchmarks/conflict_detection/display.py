"""The figures of conflict detection, at a terminal of 80 to 100 columns.

Names of sets and labelers are untrusted text: no markup, no control characters.
"""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from conflictscore.benchmarks.calibration_fit import print_reliability
from conflictscore.benchmarks.conflict_detection.conflictbench import PUBLISHED, PublishedSet
from conflictscore.benchmarks.conflict_detection.measures import (
    Detection,
    DetectionFigures,
    SetFigures,
)
from conflictscore.benchmarks.harness.figures import Interval, Proportion
from conflictscore.records import Label
from conflictscore.reporting.figure_text import counted, one_line, percent, seconds, span
from conflictscore.reporting.plain_table import add_row, aside, heading, plain_table

_GOLD = (Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT)


def print_detection(figures: DetectionFigures, console: Console) -> None:
    """Print all figures of a run: conflicts by set, single labels, reliability, what it took."""
    title = f"Conflict detection, {one_line(figures.labeler)}"
    console.print(Text(f"\n{title}", style="bold underline"))
    sets = shown_sets(figures)
    _print_groups(sets, console)
    _print_detection(figures, console)
    _print_hits(sets, console)
    _print_labels(sets, console)
    _print_confusion(figures.overall, console)
    _print_reliability(figures.overall, console)
    _print_cost(figures.overall, console)


def shown_sets(figures: DetectionFigures) -> tuple[SetFigures, ...]:
    """The sets, and all together where there are several."""
    return figures.sets if len(figures.sets) == 1 else (*figures.sets, figures.overall)


def _print_groups(sets: Sequence[SetFigures], console: Console) -> None:
    table = plain_table("set", "claims", "conflict", "none", "undecidable", free_text=True)
    for one in sets:
        without = one.groups - one.conflicts
        cells = [one.groups, one.conflicts, without, one.undecidable]
        add_row(table, one_line(one.name), *(f"{cell:,}" for cell in cells))
    console.print(table)
    aside(
        console,
        "undecidable: pairs without a label could make it a conflict; in no figure below, where"
        " recall is as much too high",
    )


def _published(figures: DetectionFigures, one: SetFigures) -> PublishedSet | None:
    """The paper's figures for a set; for all together only if they are all of ConflictBench."""
    whole = {found.name for found in figures.sets} | {"overall"} == PUBLISHED.keys()
    return PUBLISHED.get(one.name) if whole or one is not figures.overall else None


def _paper_cells(paper: PublishedSet) -> tuple[float, ...]:
    """Table 2's columns, in its order."""
    return paper.precision, paper.recall, paper.f1, paper.accuracy, paper.accuracy_no_conflict


def _print_detection(figures: DetectionFigures, console: Console) -> None:
    sets = shown_sets(figures)
    heading(console, "Is there a conflict? In %, below each figure its 95 % interval")
    table = plain_table(
        "set", "precision", "recall\n= acc conf", "F1", "acc", "acc\nno conf", free_text=True
    )
    for one in sets:
        name = one_line(one.name)
        for label, detection in ((name, one.detection), *_constant(one)):
            found = _columns(detection)
            style = "" if detection is one.detection else "dim"
            add_row(table, label, *(percent(figure.value) for figure in found), style=style)
            if detection is one.detection:
                bounds = (span(percent(f.low), percent(f.high)) for f in found)
                add_row(table, "", *("" if b == "none" else b for b in bounds), style="dim")
        if paper := _published(figures, one):
            add_row(table, "  paper", *map(percent, _paper_cells(paper)), style="dim")
    console.print(table)
    aside(console, "Wilson intervals; that of F1 resamples claims. none: nothing to divide by")
    if papers := [(one.name, paper) for one in sets if (paper := _published(figures, one))]:
        counts = ", ".join(f"{name} {p.conflicts:,} and {p.others:,}" for name, p in papers)
        aside(
            console,
            f"paper: Table 2, GPT-4.1; claims with and without conflict there: {counts}",
        )


def _columns(detection: Detection) -> tuple[Proportion | Interval, ...]:
    """Table 2's columns, in its order."""
    return (
        detection.precision,
        detection.recall,
        detection.f1,
        detection.accuracy,
        detection.accuracy_no_conflict,
    )


def _constant(one: SetFigures) -> tuple[tuple[str, Detection], ...]:
    return ("  always", one.always), ("  never", one.never)


def _print_hits(sets: Sequence[SetFigures], console: Console) -> None:
    heading(console, "Conflicts that were found, by what they rest on")
    table = plain_table("set", "found", "right", "wrong", "unknown", "right %", free_text=True)
    for one in sets:
        hits = one.hits
        cells = [one.detection.true_positives, hits.right, hits.wrong, hits.unknown]
        share = percent(hits.right_share.value)
        add_row(table, one_line(one.name), *(f"{cell:,}" for cell in cells), share)
    console.print(table)
    aside(console, "right: on a document that does support and one that does contradict the claim")


def _print_labels(sets: Sequence[SetFigures], console: Console) -> None:
    heading(console, "Single labels beside people's")
    table = plain_table(
        "set", "pairs", "no gold", "failed", "acc %", "95 %", "macro-F1 %", "95 %", free_text=True
    )
    for one in sets:
        labels = one.labels
        cells = [labels.pairs, labels.without_gold, labels.unlabelled]
        add_row(
            table,
            one_line(one.name),
            *(f"{cell:,}" for cell in cells),
            *_interval(labels.accuracy),
            *_interval(labels.macro_f1),
        )
    console.print(table)


def _interval(value: Interval) -> tuple[str, str]:
    bounds = "" if value.low is None else span(percent(value.low), percent(value.high))
    return percent(value.value), bounds


def _print_confusion(overall: SetFigures, console: Console) -> None:
    given = (*_GOLD, Label.UNLABELLED)
    heading(console, "Labels given, by the label of people")
    table = plain_table("people say", *(label.value.lower() for label in given))
    for gold in _GOLD:
        row = overall.labels.confusion.get(gold, {})
        add_row(table, gold.value.lower(), *(f"{row.get(label, 0):,}" for label in given))
    console.print(table)


def _print_reliability(overall: SetFigures, console: Console) -> None:
    found = overall.reliability
    heading(console, "Is the labeler as sure as it is right?")
    if found.brier is None:
        aside(console, "it gives no score")
        return
    print_reliability(found, console)


def _print_cost(overall: SetFigures, console: Console) -> None:
    used, pairs = overall.usage, overall.labels.pairs
    each = f", {overall.seconds / pairs:.2f} s a pair" if pairs else ""
    heading(console, "Cost")
    console.print(
        Text(
            f"{counted(used.calls, 'call')}, {used.cached_calls:,} from the cache,"
            f" {used.input_tokens:,} tokens in, {used.output_tokens:,} out,"
            f" {seconds(overall.seconds)}{each}"
        )
    )
