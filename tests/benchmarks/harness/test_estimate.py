"""What a run would take is shown with its bounds, and an unknown price is no price."""

import re
from io import StringIO

import pytest
from rich.console import Console

from conflictscore.benchmarks.harness.dry_run import Amounts, Estimate, estimate_card
from conflictscore.reporting.plain_table import print_card


def estimate(cost: float | None, *models: str) -> Estimate:
    names = [*(models or ("gpt-4.1-mini",)), ""]

    def at(factor: float) -> tuple[Amounts, ...]:
        return tuple(
            Amounts(
                step="loop" if name else "total",
                model=name,
                calls=round(400 * factor),
                input_tokens=round(120_331 * factor),
                output_tokens=round(8_812 * factor),
                cost=None if cost is None else cost * factor,
            )
            for name in names
        )

    unknown = tuple(models) if cost is None else ()
    return Estimate(questions=30, low=at(0.5), expected=at(1), high=at(2), unknown_prices=unknown)


def shown(given: Estimate) -> str:
    out = StringIO()
    print_card(estimate_card(given), Console(file=out, width=100, highlight=False))
    return out.getvalue()


def cells(line: str) -> list[str]:
    return re.split(r"\s{2,}", line.strip())


def test_a_step_has_what_to_expect_above_its_bounds() -> None:
    lines = [cells(line) for line in shown(estimate(0.5)).splitlines()]
    first = lines.index(["loop", "400", "120,331", "8,812", "$0.50"])
    bounds = ["200 to 800", "60,166 to 240,662", "4,406 to 17,624", "$0.25 to $1.00"]
    assert lines[first + 1] == ["gpt-4.1-mini", *bounds]
    assert ["total", "400", "120,331", "8,812", "$0.50"] in lines


@pytest.mark.parametrize("hostile", ["\x1b[2J", "\u202e", "\r"])
def test_an_unpriced_model_is_named_and_cannot_steer_the_terminal(hostile: str) -> None:
    text = shown(estimate(None, f"[red]{hostile}x[/red]"))
    assert "dollars: unknown (no price for [red]" in text
    assert "$" not in text
    assert not set(text) & set("\x1b\u202e\r")
