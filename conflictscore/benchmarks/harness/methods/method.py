"""A method of a benchmark run: how it answers a question, and its properties."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from conflictscore.benchmarks.harness.methods.asker import Asker
from conflictscore.benchmarks.harness.methods.registry import LOOP, METHODS
from conflictscore.benchmarks.harness.records import Question
from conflictscore.records import Attempt, Document

Form = Literal["multiple-choice", "mc1", "mc2", "free-form"]
"""The form of questions: binary choice, several options with one right answer, several options with
several right answers and their probabilities, or free form."""


@dataclass(frozen=True)
class Asked:
    """A question in the form that a method receives."""

    question: Question
    documents: tuple[Document, ...]
    first: Attempt | None = None
    """The loop's first answer with its score, for methods that begin with it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class BenchmarkMethod:
    """How an answer is produced; ``records.Method`` lists the methods of the loop itself."""

    name: str
    ask: Callable[[Asker, Asked], Awaitable[dict[str, Any]]]
    """Answers one question, and returns the plain JSON to record.

    It raises :class:`~conflictscore.errors.ConfigurationError` to end the run, and other errors of
    :mod:`conflictscore.errors` if only this question fails.
    """
    forms: tuple[Form, ...] = ("multiple-choice", "mc1", "mc2", "free-form")
    """The forms of questions that it can answer."""
    looks_again: bool = False
    """Whether it reconsiders the loop's first answer."""
    own_judge: bool = False
    """Whether its answers are judged by a different criterion, by one of the benchmark's
    ``judges``."""
    tells_type: bool = False
    """Whether it names the conflict type."""
    caveat: str = ""
    """A note for the reader of its figures."""

    @property
    def step(self) -> str:
        """The step under which it is recorded."""
        return METHODS[self.name].step or self.name

    @property
    def begins_with_first(self) -> bool:
        """Whether its own step begins with the loop's first answer and its score."""
        return self.looks_again and self.step != LOOP

    def grade_key(self, text: str) -> str:
        """The key under which an answer of this method is graded."""
        return f"{self.name}\n{text}" if self.own_judge else text
