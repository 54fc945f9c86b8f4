"""A chart of accuracy against cost as one SVG file, which needs nothing else to be shown."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from math import isfinite
from typing import NamedTuple

__all__ = ["Point", "accuracy_chart", "svg", "svg_line", "svg_text"]

_WIDTH, _HEIGHT = 720, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 150, 40, 60
_STEPS = 4
_NAME_WIDTH, _LINE = 100, 15
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#222}.small{font-size:11px;fill:#555}"
    ".grid{stroke:#ddd}.range{stroke:#2563a8;stroke-width:2}.dot{fill:#2563a8}"
    ".constant{stroke:#a33;stroke-dasharray:5 4}svg{background:#fff}"
)


class Point(NamedTuple):
    """One way to do it."""

    name: str
    cost: float
    """From 0; what it is in says the chart's ``costs``."""
    value: float
    """Share that is right, 0 to 1, and its 95 % interval where there is one."""
    low: float | None = None
    high: float | None = None


def accuracy_chart(
    points: Sequence[Point], *, title: str, costs: str, constant: float | None = None
) -> str:
    """Draw points: cost to the right, from 0, and accuracy up.

    Args:
        points: At least one, with finite figures.
        title: Stands above.
        costs: What the costs are, below.
        constant: Accuracy of the best answer that is always the same: a broken line.

    Raises:
        ValueError: There is no point, or one is not finite.
    """
    if not points or not all(isfinite(p.cost) and isfinite(p.value) for p in points):
        raise ValueError("a chart needs points with finite figures")
    bounds = [v for p in points for v in (p.low, p.high, p.value) if v is not None]
    bounds += [] if constant is None else [constant]
    least, most = max(0.0, min(bounds) - 0.05), min(1.0, max(bounds) + 0.05)
    dearest = max(p.cost for p in points) or 1.0

    def across(cost: float) -> float:
        return _LEFT + cost / dearest * (_WIDTH - _LEFT - _RIGHT)

    def up(value: float) -> float:
        return _HEIGHT - _BOTTOM - (value - least) / (most - least) * (_HEIGHT - _TOP - _BOTTOM)

    def grid() -> Iterator[str]:
        for step in range(_STEPS + 1):
            y, x = least + (most - least) * step / _STEPS, dearest * step / _STEPS
            yield svg_line(_LEFT, up(y), _WIDTH - _RIGHT, up(y), "grid")
            yield svg_text(_LEFT - 8, up(y) + 4, f"{100 * y:.0f} %", "end")
            yield svg_text(across(x), _HEIGHT - _BOTTOM + 20, f"{x:,.0f}", "middle")

    named: list[tuple[float, float]] = []

    def name_height(x: float, y: float) -> float:
        """Where the name goes: lower where another's is in the way."""
        while any(abs(x - other) < _NAME_WIDTH and abs(y - at) < _LINE for other, at in named):
            y += 1
        named.append((x, y))
        return y

    def drawn(point: Point) -> Iterator[str]:
        x, y = across(point.cost), up(point.value)
        if point.low is not None and point.high is not None:
            yield svg_line(x, up(point.low), x, up(point.high), "range")
        yield f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="5"/>'
        yield svg_text(x + 9, name_height(x, y) + 4, point.name, "start", small=False)

    parts = [svg_text(_LEFT, 24, title, "start", small=False), *grid()]
    parts.append(svg_text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 14, costs, "middle"))
    if constant is not None:
        parts.append(svg_line(_LEFT, up(constant), _WIDTH - _RIGHT, up(constant), "constant"))
        parts.append(svg_text(_LEFT + 6, up(constant) - 6, "always the same", "start"))
    for point in points:
        parts += drawn(point)
    return svg(parts)


def svg(parts: Iterable[str], *, width: int = _WIDTH, height: int = _HEIGHT) -> str:
    """One SVG file of these elements, in pixels."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        f' width="{width}" height="{height}" role="img">'
    )
    return "\n".join([head, f"<style>{_STYLE}</style>", *parts, "</svg>"]) + "\n"


def svg_line(x: float, y: float, to_x: float, to_y: float, kind: str) -> str:
    """A line of a class of the style."""
    return f'<line class="{kind}" x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}"/>'


def svg_text(x: float, y: float, text: str, anchor: str, *, small: bool = True) -> str:
    """A text, escaped; ``anchor`` is ``start``, ``middle`` or ``end``."""
    kind = ' class="small"' if small else ""
    return f'<text{kind} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
