"""Progress of a benchmark run: questions, cost and failures."""

from io import StringIO

import pytest
from rich.console import Console

from conflictscore.benchmarks.harness.methods.registry import LOOP
from conflictscore.benchmarks.harness.records import StepRecord
from conflictscore.benchmarks.harness.report.bench_progress import BenchProgress
from conflictscore.records import Usage
from tests.benchmarks.harness.report.bench_world import changed


class Watched:
    """A bar in a log or at a terminal, with its output."""

    def __init__(self, total: int = 20, *, terminal: bool = False, enabled: bool = True) -> None:
        self.out = StringIO()
        console = Console(file=self.out, width=200, force_terminal=terminal, color_system=None)
        self.progress = BenchProgress(console, total, enabled=enabled)

    @property
    def lines(self) -> list[str]:
        return self.out.getvalue().splitlines()


def work(progress: BenchProgress, question: str, *, error: str | None = None) -> None:
    value = None if error else {"reason": ""}
    progress.ended(StepRecord(question=question, step=LOOP, value=value, error=error))
    progress.question(changed(False, True, question=question, error=error))


def test_the_cost_is_shown_and_an_unknown_price_is_not_0() -> None:
    watched = Watched()
    one = Usage(calls=3, cached_calls=1, input_tokens=1200, output_tokens=30)
    with watched.progress as progress:
        progress.spent({"a": one, "b": one}, 0.05)
        work(progress, "q-1")
        assert watched.lines[-1].endswith("6 calls (2 cached), $0.0500")
        progress.spent({"a": one}, None)
        work(progress, "q-2")
    assert watched.lines[-1].endswith("3 calls (1 cached), cost unknown")


def test_a_failure_is_printed_once_by_its_reason_and_counted() -> None:
    watched = Watched(total=50)
    with watched.progress as progress:
        for number in range(10):
            work(progress, f"q-{number}", error="no connection" if number < 4 else f"odd {number}")
    assert watched.lines[0] == "q-0, loop failed: no connection"
    assert sum("loop failed" in line for line in watched.lines) == 5, "many reasons flood no log"
    assert "10 failed" in watched.lines[-1]


@pytest.mark.parametrize("terminal", [True, False])
def test_untrusted_text_cannot_steer_the_terminal(terminal: bool) -> None:
    watched = Watched(terminal=terminal)
    with watched.progress as progress:
        work(progress, "[red]\x1b[2J\u202ex\r\n[/red]", error="[red]\x1b[2J\u202ex\r\n[/red]")
    assert "[red] [2J x [/red], loop failed" in watched.out.getvalue()
    assert "\x1b[2J" not in watched.out.getvalue()
