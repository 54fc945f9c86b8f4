"""Progress of a benchmark run on stderr."""

from collections import Counter
from collections.abc import Mapping

from rich.console import Console

from conflictscore.benchmarks.harness.definition import Benchmark
from conflictscore.benchmarks.harness.figures import change_words
from conflictscore.benchmarks.harness.listening import Listener
from conflictscore.benchmarks.harness.methods.registry import BASELINE
from conflictscore.benchmarks.harness.records import QuestionResult, StepRecord
from conflictscore.benchmarks.harness.report.flips import FlipKind, flip_kind
from conflictscore.progress import CountBar
from conflictscore.records import Usage
from conflictscore.reporting.figure_text import counted, money, one_line


class BenchProgress(CountBar, Listener):
    """Shows a run's questions, flips, failures and cost."""

    def __init__(self, console: Console, benchmark: Benchmark, *, enabled: bool) -> None:
        """Prepare the bar; it shows from ``with`` on, where ``enabled``."""
        super().__init__(console, "asking", "questions", enabled=enabled)
        self._total, self._measure = len(benchmark.questions), benchmark.measures[0]
        self._falls = self._measure in benchmark.falling
        graded = self._measure in benchmark.graded
        words = change_words(graded=graded, falls=self._falls)
        self._kinds = dict(zip((FlipKind.CORRECTION, FlipKind.HARM), words, strict=True))
        self._done = self._failed = 0
        self._flips: dict[str, Counter[str]] = {}
        self._spent = ""

    def ended(self, record: StepRecord) -> None:
        """A step ended; prints why if it failed."""
        if record.error is not None:
            reason = one_line(record.error)
            where = f"{one_line(record.question, 40)}, {record.step}"
            self.fail(reason, f"{where} failed: {reason}")

    def question(self, result: QuestionResult) -> None:
        """A question's last step ended, in this session or an earlier one."""
        self._done += 1
        self._failed += any(method.error is not None for method in result.methods.values())
        for method in result.methods:
            if method != BASELINE and (
                kind := flip_kind(result, method, self._measure, falls=self._falls)
            ):
                flips = self._flips.setdefault(method, Counter())
                flips[self._kinds.get(kind, "other")] += 1
        self.show(self._done, self._total, self._detail())

    def spent(self, usage: Mapping[str, Usage], dollars: float | None) -> None:
        """Calls and cost of all sessions so far, by model; None if a price is unknown."""
        used = sum(usage.values(), Usage())
        cost = "cost unknown" if dollars is None else money(dollars)
        cached = f" ({used.cached_calls:,} cached)" if used.cached_calls else ""
        self._spent = f"{counted(used.calls, 'call')}{cached}, {cost}"

    def _detail(self) -> str:
        flips = [
            f"{method} " + ", ".join(f"{number:,} {kind}" for kind, number in kinds.most_common())
            for method, kinds in self._flips.items()
        ]
        failed = f"{self._failed:,} failed" if self._failed else ""
        return "; ".join(filter(None, [failed, *flips, self._spent]))
