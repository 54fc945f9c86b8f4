"""Listeners of a run, such as a progress display."""

from collections.abc import Mapping
from typing import Protocol

from conflictscore.benchmarks.harness.records import QuestionResult, StepRecord
from conflictscore.records import Usage


class Listener(Protocol):
    """Is told of every step, in the event loop's thread; it must not block."""

    def started(self, question_id: str, step: str) -> None:
        """A step began."""

    def ended(self, record: StepRecord) -> None:
        """A step ended and was recorded."""

    def question(self, result: QuestionResult) -> None:
        """A question's last step ended, in this session or an earlier one."""

    def spent(self, usage: Mapping[str, Usage], money: float | None) -> None:
        """Usage of all sessions so far, by model; no money where a price is not known."""


class NullListener:
    """Tells nobody."""

    def started(self, question_id: str, step: str) -> None:
        """See :class:`Listener`."""

    def ended(self, record: StepRecord) -> None:
        """See :class:`Listener`."""

    def question(self, result: QuestionResult) -> None:
        """See :class:`Listener`."""

    def spent(self, usage: Mapping[str, Usage], money: float | None) -> None:
        """See :class:`Listener`."""
