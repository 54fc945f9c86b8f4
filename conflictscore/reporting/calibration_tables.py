"""What a calibration brings, for a person at a terminal."""

from rich.console import Console
from rich.text import Text

from conflictscore.benchmarks.calibration_fit import CalibrationFigures
from conflictscore.labelers.calibration import Calibration
from conflictscore.reporting.figure_text import counted, one_line, percent
from conflictscore.reporting.plain_table import add_row, aside, heading, plain_table
from conflictscore.reporting.reliability_table import print_reliability

__all__ = ["print_calibration"]


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


def _three(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"
