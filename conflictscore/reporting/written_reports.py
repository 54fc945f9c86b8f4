"""The scores of reports by prompt, for a person at a terminal (paper, Table 3)."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from conflictscore.benchmarks.harness.figures import Interval
from conflictscore.benchmarks.reports.figures import StyleFigures
from conflictscore.reporting.figure_text import counted
from conflictscore.reporting.plain_table import add_row, aside, heading, plain_table

__all__ = ["print_reports"]

_PAPER = (
    "paper, Table 3 (GPT-4.1, 100 topics of ConflictingQA), CS-C and CS-R: rag 0.524 and 0.152,"
    " balanced 0.523 and 0.152, super-balanced 0.543 and 0.172"
)


def print_reports(figures: Sequence[StyleFigures], console: Console) -> None:
    """Print the means of each prompt, and what they are less those of ``rag``.

    Args:
        figures: The figures of each prompt that has a report.
        console: Where to.
    """
    heading(console, "ConflictScore of reports (0 is best)")
    table = plain_table("prompt", "scored", "CS-C", "CS-R", "claims", "coverage")
    for one in figures:
        add_row(
            table,
            one.style.value,
            f"{one.cs_c.n:,} of {one.reports:,}",
            _shown(one.cs_c),
            _shown(one.cs_r),
            _number(one.claims, 1),
            _number(one.coverage, 3),
        )
    console.print(table)
    aside(console, "means over reports, with bootstrap 95 % intervals; coverage: labelled pairs")
    aside(console, _PAPER)
    beside = [one for one in figures if one.cs_c_difference and one.cs_r_difference]
    if beside:
        heading(console, "Less rag, over the same topics")
        table = plain_table("prompt", "topics", "CS-C", "CS-R")
        for one in beside:
            topics = one.cs_c_difference.n if one.cs_c_difference else 0
            cells = (_shown(one.cs_c_difference), _shown(one.cs_r_difference))
            add_row(table, one.style.value, f"{topics:,}", *cells)
        console.print(table)
        aside(console, "below 0: less conflict than rag has")
    if failed := sum(one.failed for one in figures):
        them = "it" if failed == 1 else "them"
        words = f"{counted(failed, 'report')} failed; the same command tries {them} again"
        console.print(Text(words))


def _shown(mean: Interval | None) -> str:
    if mean is None or mean.value is None:
        return "none"
    bounds = "" if mean.low is None else f" [{mean.low:.3f}, {mean.high:.3f}]"
    return f"{mean.value + 0.0:.3f}{bounds}"


def _number(mean: Interval, digits: int) -> str:
    return "none" if mean.value is None else f"{mean.value:.{digits}f}"
