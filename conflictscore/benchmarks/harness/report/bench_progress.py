"""Shows the progress of a benchmark run on stderr."""

from collections.abc import Mapping

from rich.console import Console

from conflictscore.benchmarks.harness.listener import Listener
from conflictscore.benchmarks.harness.records import QuestionResult, StepRecord
from conflictscore.progress import CountBar
from conflictscore.records import Usage
from conflictscore.reporting.figure_text import counted, money, one_line


class BenchProgress(CountBar, Listener):
    """Shows how many questions have finished or failed, and what they have cost so far."""

    def __init__(self, console: Console, total: int, *, visible: bool) -> None:
        super().__init__(console, "asking", "questions", visible=visible)
        self._total, self._spent = total, ""
        self._done = self._failed = 0

    def ended(self, record: StepRecord) -> None:
        """Print why the step failed, if it failed."""
        if record.error is not None:
            reason = one_line(record.error)
            # a long id would leave no room for the reason
            where = f"{one_line(record.question, 40)}, {record.step}"
            self.fail(reason, f"{where} failed: {reason}")

    def question(self, question_result: QuestionResult) -> None:
        """Count a question whose last step has ended, in this session or an earlier one."""
        self._done += 1
        self._failed += any(method.error is not None for method in question_result.methods.values())
        failures = f"{self._failed:,} failed" if self._failed else ""
        self.show(self._done, self._total, "; ".join(filter(None, [failures, self._spent])))

    def spent(self, usage: Mapping[str, Usage], dollars: float | None) -> None:
        """Show the calls and cost of all sessions so far; if a price is unknown, show no cost."""
        total = sum(usage.values(), Usage())
        cost = "cost unknown" if dollars is None else money(dollars)
        cache_note = f" ({total.cached_calls:,} cached)" if total.cached_calls else ""
        self._spent = f"{counted(total.calls, 'call')}{cache_note}, {cost}"
