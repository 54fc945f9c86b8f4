"""Events of a run, for observers such as a progress bar."""

from collections.abc import Mapping

from conflictscore.benchmarks.harness.records import QuestionResult, StepRecord
from conflictscore.records import Usage


class Listener:
    """Called at every step, in the event loop's thread, which it must not block.

    This base class does nothing; a listener overrides the events that it needs.
    """

    def ended(self, record: StepRecord) -> None:
        """A step ended and was recorded."""

    def question(self, question_result: QuestionResult) -> None:
        """A question's last step ended, in this session or an earlier one."""

    def spent(self, usage: Mapping[str, Usage], dollars: float | None) -> None:
        """The usage of all sessions so far, by model; no cost if a price is unknown."""
