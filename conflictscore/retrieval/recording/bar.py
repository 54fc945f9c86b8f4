"""How far a recording is: a bar on a terminal, and else a line at each tenth."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from conflictscore.retrieval.documents import clean_text
from conflictscore.retrieval.recording.recorder import RecordingReport

__all__ = ["RecordingBar"]

_LINES = 10


class RecordingBar:
    """Shows each report that it is called with, and each failure once; a context manager."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Progress(
            TextColumn("  {task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            _Rate(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("recording", start=False)
        self._failures = 0
        self._tenth = -1
        self._cancelled = False

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def __call__(self, report: RecordingReport) -> None:
        """Show how far the recording is."""
        for failure in report.failures[self._failures :]:
            self._say(f"failed: {failure.question}: {failure.error}")
        self._failures = len(report.failures)
        if report.cancelled and not self._cancelled:
            self._say("stopping: waiting for the questions in flight")
        self._cancelled = report.cancelled
        done = report.wanted - report.left
        self._bar.start_task(self._task)
        failed = f", {self._failures} failed" if self._failures else ""
        self._bar.update(
            self._task, description=f"recording{failed}", completed=done, total=report.wanted
        )
        tenth = done * _LINES // max(1, report.wanted)
        if not self._console.is_terminal and tenth != self._tenth:
            self._say(f"recording: {done} of {report.wanted} questions{failed}")
        self._tenth = tenth

    def _say(self, line: str) -> None:
        # What a server said must not steer the terminal.
        self._console.print(Text(" ".join(clean_text(line).split())), soft_wrap=True)


class _Rate(ProgressColumn):
    """Questions a minute."""

    def render(self, task: Task) -> Text:
        """The rate, where there is one yet."""
        return Text(f"{60 * task.speed:.0f}/min" if task.speed else "")
