"""Corrections minus harms against label accuracy, one panel a set, as one SVG file."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from measurements.accuracy_chart import svg, svg_line, svg_text

if TYPE_CHECKING:
    from measurements.break_even import Condition

__all__ = ["net_chart"]

_COLOURS = ("#a33", "#d08a1d", "#777", "#2563a8", "#7a3fa0", "#2a8a4a")
_PANEL, _GAP, _LEFT, _TOP, _TALL = 230, 60, 50, 40, 260
_RIGHT, _BELOW = 130, 58
_LEAST, _STEP = 0.4, 0.2


def net_chart(sets: Mapping[str, Sequence["Condition"]], methods: Sequence[str]) -> str:
    """Draw a line a method over labels spoiled evenly, and a ring for each confusion table.

    Up is what was corrected less what was harmed, in percent of the questions, on each panel's own
    scale; to the right labels get worse, from 100 % right to 40 %.

    Args:
        sets: Conditions by set; one without an accuracy, or with less than 40 %, is left out.
        methods: Which are drawn, in the order of the legend; those that share a line lie side by
            side, a pixel apart.

    Raises:
        ValueError: There is nothing to draw.
    """
    nets = {
        (name, method): sorted(
            (c.accuracy, 100 * (its.corrected - its.harmed) / its.n, c.even)
            for c in conditions
            if c.accuracy is not None and c.accuracy >= _LEAST and (its := c.methods.get(method))
        )
        for name, conditions in sets.items()
        for method in methods
    }
    if not any(nets.values()):
        raise ValueError("a chart needs a method that ended on a question")

    def panel(left: float, name: str) -> Iterator[str]:
        values = [net for method in methods for _, net, _ in nets[name, method]]
        least, most = min([0.0, *values]), max([0.0, *values])

        def up(net: float) -> float:
            return _TOP + (most - net) / ((most - least) or 1) * _TALL

        def across(accuracy: float) -> float:
            return left + (1 - accuracy) / (1 - _LEAST) * _PANEL

        yield svg_text(left, _TOP - 14, name, "start", small=False)
        for net in sorted({least, 0.0, most}):
            yield svg_line(left, up(net), left + _PANEL, up(net), "grid" if net else "zero")
            yield svg_text(left - 6, up(net) + 4, f"{net:+.0f} %" if net else "0", "end")
        for step in range(4):
            accuracy = 1 - step * _STEP
            yield svg_text(across(accuracy), _TOP + _TALL + 18, f"{100 * accuracy:.0f} %", "middle")
        for at, method in enumerate(methods):
            colour, points = _COLOURS[at % len(_COLOURS)], nets[name, method]
            shift = at - len(methods) / 2
            line = " ".join(f"{across(a):.1f},{up(y) + shift:.1f}" for a, y, even in points if even)
            yield f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{line}"/>'
            for accuracy, net, even in points:
                yield (
                    f'<circle cx="{across(accuracy):.1f}" cy="{up(net) + shift:.1f}" r="3.5"'
                    f' stroke="{colour}" fill="{colour if even else "#fff"}"/>'
                )

    parts = ["<style>.zero{stroke:#222}</style>"]
    for number, name in enumerate(sets):
        parts += panel(_LEFT + number * (_PANEL + _GAP), name)
    right = _LEFT + len(sets) * (_PANEL + _GAP) - _GAP // 2
    for at, method in enumerate(methods):
        y = _TOP + 14 + 20 * at
        parts.append(f'<circle cx="{right}" cy="{y - 4}" r="4" fill="{_COLOURS[at % 6]}"/>')
        parts.append(svg_text(right + 10, y, method, "start", small=False))
    told = "share of labels that are people's own; rings: confusion tables of nli and choice"
    parts.append(svg_text(_LEFT, _TOP + _TALL + 44, told, "start"))
    return svg(parts, width=right + _RIGHT, height=_TOP + _TALL + _BELOW)
