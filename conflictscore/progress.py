"""How far long work is: a live picture at a terminal, plain lines now and then in a log."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar, Self

from rich.console import Console, RenderableType
from rich.live import Live
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
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

__all__ = ["CountBar", "Display", "bar_beside", "counting_bar", "transfer"]

_TENTHS = 10
_LINE_SECONDS = 60.0
"""In a log, a line stands at most so often, but for a display that counts ``every`` few."""
_SHOWN_REASONS = 5


class Display(ABC):
    """A line that says how far work is; a context manager.

    At a terminal it is redrawn with a bar until the work ends; in a log it stands now and then,
    and in both once more at the end.
    """

    every: ClassVar[int | None] = None
    """In a log a line also stands after so many; None for none but by time."""
    reasons: ClassVar[int] = _SHOWN_REASONS
    """How many different failures are said; their number is in the line."""

    def __init__(
        self, console: Console, *, enabled: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Prepare a display; it shows from ``with`` on.

        Args:
            console: Where to, as a rule stderr.
            enabled: Whether anything is shown at all.
            clock: Seconds from any start, for the rate.
        """
        self._console, self._enabled, self._clock = console, enabled, clock
        self._said: set[str] = set()
        self._line_done = 0
        self._live: Live | None = None
        self._start()

    @abstractmethod
    def line(self) -> str:
        """How far the work is; empty where there is nothing to say yet."""

    @abstractmethod
    def panel(self) -> RenderableType:
        """What a terminal shows now."""

    def __enter__(self) -> Self:
        self._start()
        if self._enabled and self._console.is_terminal:
            self._live = Live(
                console=self._console,
                get_renderable=self.panel,
                refresh_per_second=4,
                transient=True,
                redirect_stdout=False,
            )
            self._live.start()
        return self

    def __exit__(self, *raised: object) -> None:
        if self._live is not None:
            self._live.stop()
        if self._enabled and (line := self.line()):
            self._say(line)

    def _start(self) -> None:
        self._started = self._last_line = self._clock()

    @property
    def _passed(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._started

    def _tick(self, done: int) -> None:
        """In a log, say the line where it is time."""
        if not self._enabled or self._console.is_terminal:
            return
        now = self._clock()
        due = self.every is not None and done - self._line_done >= self.every
        if due or now - self._last_line >= _LINE_SECONDS:
            self._last_line, self._line_done = now, done
            self._say(self.line())

    def _say_once(self, reason: str, line: str) -> None:
        """Say a failure, every reason once and only the first few."""
        if self._enabled and reason not in self._said and len(self._said) < self.reasons:
            self._said.add(reason)
            self._say(line, "yellow")

    def _say(self, line: str, style: str = "") -> None:
        self._console.print(Text(line, style=style), soft_wrap=True)


def bar_beside(text: str, done: int, total: int) -> RenderableType:
    """A bar as wide as the terminal has room for, and a text beside it."""
    grid = Table.grid(padding=(0, 1), expand=True)
    grid.add_column(ratio=1, min_width=8)
    grid.add_column(overflow="fold")
    grid.add_row(ProgressBar(total=max(total, 1), completed=done), Text(text))
    return grid


class CountBar:
    """Counts what a verb is done to: a bar at a terminal, in a log a line at each tenth."""

    def __init__(self, console: Console, verb: str, nouns: str) -> None:
        """Prepare it; it shows from ``with`` on.

        Args:
            console: Where to, as a rule stderr.
            verb: What is done, such as ``recording``.
            nouns: To what, such as ``questions``.
        """
        self._console, self._verb, self._nouns = console, verb, nouns
        self._bar = counting_bar(console, _Rate(), enabled=console.is_terminal)
        self._task = self._bar.add_task(verb, start=False)
        self._tenth = -1

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._bar.stop()

    def show(self, done: int, total: int, failed: str = "") -> None:
        """Show how many are done; ``failed`` is put after it where there is something to put."""
        failed = failed and f", {failed}"
        self._bar.start_task(self._task)
        self._bar.update(
            self._task, description=f"{self._verb}{failed}", completed=done, total=total
        )
        tenth = done * _TENTHS // max(1, total)
        if not self._console.is_terminal and tenth != self._tenth:
            self.say(f"{self._verb}: {done} of {total} {self._nouns}{failed}")
        self._tenth = tenth

    def say(self, line: str) -> None:
        """Print a line that stays."""
        self._console.print(Text(line), soft_wrap=True)


def counting_bar(console: Console, *columns: ProgressColumn, enabled: bool) -> Progress:
    """A bar with what is done, how many of how many, and the time left; gone when it ends."""
    return Progress(
        TextColumn("  {task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        *columns,
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not enabled,
    )


@contextmanager
def transfer(console: Console, title: str, size: int) -> Iterator[Callable[[str, int, int], None]]:
    """Bytes of a transfer: a bar at a terminal, in a log a line at each tenth of a stage.

    Args:
        console: Where to, as a rule stderr.
        title: What is transferred.
        size: Its bytes.

    Yields:
        To be called with a stage, the bytes done and the bytes in all.
    """
    if not console.is_terminal:
        last = ("", -1)

        def say(stage: str, done: int, total: int) -> None:
            nonlocal last
            if (now := (stage, done * _TENTHS // total)) != last:
                last = now
                line = f"{title}: {stage}, {done / 1e6:.0f} of {total / 1e6:.0f} MB"
                console.print(line, highlight=False, markup=False, soft_wrap=True)

        yield say
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, TransferSpeedColumn(), console=console, transient=True) as bar:
        task = bar.add_task(title, total=size)
        yield lambda stage, done, total: bar.update(
            task, description=f"{title}: {stage}", completed=done, total=total
        )


class _Rate(ProgressColumn):
    """So many a minute."""

    def render(self, task: Task) -> Text:
        return Text(f"{60 * task.speed:.0f}/min" if task.speed else "")
