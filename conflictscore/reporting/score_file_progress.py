"""A file that is scored, as it goes: a bar at a terminal, a line now and then in a log."""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from conflictscore.reporting.figure_text import counted, one_line, seconds
from conflictscore.scoring_files.scoring import Result

__all__ = ["ScoreFileProgress"]

_LINE_SECONDS = 60.0
"""In a log, a line stands after so many seconds."""
_SHOWN_REASONS = 5


class ScoreFileProgress:
    """Shows how far a run is; told by it, as its ``Listener``."""

    def __init__(
        self, console: Console, *, enabled: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Prepare a display; it shows from ``with`` on.

        Args:
            console: Where to, as a rule stderr.
            enabled: Whether anything is shown at all.
            clock: Seconds from any start, for the rate.
        """
        self._console = console
        self._enabled = enabled
        self._clock = clock
        self._started = self._last_line = clock()
        self._total = self._earlier = self._now = self._failed = 0
        self._reasons: set[str] = set()
        self._bar = Progress(
            BarColumn(bar_width=None),
            TextColumn("{task.description}"),
            console=console,
            transient=True,
            expand=True,
            redirect_stdout=False,
        )
        self._task = self._bar.add_task("", total=None)

    def __enter__(self) -> Self:
        if self._enabled and self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar.live.is_started:
            self._bar.stop()
        if self._enabled and self._total:
            self._say(self.line())

    def begun(self, *, total: int, ended: int) -> None:
        """A run starts, or goes on where so many rows ended in earlier sessions."""
        self._total, self._earlier = total, ended
        self._started = self._last_line = self._clock()
        self._bar.update(self._task, total=max(total, 1), completed=ended)

    def ended(self, result: Result) -> None:
        """A row ended; why, where it failed: every reason once, and only the first few."""
        self._now += 1
        reason = result.outcome["error"]
        if reason is not None:
            self._failed += 1
            self._say_reason(result.outcome["row"], one_line(reason))
        if not self._enabled:
            return
        if self._console.is_terminal:
            self._bar.update(self._task, advance=1, description=self.line())
        elif self._clock() - self._last_line >= _LINE_SECONDS:
            self._last_line = self._clock()
            self._say(self.line())

    def line(self) -> str:
        """How far the run is, how fast, and how long it takes yet."""
        done = self._earlier + self._now
        parts = [f"{done:,} of {counted(self._total, 'row')}"]
        if self._earlier:
            parts.append(f"{self._earlier:,} from earlier")
        passed = self._clock() - self._started
        if self._now and passed > 0:
            parts.append(f"{self._now / passed:.1f} a second")
            if left := self._total - done:
                parts.append(f"{seconds(left * passed / self._now)} left")
        parts.append(f"{self._failed:,} failed")
        return ", ".join(parts)

    def _say_reason(self, row: int, reason: str) -> None:
        if not self._enabled or reason in self._reasons or len(self._reasons) >= _SHOWN_REASONS:
            return
        self._reasons.add(reason)
        self._say(f"row {row:,} failed: {reason}", "yellow")

    def _say(self, line: str, style: str = "") -> None:
        self._console.print(Text(line, style=style), soft_wrap=True)
