"""A chart as SVG or PNG, drawn by Matplotlib without a display.

Limits without a stated reason were chosen by hand.
"""

import base64
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from conflictscore.benchmarks.harness.figures import Proportion
from conflictscore.errors import ConfigurationError, install_hint
from conflictscore.markup import shown
from conflictscore.reporting.figure_text import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GOOD: Final = "#1b6ca8"
BAD: Final = "#c2532d"
NEUTRAL: Final = "#8a949e"
"""Blue, vermilion and grey, which are distinct with any colour vision and in greyscale print."""

_DPI: Final = 200
"""The resolution of PNG files, in dots per inch; it suffices for a two-column figure in print."""
_STYLE: Final[dict[Any, Any]] = {
    "axes.edgecolor": "#5f6b76",
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.family": "DejaVu Sans",  # Matplotlib includes it, so charts look the same everywhere.
    "font.size": 9,
    "svg.fonttype": "path",  # Text becomes outlines, so readers need no font.
    "svg.hashsalt": "conflictscore",  # With a fixed salt, equal charts give identical files.
    "text.parse_math": False,  # A dollar sign in a name must not start a formula.
}
_LONGEST_NAME: Final = 44
"""The maximum number of characters of a name in a chart.

A chart grows with its longest name, so a longer one would leave the plot too small on the page.
"""


@dataclass(frozen=True)
class Picture:
    """A chart.

    Attributes:
        name: The stem of the file name, made of letters, digits and hyphens.
        title: What the chart shows, in one line.
        description: The figures in words, for a reader who cannot see the chart.
        draw: A function that draws the chart on an empty figure.
    """

    name: str
    title: str
    description: str
    draw: "Callable[[Figure], None]"

    def image(self, kind: Literal["svg", "png"]) -> bytes:
        """Draw the chart in this format, on a white background.

        Raises:
            ConfigurationError: Matplotlib is not installed.
        """
        with _drawing() as new_figure:
            figure = new_figure()
            self.draw(figure)
            file = io.BytesIO()
            # an SVG file would contain the time, so equal charts would give different files
            metadata = {"Title": self.title} | ({"Date": None} if kind == "svg" else {})
            figure.savefig(file, format=kind, dpi=_DPI, facecolor="white", metadata=metadata)
        return file.getvalue()

    @property
    def address(self) -> str:
        """The chart as a data URL, for an ``img`` element in a page that loads nothing."""
        return f"data:image/svg+xml;base64,{base64.b64encode(self.image('svg')).decode()}"


def can_draw() -> bool:
    """Return whether Matplotlib is installed; without it, a page has only tables."""
    try:
        import matplotlib  # noqa: F401 - imported only to see whether it is installed
    except ImportError:
        return False
    return True


def label(text: str) -> str:
    """Return a name as charts show it: one short line without hidden characters."""
    return one_line(shown(text), _LONGEST_NAME)


def bare(axes: "Axes") -> None:
    """Remove the frame and the tick marks of both axes."""
    axes.set_axis_off()


class Margins(NamedTuple):
    """The margins around the axes of a figure, in inches, for the names of axes and tick marks."""

    left: float = 0.6
    right: float = 0.15
    bottom: float = 0.5
    top: float = 0.15


_USUAL_MARGINS: Final = Margins()


def lay_out(
    figure: "Figure", width: float, height: float, margins: Margins = _USUAL_MARGINS
) -> None:
    """Set the size of a figure in inches, and the position of its axes.

    Matplotlib's own layouts draw a figure three times to find the same position, so a page would
    take three times as long.
    """
    figure.set_size_inches(width, height)
    figure.subplots_adjust(
        left=margins.left / width,
        right=1 - margins.right / width,
        bottom=margins.bottom / height,
        top=1 - margins.top / height,
        wspace=0.08,  # charts side by side share one vertical axis, so a narrow gap suffices
    )


def plot_share(axes: "Axes", place: float, share: Proportion) -> None:
    """Draw a percentage and its interval at a position; draw nothing if the share has no value."""
    if share.value is None:
        return
    if share.low is not None and share.high is not None:
        axes.plot([place, place], [100 * share.low, 100 * share.high], color=GOOD)
    axes.plot([place], [100 * share.value], "o", color=GOOD, markersize=6)


def text_width(text: str, *, bold: bool = False) -> float:
    """Return the width of a string in charts, in inches."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(weight="bold" if bold else "normal")
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return float(width) / 72  # points per inch


@contextmanager
def _drawing() -> "Iterator[Callable[[], Figure]]":
    try:
        import matplotlib as library
        from matplotlib.figure import Figure
    except ImportError:
        raise ConfigurationError(f"pictures need Matplotlib: {install_hint('bench')}") from None
    with library.rc_context(_STYLE):
        yield Figure
