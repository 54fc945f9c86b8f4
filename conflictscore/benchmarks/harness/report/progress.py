"""A benchmark run as it goes: a live display at a terminal, a line now and then in a log."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from conflictscore.benchmarks.harness.methods.registry import BASELINE
from conflictscore.benchmarks.harness.records import QuestionResult, StepRecord
from conflictscore.benchmarks.harness.report.flips import FlipKind, flip_kind
from conflictscore.records import Usage
from conflictscore.reporting.figure_text import counted, money, one_line, seconds

__all__ = ["BenchProgress"]

_LINE_QUESTIONS = 10
"""In a log, a line stands after so many questions at the latest."""
_LINE_SECONDS = 60.0
"""Or after so many seconds in which something ended."""
_SHOWN_STEPS = 4
_SHOWN_REASONS = 5
_KINDS = {FlipKind.CORRECTION: "corrected", FlipKind.HARM: "harmed"}
_GRADED_KINDS = {FlipKind.CORRECTION: "higher", FlipKind.HARM: "lower"}
_FALLING_KINDS = {FlipKind.CORRECTION: "lower", FlipKind.HARM: "higher"}


class BenchProgress:
    """Shows how far a run is; told by the runner, as its ``Listener``.

    A question of which no step ended in this session was done in an earlier one: it counts as
    done, and in no rate. Safe to be told from one thread while the display draws in another.
    """

    def __init__(
        self,
        console: Console,
        *,
        enabled: bool,
        total: int,
        measure: str,
        graded: bool = False,
        falls: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare a display; it shows from ``with`` on.

        Args:
            console: Where to, as a rule stderr.
            enabled: Whether anything is shown at all.
            total: Questions of the run, those done in earlier sessions among them.
            measure: What changed answers are counted by.
            graded: Whether its values are numbers rather than yes or no.
            falls: Whether less is better by it.
            clock: Seconds from any start, for the rate.
        """
        self._console = console
        self._enabled = enabled
        self._total = total
        self._measure = measure
        self._falls = falls
        self._kinds = _FALLING_KINDS if falls else _GRADED_KINDS if graded else _KINDS
        self._clock = clock
        self._lock = threading.Lock()
        self._started = self._last_line = clock()
        self._done = self._resumed = self._failed = self._line_done = 0
        self._worked: set[str] = set()
        self._in_flight: dict[tuple[str, str], None] = {}
        self._flips: dict[str, Counter[str]] = {}
        self._reasons: set[str] = set()
        self._spent: tuple[Usage, float | None] | None = None
        self._live = Live(
            console=console,
            get_renderable=self.panel,
            refresh_per_second=4,
            transient=True,
            redirect_stdout=False,
        )

    def __enter__(self) -> Self:
        self._started = self._last_line = self._clock()
        if self._enabled and self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()
        if self._enabled:
            self._say(self._line())

    def started(self, question_id: str, step: str) -> None:
        """A step began."""
        with self._lock:
            self._in_flight[question_id, step] = None

    def ended(self, record: StepRecord) -> None:
        """A step ended; why, where it failed."""
        with self._lock:
            self._in_flight.pop((record.question, record.step), None)
            self._worked.add(record.question)
        if record.error is not None:
            self._failure(record, one_line(record.error))
        self._maybe_line()

    def question(self, result: QuestionResult) -> None:
        """A question's last step ended, in this session or an earlier one."""
        name = result.question.id
        with self._lock:
            self._done += 1
            self._resumed += name not in self._worked
            self._failed += any(method.error is not None for method in result.methods.values())
            for method in result.methods:
                if method != BASELINE:
                    flips = self._flips.setdefault(method, Counter())
                    if kind := flip_kind(result, method, self._measure, falls=self._falls):
                        flips[self._kinds.get(kind, "other")] += 1
        self._maybe_line()

    def spent(self, usage: Mapping[str, Usage], money: float | None) -> None:
        """What all sessions spent so far, by model; no money where a price is not known."""
        with self._lock:
            self._spent = sum(usage.values(), Usage()), money

    def _failure(self, record: StepRecord, reason: str) -> None:
        """Every reason is said once, and only the first few: the tables at the end count them."""
        if not self._enabled or reason in self._reasons or len(self._reasons) >= _SHOWN_REASONS:
            return
        self._reasons.add(reason)
        self._say(f"{one_line(record.question, 40)}, {record.step} failed: {reason}", "yellow")

    def _maybe_line(self) -> None:
        if not self._enabled or self._console.is_terminal:
            return
        now = self._clock()
        due = self._done - self._line_done >= _LINE_QUESTIONS
        if due or now - self._last_line >= _LINE_SECONDS:
            self._last_line, self._line_done = now, self._done
            self._say(self._line())

    def _say(self, line: str, style: str = "") -> None:
        self._console.print(Text(line, style=style), soft_wrap=True)

    def _line(self) -> str:
        with self._lock:
            parts = [self._progress(), self._spending(), *self._flip_lines()]
            return "; ".join([*parts, f"{self._failed:,} failed"])

    def panel(self) -> RenderableType:
        """What the display shows now."""
        with self._lock:
            bar = Table.grid(padding=(0, 1), expand=True)
            bar.add_column(ratio=1, min_width=8)
            bar.add_column(overflow="fold")
            bar.add_row(
                ProgressBar(total=max(self._total, 1), completed=self._done), self._progress()
            )
            failed = Text(f"{counted(self._failed, 'question')} failed")
            if self._failed:
                failed.stylize("yellow")
            lines = [Text(self._spending()), *map(Text, self._flip_lines()), failed]
            return Group(bar, *lines, Text(self._now(), style="dim"))

    def _progress(self) -> str:
        ended = self._done - self._resumed
        parts = [f"{self._done:,} of {counted(self._total, 'question')}"]
        if self._resumed:
            parts.append(f"{self._resumed:,} from earlier")
        passed = self._clock() - self._started
        if ended and passed > 0:
            parts.append(f"{60 * ended / passed:.1f} a minute")
            if left := self._total - self._done:
                parts.append(f"{seconds(left * passed / ended)} left")
        return ", ".join(parts)

    def _spending(self) -> str:
        if self._spent is None:
            return "no call yet"
        used, dollars = self._spent
        cost = "cost unknown" if dollars is None else money(dollars)
        return (
            f"{counted(used.calls, 'call')}, {used.cached_calls:,} from the cache,"
            f" {used.input_tokens:,} tokens in, {used.output_tokens:,} out, {cost}"
        )

    def _flip_lines(self) -> list[str]:
        outcomes = (*self._kinds.values(), "other")
        return [
            f"{method}: " + ", ".join(f"{flips[name]:,} {name}" for name in outcomes)
            for method, flips in self._flips.items()
        ]

    def _now(self) -> str:
        steps = [f"{one_line(name, 40)} {step}" for name, step in self._in_flight]
        more = len(steps) - _SHOWN_STEPS
        shown = ", ".join(steps[:_SHOWN_STEPS]) + (f" and {more} more" if more > 0 else "")
        return f"now: {shown or 'waiting'}"
