"""What a run would take is shown with its bounds, and an unknown price is no price."""

import re
from io import StringIO

import pytest
from rich.console import Console

from conflictscore.benchmarks.harness.estimate import (
    Amount,
    Assumptions,
    Estimate,
    Range,
    StepAmount,
)
from conflictscore.benchmarks.harness.methods.registry import LOOP
from conflictscore.cli.bench_dry_run import print_estimate


def about(expected: float) -> Range:
    return Range(low=expected / 2, expected=expected, high=expected * 2)


def amount(cost: Range | None) -> Amount:
    return Amount(
        calls=about(400), input_tokens=about(120_331), output_tokens=about(8_812), cost=cost
    )


def estimate(
    cost: Range | None, *, models: tuple[str, ...] = ("gpt-4.1-mini",), assumed: int = 0
) -> Estimate:
    whole = amount(cost)
    return Estimate(
        questions=30,
        assumed_documents=assumed,
        parts=tuple(StepAmount(**dict(whole), step=LOOP, model=model) for model in models),
        by_step={LOOP: whole},
        by_model=dict.fromkeys(models, whole),
        total=whole,
        unknown_prices=() if cost else models,
        assumptions=Assumptions(),
    )


def shown(given: Estimate, width: int = 80) -> str:
    out = StringIO()
    print_estimate(given, Console(file=out, width=width, highlight=False))
    return out.getvalue()


def cells(line: str) -> list[str]:
    return re.split(r"\s{2,}", line.strip())


def test_a_step_has_what_to_expect_above_its_bounds() -> None:
    lines = [cells(line) for line in shown(estimate(about(0.5))).splitlines()]
    first = lines.index(["loop", "400", "120.3k", "8,812", "$0.50"])
    assert lines[first + 1] == [
        "gpt-4.1-mini",
        "200 to 800",
        "60.2k to 240.7k",
        "4,406 to 17.6k",
        "$0.25 to $1.00",
    ]
    assert ["total", "400", "120.3k", "8,812", "$0.50"] in lines
    assert not any("all steps" in line for line in lines), "one model: no table by model"


def test_several_models_have_a_row_each() -> None:
    text = shown(estimate(about(0.5), models=("answerer", "judge")))
    assert text.count("all steps") == 2
    assert text.count("judge") == 2


def test_an_unknown_price_is_named_and_no_money_is_shown() -> None:
    text = shown(estimate(None))
    assert "dollars: unknown (no price for gpt-4.1-mini)" in text
    assert "$" not in text


def test_what_is_assumed_of_documents_is_said_where_they_are_not_known() -> None:
    assert "documents of 12 questions are not known yet" in shown(
        estimate(about(1.0), assumed=12), width=200
    )
    assert "not known yet" not in shown(estimate(about(1.0)), width=200)


def test_a_local_model_costs_nothing_for_certain() -> None:
    free = Range(low=0, expected=0, high=0)
    lines = [cells(line) for line in shown(estimate(free)).splitlines()]
    first = next(number for number, line in enumerate(lines) if line[0] == "loop")
    assert lines[first][-1] == "$0.00"
    assert lines[first + 1][-1] == "4,406 to 17.6k", "no bounds of the money"


def test_a_finished_run_has_nothing_left() -> None:
    text = shown(estimate(about(1.0)).model_copy(update={"questions": 0}))
    assert text == "Nothing is left to ask.\n"


@pytest.mark.parametrize("hostile", ["\x1b[2J", "\u202e", "\r"])
def test_the_name_of_a_model_cannot_steer_the_terminal(hostile: str) -> None:
    name = f"[red]{hostile}x[/red]"
    text = shown(estimate(None, models=(name,)), width=120)
    assert text.count("[red]") == 2
    assert not set(text) & set("\x1b\u202e\r")
