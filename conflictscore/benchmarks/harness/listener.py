"""Events of a benchmark run, for observers such as a progress bar."""

from collections.abc import Mapping

from conflictscore.benchmarks.harness.records import QuestionResult, StepRecord
from conflictscore.records import Usage


class Listener:
    """Follows a run.

    The methods are called in the thread of the event loop, so they must not block. The base class
    does nothing; a listener overrides the methods for the events that it needs.
    """

    def ended(self, record: StepRecord) -> None:
        """Called when a step has ended and has been recorded."""

    def question(self, question_result: QuestionResult) -> None:
        """Called when the last step of a question has ended, in this session or an earlier one."""

    def spent(self, usage: Mapping[str, Usage], dollars: float | None) -> None:
        """Called with the usage of all sessions so far, by model, and the cost if known."""
