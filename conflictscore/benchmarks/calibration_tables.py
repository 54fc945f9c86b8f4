"""How sure and how right a labeler is, for a person at a terminal."""

from rich.console import Console
from rich.text import Text

from conflictscore.benchmarks.calibration_fit import CalibrationFigures
from conflictscore.benchmarks.reliability import Reliability, ReliabilityBin
from conflictscore.labelers.calibration import Calibration
from conflictscore.reporting.figure_text import counted, one_line, percent, span
from conflictscore.reporting.plain_table import add_row, aside, heading, plain_table

__all__ = ["print_calibration", "print_reliability"]

_BAR_CHARS = 20


def print_calibration(
    name: str, calibration: Calibration, figures: CalibrationFigures, console: Console
) -> None:
    """Print the calibration, and its figures on claims that it was not fitted on.

    Args:
        name: The labeler.
        calibration: The one that was fitted on all pairs.
        figures: Before and after.
        console: Where to.
    """
    console.print(Text(f"\nCalibration of {one_line(name)}", style="bold underline"))
    parts = [f"temperature {calibration.temperature:.3f}"]
    parts += [f"bias of {label} {value:+.3f}" for label, value in calibration.bias.items()]
    console.print(Text(", ".join(parts)))
    table = plain_table("", "before", "after")
    before, after = figures.before, figures.after
    for what, one, other in (
        ("accuracy %", percent(before.accuracy), percent(after.accuracy)),
        ("macro-F1 %", percent(before.macro_f1), percent(after.macro_f1)),
        ("log loss", f"{before.log_loss:.3f}", f"{after.log_loss:.3f}"),
        ("Brier score", _three(before.reliability.brier), _three(after.reliability.brier)),
        ("calibration error", _three(before.reliability.ece), _three(after.reliability.ece)),
    ):
        add_row(table, what, one, other)
    console.print(table)
    aside(
        console,
        f"{counted(figures.n, 'pair')}, each half of the claims by what the other half gives;"
        " guessing has log loss 1.099",
    )
    heading(console, "Is the labeler as sure as it is right, after?")
    print_reliability(after.reliability, console)


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


def _three(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"


def _bar(one: ReliabilityBin) -> str:
    right, said = (round(_BAR_CHARS * (x or 0)) for x in (one.right.value, one.mean_score))
    bar = ("#" * right).ljust(_BAR_CHARS, ".")
    return f"{bar[:said]}|{bar[said:]}"
