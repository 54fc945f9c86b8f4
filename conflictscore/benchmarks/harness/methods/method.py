"""Defines a method of a benchmark run: how it answers a question, and its properties."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from conflictscore.benchmarks.harness.methods.asker import Asker
from conflictscore.benchmarks.harness.methods.registry import LOOP, METHODS
from conflictscore.benchmarks.harness.records import Question
from conflictscore.records import Attempt, Document

Form = Literal["multiple-choice", "mc1", "mc2", "free-form"]
"""The form of questions: binary choice; several options, of which one is right; several options, of
which several may be right, each with a probability; or free form."""


@dataclass(frozen=True)
class Asked:
    """A question as a method receives it."""

    question: Question
    documents: tuple[Document, ...]
    first: Attempt | None = None
    """The loop's first answer and its score, for methods that start from it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class BenchmarkMethod:
    """How a benchmark method answers a question, and its properties.

    ``records.Method`` lists only the methods of the loop itself.
    """

    name: str
    ask: Callable[[Asker, Asked], Awaitable[dict[str, Any]]]
    """A function that answers one question, and returns plain JSON to be recorded.

    The function raises :class:`~conflictscore.errors.ConfigurationError` to end the run, and any
    other error of :mod:`conflictscore.errors` if only this question fails.
    """
    forms: tuple[Form, ...] = ("multiple-choice", "mc1", "mc2", "free-form")
    """The forms of questions that the method can answer."""
    looks_again: bool = False
    """Whether the method reconsiders the loop's first answer."""
    own_judge: bool = False
    """Whether the method's answers are judged by a different criterion, with a judge from
    ``Benchmark.judges``."""
    tells_type: bool = False
    """Whether the method names the conflict type."""
    caveat: str = ""
    """A note to the reader of the method's figures."""

    @property
    def step(self) -> str:
        """The step under which the method's answers are recorded."""
        return METHODS[self.name].step or self.name

    @property
    def begins_with_first(self) -> bool:
        """Whether the method has its own step, which starts from the loop's scored first answer."""
        return self.looks_again and self.step != LOOP

    def grade_key(self, text: str) -> str:
        """Return the key under which an answer of this method is graded."""
        return f"{self.name}\n{text}" if self.own_judge else text
