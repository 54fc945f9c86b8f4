"""Draws estimates with their intervals: differences between methods, and pooled levels.

Limits without a stated reason were chosen by hand.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from conflictscore.benchmarks.harness.figures import Interval
from conflictscore.benchmarks.harness.report.page.report_run import ReportRun
from conflictscore.benchmarks.harness.report.pictures.picture import (
    BAD,
    GOOD,
    NEUTRAL,
    Margins,
    Picture,
    label,
    lay_out,
    text_width,
)
from conflictscore.benchmarks.harness.report.study import Study
from conflictscore.reporting.figure_text import in_brackets, percent, points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PLOT_INCHES: Final = 4.5
"""The width of the plot itself."""
_LINE_INCHES: Final = 0.3
"""The height of one line, that is, of one estimate."""
_AXIS_INCHES: Final = 0.75
"""The height of the scale below the lines, including its numbers and name."""
_GAP_INCHES: Final = 0.15
"""The space between the names and the plot."""


class _Line(NamedTuple):
    """An estimate in [-1, 1] with its interval, and whether it pools several runs."""

    name: str
    interval: Interval
    color: str
    is_pooled: bool = False


def differences(runs: Sequence[ReportRun], studies: Sequence[Study]) -> Picture | None:
    """Draw every tested difference of each run, and of the pooled runs of each study.

    Returns None if there is no difference to draw. Differences are the method's value minus that of
    the compared method.
    """
    lines: list[_Line] = []
    for run in runs:
        where = f"{label(run.name)}: " if len(runs) > 1 else ""
        for pair in run.figures.tests:
            name = _pair_name(pair.method, pair.against, pair.measure)
            color = color_of(pair.difference, falls=run.figures.falls(pair.measure))
            lines.append(_Line(f"{where}{name}", pair.difference, color))
    for study in studies:
        falling = {m for run in runs if run.name in study.runs for m in run.figures.falling}
        # two studies may compare the same methods, so the benchmark tells them apart
        whose = f" of {label(study.benchmark)}, {label(study.form)}" if len(studies) > 1 else ""
        for pooled_pair in study.pairs:
            name = _pair_name(pooled_pair.method, pooled_pair.against, pooled_pair.measure)
            color = color_of(pooled_pair.difference, falls=pooled_pair.measure in falling)
            where = f"all runs{whose}: "
            lines.append(_Line(f"{where}{name}", pooled_pair.difference, color, is_pooled=True))
    # a pair that was judged on no question has no value
    lines = [line for line in lines if line.interval.value is not None]
    if not lines:
        return None

    def draw(figure: "Figure") -> None:
        axes = _forest(figure, lines)
        axes.axvline(0, color=NEUTRAL, linewidth=1, zorder=0)
        axes.set_xlabel("difference in points, with the 95 % interval")

    words = "; ".join(f"{line.name}: {in_points(line.interval)}" for line in lines)
    return Picture("differences", "Differences between methods", words, draw)


def levels(study: Study, stem: str) -> Picture | None:
    """Draw every method's pooled level; the description lists the levels of individual runs.

    The picture's file name begins with ``stem``. Returns None if no level is known.
    """
    pooled_levels = [level for level in study.levels if level.level.value is not None]
    if not pooled_levels:
        return None
    several = len({level.measure for level in pooled_levels}) > 1
    lines = [
        _Line(
            f"{label(level.method)}, {label(level.measure)}" if several else label(level.method),
            level.level,
            GOOD,  # the main colour of all pictures; a level itself is neither better nor worse
            is_pooled=True,
        )
        for level in pooled_levels
    ]
    by_run = [
        [100 * run_level for run_level in level.runs.values() if run_level is not None]
        for level in pooled_levels
    ]

    def draw(figure: "Figure") -> None:
        axes = _forest(figure, lines)
        for place, run_levels in enumerate(reversed(by_run)):
            axes.plot(
                run_levels, [place] * len(run_levels), "|", color=NEUTRAL, markersize=9, zorder=0
            )
        measures = " and ".join(dict.fromkeys(label(level.measure) for level in pooled_levels))
        axes.set_xlabel(f"{measures}, %: pooled, with the 95 % interval; each stroke is a run")

    words = "; ".join(
        f"{line.name}: {percent(line.interval.value)} %{_percent_bounds(line.interval)}, runs"
        f" {', '.join(percent(run_level) for run_level in level.runs.values())}"
        for line, level in zip(lines, pooled_levels, strict=True)
    )
    title = f"Means of the methods over all runs: {label(study.benchmark)}, {label(study.form)}"
    return Picture(f"{stem}-levels", title, words, draw)


def _forest(figure: "Figure", lines: Sequence[_Line]) -> "Axes":
    """Draw the estimates from top to bottom: a line from low to high, with a marker at the value.

    The marker is a diamond for pooled runs, and a dot otherwise. All values are in points, that is,
    hundredths.
    """
    left_margin = _GAP_INCHES + max(text_width(line.name) for line in lines)
    margins = Margins(left=left_margin)
    height = _AXIS_INCHES + _LINE_INCHES * len(lines)
    lay_out(figure, left_margin + _PLOT_INCHES, height, margins)
    axes = figure.add_subplot()
    for place, line in enumerate(reversed(lines)):  # the axis is numbered from the bottom up
        low, high = line.interval.low, line.interval.high
        if low is not None and high is not None:
            axes.plot([100 * low, 100 * high], [place] * 2, color=line.color, linewidth=1.6)
        marker = "D" if line.is_pooled else "o"
        value_points = 100 * (line.interval.value or 0.0)
        axes.plot([value_points], [place], marker, color=line.color, markersize=6)
    axes.set_yticks(range(len(lines)), [line.name for line in reversed(lines)])
    axes.set_ylim(-0.6, len(lines) - 0.4)  # the lines are at 0, 1, …; leave half a line at the ends
    return axes


def _pair_name(method: str, against: str, measure: str) -> str:
    return f"{label(method)} against {label(against)}, {label(measure)}"


def color_of(interval: Interval, *, falls: bool) -> str:
    """Return blue for an improvement, vermilion for a decline, and grey if neither is certain.

    An interval above 0 is an improvement, and one below 0 a decline; if lower values of the measure
    are better (``falls``), it is the other way round. Grey means that the interval contains 0 or
    has no bounds.
    """
    if interval.low is not None and interval.low > 0:
        return BAD if falls else GOOD
    if interval.high is not None and interval.high < 0:
        return GOOD if falls else BAD
    return NEUTRAL


def in_points(interval: Interval) -> str:
    """Describe a difference and its interval in words."""
    bounds = in_brackets(points(interval.low), points(interval.high))
    return f"{points(interval.value)} points{bounds}"


def _percent_bounds(interval: Interval) -> str:
    return in_brackets(percent(interval.low), percent(interval.high))
