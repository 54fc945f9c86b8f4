"""Defines a method of a benchmark run: its properties, and the function that answers a question."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from conflictscore.benchmarks.harness.methods.asker import Asker
from conflictscore.benchmarks.harness.methods.registry import LOOP, METHODS
from conflictscore.benchmarks.harness.records import Question
from conflictscore.records import Attempt, Document

Form = Literal["multiple-choice", "mc1", "mc2", "free-form"]
"""The form of a question. In ``multiple-choice``, there are two options. In ``mc1``, there are
several options, and exactly one is correct. In ``mc2``, several options may be correct, and each
gets a probability. In ``free-form``, there are no options."""


@dataclass(frozen=True)
class Asked:
    """A question as a method receives it."""

    question: Question
    documents: tuple[Document, ...]
    first: Attempt | None = None
    """The loop's first answer with its score, for methods that start from this answer."""


@dataclass(frozen=True, eq=False, kw_only=True)
class BenchmarkMethod:
    """A method of a benchmark run: its properties, and the function that answers a question.

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
    """Whether the method reconsiders the loop's first answer (takes a second look at it)."""
    own_judge: bool = False
    """Whether the method's answers are judged by a separate criterion. The judge is then the
    method's judge in ``Benchmark.judges``.
    """
    tells_type: bool = False
    """Whether the method names the conflict type."""
    caveat: str = ""
    """A note for readers of the method's figures."""

    @property
    def step(self) -> str:
        """The step under which the method's answers are recorded."""
        return METHODS[self.name].step or self.name

    @property
    def begins_with_first(self) -> bool:
        """Whether the method has its own step and starts from the loop's scored first answer."""
        return self.looks_again and self.step != LOOP

    def grade_key(self, text: str) -> str:
        """Return the key under which an answer of this method is graded."""
        return f"{self.name}\n{text}" if self.own_judge else text
