"""A method of a benchmark run: what it asks for one question, and what is to be known of it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from conflictscore.benchmarks.harness.methods.asker import Asker
from conflictscore.benchmarks.harness.methods.registry import LOOP, METHODS
from conflictscore.benchmarks.harness.records import Question
from conflictscore.records import Attempt, Document

Form = Literal["multiple-choice", "mc1", "mc2", "free-form"]
"""How questions are asked: by two options, by several of which one is right, by several of which
some are, each with its probability, or with none."""


@dataclass(frozen=True)
class Asked:
    """A question as it is put to a method."""

    question: Question
    documents: tuple[Document, ...]
    first: Attempt | None = None
    """The loop's first answer with its score, for the methods that begin with it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class BenchmarkMethod:
    """How an answer is produced; ``records.Method`` lists the methods of the loop itself."""

    name: str
    ask: Callable[[Asker, Asked], Awaitable[dict[str, Any]]]
    """Asks for one question, and gives the plain JSON that is recorded.

    It raises :class:`~conflictscore.errors.ConfigurationError` for what ends a run, and other
    errors of :mod:`conflictscore.errors` for what fails this question only."""
    forms: tuple[Form, ...] = ("multiple-choice", "mc1", "mc2", "free-form")
    """The forms of question that it fits."""
    looks_again: bool = False
    """Whether it looks at the loop's first answer again."""
    own_judge: bool = False
    """Whether what counts as right of its answers is another thing than of the other methods', so
    that a benchmark judges them by one of its ``judges``."""
    tells_type: bool = False
    """Whether it tells the type of the conflict."""
    caveat: str = ""
    """A remark for the reader of its figures."""

    @property
    def step(self) -> str:
        """The step that it is recorded as."""
        return METHODS[self.name].step or self.name

    @property
    def begins_with_first(self) -> bool:
        """Whether its own step begins with the loop's first answer and its score."""
        return self.looks_again and self.step != LOOP

    def grade_key(self, text: str) -> str:
        """The key of the grade of an answer of this method."""
        return f"{self.name}\n{text}" if self.own_judge else text
