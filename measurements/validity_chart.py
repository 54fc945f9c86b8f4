"""A chart of how much of a true difference in CS-C is seen, by how many labels are wrong.

FIGURES is what ``conflictscore bench validity --groups ... --json`` printed; CHART is an SVG file.
"""

import json
from pathlib import Path

import click

from conflictscore.benchmarks.validity.validity_cards import ValidityFigures
from measurements.accuracy_chart import Point, accuracy_chart

__all__ = ["main"]

_NAMES = {"its table, at random": ", table", "the labeler": ", labeler"}


@click.command(help=__doc__)
@click.argument("figures", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("chart", type=click.Path(dir_okay=False, path_type=Path))
def main(figures: Path, chart: Path) -> None:
    """Draw a point a set and way of labelling."""
    sets = ValidityFigures.model_validate(json.loads(figures.read_text("utf-8"))).noise
    points = [
        Point(
            name=noise.set + _NAMES.get(one.name, ""),
            cost=100 * (1 - one.accuracy),
            value=max(0.0, kept.value),
            low=None if kept.low is None else max(0.0, kept.low),
            high=kept.high,
        )
        for noise in sets
        for one in noise.conditions
        if (kept := one.by_cs_c.kept).value is not None and one.accuracy < 1
    ]
    title = "Share of a true difference in CS-C that is seen"
    chart.write_text(accuracy_chart(points, title=title, costs="wrong labels, %"), "utf-8")
    click.echo(f"wrote {chart}")


if __name__ == "__main__":
    main()
