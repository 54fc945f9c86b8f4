"""Shows the figures of conflict detection as tables for a terminal of 80 to 100 columns.

The names of sets and labelers are untrusted text, so markup and control characters are removed.
"""

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from conflictscore.benchmarks.conflict_detection.conflictbench import PUBLISHED, PublishedSet
from conflictscore.benchmarks.conflict_detection.measures import (
    Detection,
    DetectionFigures,
    SetFigures,
)
from conflictscore.benchmarks.conflict_detection.reliability import reliability_card
from conflictscore.benchmarks.harness.figures import Interval, Proportion
from conflictscore.reporting.figure_text import counted, one_line, percent, seconds, span
from conflictscore.reporting.plain_table import Card, print_card


def print_detection(figures: DetectionFigures, console: Console) -> None:
    """Print all figures of a run: conflict detection, single labels, reliability and cost."""
    title = f"Conflict detection, {one_line(figures.labeler)}"
    console.print(Text(f"\n{title}", style="bold underline"))
    for card in _cards(figures):
        print_card(card, console)


def _cards(figures: DetectionFigures) -> Iterator[Card]:
    """Build the tables in print order: detection, single labels, reliability and cost.

    If there is only one set, the row for all sets together is omitted.
    """
    overall = figures.overall
    sets = figures.sets if len(figures.sets) == 1 else (*figures.sets, overall)

    yield _detection(figures, sets)
    yield Card(
        "Claims, and single labels compared with human labels",
        ("set", "claims", "conflict", "none", "undecidable", "pairs", "failed", "acc %", "95 %"),
        tuple(
            (
                one_line(s.name),
                *_counts(s.groups, s.conflicts, s.groups - s.conflicts, s.undecidable),
                *_counts(s.pairs, s.unlabelled),
                percent(s.label_accuracy.value),
                _bounds(s.label_accuracy),
            )
            for s in sets
        ),
        "undecidable: claims that may be in conflict, depending on pairs without a label; they are"
        " left out of the figures above, so recall may be too high",
        free_text=True,
    )
    if figures.reliability is not None:
        yield reliability_card(figures.reliability)
    usage, pairs = figures.usage, overall.pairs
    each = f", {figures.seconds / pairs:.2f} s per pair" if pairs else ""
    cost_line = (
        f"{counted(usage.calls, 'call')}, {usage.cached_calls:,} from the cache,"
        f" {usage.input_tokens:,} tokens in, {usage.output_tokens:,} out,"
        f" {seconds(figures.seconds)}{each}"
    )
    yield Card("Cost", after=(cost_line,))


def _detection(figures: DetectionFigures, sets: tuple[SetFigures, ...]) -> Card:
    """Build a table with the columns of the paper's Table 2, and rows for each set.

    Below the main row of a set, faint rows show the intervals, the figures of the constant
    strategies, and the paper's figures. The note names every set on which a constant strategy has a
    higher F1 than the labeler. On such a set, the labeler shows no skill.
    """
    rows: list[tuple[str, ...]] = []
    faint: set[int] = set()
    papers, beaten = list[str](), list[str]()
    for set_figures in sets:
        columns = _columns(set_figures.detection)
        rows.append((one_line(set_figures.name), *(percent(figure.value) for figure in columns)))
        below = [("", *map(_bounds, columns))]
        for name, constant in set_figures.constants.items():
            cells = (percent(figure.value) for figure in _columns(constant))
            below.append((f"  {name}", *cells))
        if set_figures.beaten_by:
            better = " and ".join(set_figures.beaten_by)
            beaten.append(f"{one_line(set_figures.name)}: F1 is below that of {better}")
        if paper := _published(figures, set_figures):
            papers.append(f"{set_figures.name} {paper.conflicts:,} and {paper.others:,}")
            shares = (paper.precision, paper.recall, paper.f1, paper.accuracy)
            below.append(("  paper", *map(percent, (*shares, paper.accuracy_no_conflict))))
        faint.update(range(len(rows), len(rows) + len(below)))
        rows += below
    note = "intervals: Wilson's; for F1, bootstrap over claims; none: the figure is undefined"
    note = "\n".join((note, *beaten))
    if papers:
        note += "\npaper: ACL submission, Table 2, GPT-4.1; claims with and without conflict: "
        note += ", ".join(papers)
    return Card(
        "Is there a conflict? (in %, with the 95 % interval below each figure)",
        ("set", "precision", "recall\n= acc conf", "F1", "acc", "acc\nno conf"),
        tuple(rows),
        note,
        free_text=True,
        faint=frozenset(faint),
    )


def _published(figures: DetectionFigures, set_figures: SetFigures) -> PublishedSet | None:
    """Return the paper's figures for a set, or None if there are none.

    The paper's overall figures are returned only if the run's sets are those of ConflictBench. A
    user's own set may be named "overall" too.
    """
    if set_figures is figures.overall:
        names = {group_set.name for group_set in figures.sets}
        return PUBLISHED["overall"] if names | {"overall"} == PUBLISHED.keys() else None
    return None if set_figures.name == "overall" else PUBLISHED.get(set_figures.name)


def _columns(detection: Detection) -> tuple[Proportion | Interval, ...]:
    """Return the figures for the columns of the paper's Table 2, in the same order."""
    return (
        detection.precision,
        detection.recall,
        detection.f1,
        detection.accuracy,
        detection.accuracy_no_conflict,
    )


def _counts(*numbers: int) -> tuple[str, ...]:
    return tuple(f"{number:,}" for number in numbers)


def _bounds(figure: Proportion | Interval) -> str:
    return "" if figure.low is None else span(percent(figure.low), percent(figure.high))
