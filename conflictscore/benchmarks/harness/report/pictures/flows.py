"""Draws what became of first answers: retained, corrected, harmed or hedged (section 6.4)."""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import product
from math import ceil
from typing import TYPE_CHECKING, Final

from conflictscore.benchmarks.harness.methods.registry import BASELINE
from conflictscore.benchmarks.harness.records import MethodResult
from conflictscore.benchmarks.harness.report.flips import second_looks
from conflictscore.benchmarks.harness.report.page.report_run import ReportRun
from conflictscore.benchmarks.harness.report.pictures.picture import (
    BAD,
    GOOD,
    NEUTRAL,
    Margins,
    Picture,
    bare,
    label,
    lay_out,
    text_width,
)
from conflictscore.reporting.figure_text import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Inches between the two bars, and the height of the chart without the names below it; chosen by
# hand. The width of a bar is a share of the distance.
_WIDTH, _HEIGHT, _BAR = 4.6, 3.4, 0.03
_ENDS: Final = ("right", "hedged", "wrong")
"""The states of an answer.

An answer is hedged if it is true but uninformative.
"""


def flows(run: ReportRun, stem: str) -> Iterator[Picture]:
    """For each method that reconsiders first answers, draw how it changed them.

    Graded measures have no such charts.
    """
    if run.figures.is_graded(run.first_measure):
        return
    for method in run.figures.methods:
        if method.method in second_looks() and (counts := _transitions(run, method.method)):
            yield _flow(run, stem, method.method, counts)


def _transitions(run: ReportRun, method: str) -> Counter[tuple[str, str]]:
    """Count the states of first answers and of the method's answers, if both were judged."""
    counts: Counter[tuple[str, str]] = Counter()
    for question_result in run.results:
        before = end_of(question_result.methods.get(BASELINE), run)
        after = end_of(question_result.methods.get(method), run)
        if before is not None and after is not None:
            counts[before, after] += 1
    return counts


def end_of(answer: MethodResult | None, run: ReportRun) -> str | None:
    """Return the state of an answer: right, hedged or wrong; None if it was not judged.

    The run's first measure must not be graded. For a yes-or-no measure, a judge may also give 1 or
    0.
    """
    right = None if answer is None else answer.value(run.first_measure)
    if answer is None or right is None:
        return None
    if right and answer.value("informative") == 0:  # a missing verdict is not 0
        return "hedged"
    return "right" if right else "wrong"


def _flow(run: ReportRun, stem: str, method: str, counts: Mapping[tuple[str, str], int]) -> Picture:
    """Draw a flow chart of how first answers changed.

    The height of a band is the share of questions with that change.
    """
    words = ", ".join(
        f"{count:,} {_change_name(before, after)}"
        for (before, after), count in sorted(counts.items(), key=lambda pair: -pair[1])
    )

    def draw(figure: "Figure") -> None:
        """Draw both bars, the bands between them, and all names."""
        # the names beside and above the bars need room: at least 1.2 inches for "hedged: 1,234"
        margin = max(1.2, 0.1 + text_width(label(method), bold=True) / 2)
        below = _name_changes(figure, counts)
        width, height = _WIDTH + 2 * margin, _HEIGHT + below
        lay_out(figure, width, height, Margins(0.0, 0.0, 0.1 + below, 0.1))
        axes = figure.add_subplot()
        bare(axes)
        total = sum(counts.values())
        gap = 0.05 * total
        starts = _node_starts(axes, counts, side=0, gap=gap)
        ends = _node_starts(axes, counts, side=1, gap=gap)
        for before in _ENDS:
            for after in _ENDS:
                if count := counts.get((before, after), 0):
                    start, end = starts[before], ends[after]
                    _ribbon(axes, start, end, count, _flow_color(before, after))
                    starts[before] -= count
                    ends[after] -= count
        axes.text(0, gap, "first answers", ha="center", weight="bold")
        axes.text(1, gap, label(method), ha="center", weight="bold")
        # the bars are at 0 and 1, so one unit is _WIDTH inches
        axes.set_xlim(-margin / _WIDTH, 1 + margin / _WIDTH)
        # the bars have two gaps between them; the headings above them need room
        axes.set_ylim(-total - 2 * gap, 3 * gap)

    return Picture(
        f"{stem}-flow-{method}",
        f"From first answers to {method}: {label(run.name)}",
        f"{counted(sum(counts.values()), 'answer')}: {words}",
        draw,
    )


def _node_starts(
    axes: "Axes", counts: Mapping[tuple[str, str], int], *, side: int, gap: float
) -> dict[str, float]:
    """Draw the states on one side as bars from 0 downwards; return the upper edge of each."""
    edges: dict[str, float] = {}
    edge = 0.0
    for end in _ENDS:
        size = sum(count for pair, count in counts.items() if pair[side] == end)
        edges[end] = edge
        if size:
            axes.bar(side, -size, width=_BAR, bottom=edge, color=_END_COLORS[end])
            place, align = (-_BAR, "right") if side == 0 else (1 + _BAR, "left")
            axes.text(place, edge - size / 2, f"{end}: {size:,}", ha=align, va="center")
            edge -= size + gap
    return edges


_OPACITY: Final = 0.45
"""The opacity of the bands, low enough to keep crossing bands visible."""
_END_COLORS: Final = {"right": GOOD, "hedged": "#d9a521", "wrong": BAD}
"""The colour of the bar of each state; yellow lies between right and wrong."""


def _ribbon(axes: "Axes", start: float, end: float, size: float, color: str) -> None:
    """Draw a curved band from the left bar to the right bar, between their inner edges."""
    steps = [step / 40 for step in range(41)]  # 41 points make the curve look smooth
    upper = [start + (end - start) * _bend(step) for step in steps]
    axes.fill_between(
        [_BAR / 2 + (1 - _BAR) * step for step in steps],
        upper,
        [edge - size for edge in upper],
        color=color,
        alpha=_OPACITY,
        linewidth=0,
    )


def _bend(step: float) -> float:
    """Return how far a band has moved towards its final height at this share of its length.

    The curve (3 s² - 2 s³) is flat at both ends, so the bands leave and reach the bars at right
    angles.
    """
    return step * step * (3 - 2 * step)


_NAMES_A_LINE: Final = 3
"""The number of names below a chart that fit on one line."""
_NAME_HEIGHT: Final = 0.22
"""The height of a line of names, in inches."""


def _name_changes(figure: "Figure", counts: Mapping[tuple[str, str], int]) -> float:
    """Name each change with its count below the chart; return the height of the names in inches.

    Names on the bands would overlap where bands are thin or cross.
    """
    from matplotlib.patches import Patch

    changes = [pair for pair in product(_ENDS, _ENDS) if len({*pair}) > 1 and counts.get(pair)]
    if changes:
        figure.legend(
            [Patch(color=_flow_color(*pair), alpha=_OPACITY, linewidth=0) for pair in changes],
            [f"{_change_name(*pair)}: {counts[pair]:,}" for pair in changes],
            loc="lower center",
            ncols=_NAMES_A_LINE,
            frameon=False,
        )
    return _NAME_HEIGHT * ceil(len(changes) / _NAMES_A_LINE)


def _change_name(before: str, after: str) -> str:
    """Return the words for a change of state, such as ``corrected`` or ``wrong to hedged``."""
    if before == after:
        return f"stay {before}"
    names = {("wrong", "right"): "corrected", ("right", "wrong"): "harmed"}
    return names.get((before, after), f"{before} to {after}")


def _flow_color(before: str, after: str) -> str:
    """Return blue for a change for the better, vermilion for the worse, and grey for no change."""
    if before == after:
        return NEUTRAL
    return GOOD if after == "right" or before == "wrong" else BAD
