"""Progress of a benchmark run: questions, cost and failures."""

from io import StringIO

import pytest
from rich.console import Console

from conflictscore.benchmarks.harness.methods.registry import LOOP
from conflictscore.benchmarks.harness.records import StepRecord
from conflictscore.benchmarks.harness.report.bench_progress import BenchProgress
from conflictscore.records import Usage
from tests.benchmarks.harness.report.bench_world import changed


def watched(
    *errors: str | None, question: str = "q", spent: float | None = None, terminal: bool = False
) -> str:
    """The bar's output, in a log or at a terminal, for questions with an error if they failed."""
    out = StringIO()
    console = Console(file=out, width=200, force_terminal=terminal, color_system=None)
    used = Usage(calls=3, cached_calls=1, input_tokens=1200, output_tokens=30)
    with BenchProgress(console, 20, visible=True) as progress:
        progress.spent({"a": used, "b": used}, spent)
        for number, error in enumerate(errors):
            name, value = f"{question}-{number}", None if error else {"reason": ""}
            progress.ended(StepRecord(question=name, step=LOOP, value=value, error=error))
            progress.question(changed(False, True, question=name, error=error))
    return out.getvalue()


def test_the_cost_is_shown_and_an_unknown_price_is_not_0() -> None:
    assert watched(None, spent=0.05).splitlines()[-1].endswith("6 calls (2 cached), $0.0500")
    assert watched(None).splitlines()[-1].endswith("6 calls (2 cached), cost unknown")


def test_a_failure_is_printed_once_by_its_reason_and_counted() -> None:
    lines = watched(*["no connection"] * 4, *(f"odd {n}" for n in range(6))).splitlines()
    assert lines[0] == "q-0, loop failed: no connection"
    assert sum("loop failed" in line for line in lines) == 5, "many reasons flood no log"
    assert "10 failed" in lines[-1]


@pytest.mark.parametrize("terminal", [True, False])
def test_untrusted_text_cannot_steer_the_terminal(terminal: bool) -> None:
    hostile = "[red]\x1b[2J\u202ex\r\n[/red]"
    text = watched(hostile, question=hostile, terminal=terminal)
    assert "[red] [2J x [/red]-0, loop failed" in text
    assert "\x1b[2J" not in text
