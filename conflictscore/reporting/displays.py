"""Shows the progress of runs, of judged answers or pairs, and of recordings on stderr."""

from collections.abc import Mapping
from typing import Any, Self

from rich.console import Console

from conflictscore.progress import CountBar, counting_bar
from conflictscore.reporting.figure_text import one_line
from conflictscore.retrieval.recording import RecordingReport

_NEXT = {"correct": "asking the documents again", "look_further": "searching for more documents"}


class RunProgress:
    """Shows the current step of a run, as reported by the ``custom`` events of the graph."""

    def __init__(self, console: Console, *, visible: bool) -> None:
        self._documents = self._claims = 0
        self._bar = counting_bar(console, visible=visible)
        self._task = self._bar.add_task("searching", total=None)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._bar.stop()

    def show(self, event: Mapping[str, Any]) -> None:
        """Show the step that begins with an event."""
        match event["event"]:
            case "documents":
                self._documents = len(event["documents"])
                self._now("answering")
            case "answer":
                self._now("splitting the answer into claims")
            case "claims":
                self._claims = len(event["claims"])
                self._now("labelling", total=self._claims * self._documents)
            case "label":
                self._bar.advance(self._task)
            case "decision":
                self._now(_NEXT.get(event["decision"], "finishing"))
            case "look_further" if new_documents := len(event["documents"]):
                self._documents += new_documents
                self._now("labelling", total=self._claims * new_documents)

    def _now(self, step: str, total: int | None = None) -> None:
        self._bar.reset(self._task, description=step, total=total)


class ItemProgress(CountBar):
    """Shows how many answers, rows or pairs have been judged, and prints the first few failures."""

    def begin(self, total: int, items_done: int = 0) -> None:
        """Start counting to ``total``, from the ``items_done`` that an earlier session finished."""
        self._total, self._done, self._failed = total, items_done, 0
        self.show(items_done, total, "resumed" if items_done else "")

    def count(self, error: str | None, name: str) -> None:
        """Count one more answer, row or pair.

        If the item failed, ``error`` is the reason, and ``name`` identifies the item.
        """
        self._done += 1
        if error is not None:
            self._failed += 1
            # rows often fail for the same reason, which is printed only once
            self.fail(one_line(error), f"{name} failed: {one_line(error)}")
        self.show(self._done, self._total, f"{self._failed:,} failed" if self._failed else "")


class RecordingProgress(CountBar):
    """Shows the progress of a recording, and prints each failure once."""

    def __init__(self, console: Console) -> None:
        super().__init__(console, "recording", "questions")
        self._failures = 0

    def __call__(self, report: RecordingReport) -> None:
        """Show the latest state of the recording."""
        for failure in report.failures[self._failures :]:
            # a question may be long, and the reason comes after it
            self.say(one_line(f"failed: {failure.question}: {failure.error}", limit=1_000))
        self._failures = len(report.failures)
        failures = f"{self._failures} failed" if self._failures else ""
        self.show(report.wanted - report.left, report.wanted, failures)
