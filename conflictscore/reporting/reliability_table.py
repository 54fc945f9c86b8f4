"""How honest the scores of a labeler are, for a person at a terminal."""

from rich.console import Console
from rich.text import Text

from conflictscore.benchmarks.reliability import Reliability, ReliabilityBin
from conflictscore.reporting.figure_text import counted, percent, span
from conflictscore.reporting.plain_table import add_row, aside, plain_table

__all__ = ["print_reliability"]

_BAR_CHARS = 20


def print_reliability(found: Reliability, console: Console) -> None:
    """Print the reliability diagram: how often labels of each score are right.

    Args:
        found: Of at least one score.
        console: Where to.
    """
    table = plain_table("score", "labels", "mean score %", "right %", "95 % interval", "")
    for one in found.bins:
        if one.right.n:
            add_row(
                table,
                f"{one.low:.1f} to {one.high:.1f}",
                f"{one.right.n:,}",
                percent(one.mean_score),
                percent(one.right.value),
                span(percent(one.right.low), percent(one.right.high)),
                _bar(one),
            )
    console.print(table)
    aside(console, "bars: how many are right; |: how many the scores say")
    scores = f"Brier score {found.brier:.3f}, expected calibration error {found.ece:.3f}"
    console.print(Text(f"{scores} (0 is best), {counted(found.n, 'label')}"))


def _bar(one: ReliabilityBin) -> str:
    right, said = (round(_BAR_CHARS * (x or 0)) for x in (one.right.value, one.mean_score))
    bar = ("#" * right).ljust(_BAR_CHARS, ".")
    return f"{bar[:said]}|{bar[said:]}"
