"""Shows the progress of long work: live in a terminal, or as occasional lines in a log."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.text import Text

_TENTHS = 10
"""A log gets a line for each tenth of the whole, so that it stays short."""
_LINE_SECONDS = 60.0
"""Maximum time between two lines in a log, so that readers see that the work goes on."""


class CountBar:
    """Shows a count: a terminal gets a bar, a log gets a line for each tenth and each minute."""

    def __init__(
        self, console: Console, verb: str, nouns: str, *, visible: bool = True, reasons: int = 5
    ) -> None:
        """Prepare the bar; ``with`` shows it.

        At most ``reasons`` kinds of failure are printed. The default was chosen by hand: five lines
        leave the rest of the output on the screen.
        """
        self._console, self._verb, self._nouns = console, verb, nouns
        self._enabled, self._reasons = visible, reasons
        self._bar = counting_bar(console, _Rate(), visible=visible and console.is_terminal)
        # no total is known before the first count; rich's default would show "0/100"
        self._task = self._bar.add_task(verb, start=False, total=None)
        self._tenth, self._last_line = -1, 0.0  # -1: the first count is always logged
        self._printed: set[str] = set()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._bar.stop()

    def show(self, count: int, total: int, detail: str = "") -> None:
        """Show that ``count`` of ``total`` items are done, with a detail such as ``3 failed``."""
        detail = detail and f", {detail}"
        # the clock starts here, not in the constructor, so that the rate excludes preparation
        self._bar.start_task(self._task)
        self._bar.update(
            self._task, description=f"{self._verb}{detail}", completed=count, total=total
        )
        tenth, now = count * _TENTHS // max(1, total), time.monotonic()
        if tenth != self._tenth or now - self._last_line >= _LINE_SECONDS:
            self._tenth, self._last_line = tenth, now
            if not self._console.is_terminal:
                self.say(f"{self._verb}: {count:,} of {total:,} {self._nouns}{detail}")

    def say(self, line: str) -> None:
        """Print a line that stays above the bar."""
        if self._enabled:
            self._console.print(Text(line), soft_wrap=True)

    def fail(self, reason: str, line: str) -> None:
        """Print a failure, unless its reason was printed before or enough reasons were printed."""
        if reason not in self._printed and len(self._printed) < self._reasons:
            self._printed.add(reason)
            self.say(line)


def counting_bar(console: Console, *columns: ProgressColumn, visible: bool) -> Progress:
    """Return a bar with a description, a count and the remaining time.

    When it stops, the bar disappears, so that only the results stay on the screen.
    """
    counted_columns = (BarColumn(), MofNCompleteColumn(), *columns, TimeRemainingColumn())
    return _bar(console, *counted_columns, visible=visible)


def _bar(console: Console, *columns: ProgressColumn, visible: bool) -> Progress:
    label = TextColumn("  {task.description}", markup=False)
    return Progress(label, *columns, console=console, transient=True, disable=not visible)


@contextmanager
def transfer(console: Console, title: str, size: int) -> Iterator[Callable[[str, int, int], None]]:
    """Show the progress of a transfer.

    A terminal shows one bar that is redrawn. A log gets a line for each stage, and one each minute.

    Yields:
        A function to call with the stage, the bytes done, and the total bytes.
    """
    last_stage, last_line = "", 0.0
    shows = console.is_terminal
    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with _bar(console, *columns, visible=shows) as bar:
        task = bar.add_task(title, total=size)

        def show(stage: str, bytes_done: int, total: int) -> None:
            nonlocal last_stage, last_line
            bar.update(task, description=f"{title}: {stage}", completed=bytes_done, total=total)
            now = time.monotonic()
            if not shows and (stage != last_stage or now - last_line >= _LINE_SECONDS):
                last_stage, last_line = stage, now
                line = f"{title}: {stage}, {bytes_done / 1e6:.0f} of {total / 1e6:.0f} MB"
                console.print(line, highlight=False, markup=False, soft_wrap=True)

        yield show


class _Rate(ProgressColumn):
    """A column that shows the speed in steps per minute; it is empty until the speed is known."""

    def render(self, task: Task) -> Text:
        return Text(f"{60 * task.speed:.0f}/min" if task.speed else "")
