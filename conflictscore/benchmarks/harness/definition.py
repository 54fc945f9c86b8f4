"""Defines a benchmark for the harness: its questions, and how to judge their answers."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from conflictscore.benchmarks.harness.methods.method import Form as Form
from conflictscore.benchmarks.harness.methods.registry import COMMON_METHODS
from conflictscore.benchmarks.harness.question_documents import shortened
from conflictscore.benchmarks.harness.question_sample import drawn
from conflictscore.benchmarks.harness.records import Question, Verdict
from conflictscore.errors import InputError
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet

ACCURACY = "accuracy"
"""The measure of a binary choice: whether the right option was chosen."""

CHOICES: Mapping[Form, str] = {"multiple-choice": ACCURACY, "mc1": "mc1", "mc2": "mc2"}
"""The measure of each form with options: ``mc1`` is whether the one right option was chosen,
``mc2`` the probability that the right ones have together."""

SCORES = ("cs-c", "cs-r")
"""The measures of answers that are judged by their ConflictScore: CS-C and CS-R, lower being
better."""


class AnswerJudge(Protocol):
    """Judges one free-form answer by every measure of a benchmark.

    ```
    async def judge(question, answer, *, model, prompts, meter):
        right = any(reference.casefold() in answer.casefold() for reference in question.correct)
        return {"correct": Verdict(value=right)}
    ```
    """

    async def __call__(
        self,
        question: Question,
        answer: str,
        *,
        model: LanguageModel,
        prompts: PromptSet,
        meter: UsageMeter,
    ) -> dict[str, Verdict]:
        """The verdicts by measure; a missing verdict has no value and a reason.

        Raises:
            ConfigurationError: A setting is wrong, so that nothing can be judged.
        """


@dataclass(frozen=True)
class Benchmark:
    """Questions of one form, with their judge."""

    name: str
    form: Form
    questions: tuple[Question, ...]
    measures: tuple[str, ...] = (ACCURACY,)
    """The measures of an answer; pairs and transitions are counted by the first."""
    judge: AnswerJudge | None = None
    """None in multiple choice, where the right option is known."""
    judges: Mapping[str, AnswerJudge] = field(default_factory=dict)
    """By method, of those whose answers ``judge`` does not judge (``own_judge``)."""
    graded: frozenset[str] = frozenset()
    """Those of the measures whose values are numbers in [0, 1] rather than yes or no."""
    falling: frozenset[str] = frozenset()
    """Graded measures where lower is better."""
    scored: bool = False
    """Whether free-form answers are judged by their ConflictScore against the documents of their
    question; ``measures`` are then :data:`SCORES`, and there is no judge."""
    reply_forms: tuple[str, ...] = ()
    """Replies of the forms that the judge asks for, for a dry run."""
    usual_claims: int = 3
    """Claims, of a sentence each, that an answer usually has, for a dry run."""
    prompt_set: str = "default"
    """The prompt set that its figures are reported with, unless a user asks for another."""
    wording: Mapping[str, str] = field(default_factory=dict)
    """Templates that stand in for others of the same placeholders, by the name of the one that is
    replaced: a benchmark that asks in its own words for ``free_form_rag``, say."""
    reply_tokens: int | None = None
    """The most that an answer in free form may have, where that is more than an answer has
    otherwise; of first answers, second samples and reports."""
    offered: tuple[str, ...] = COMMON_METHODS
    """The methods that make sense here; ``--methods all`` is these."""
    hashes: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of the files that the questions come from, by name."""
    notes: tuple[str, ...] = ()
    """Remarks for the reader on how the questions were chosen."""

    def __post_init__(self) -> None:
        """Refuse a judge that could not be called, before an answer is paid for."""
        if self.form == "free-form" and self.judge is None and not self.scored:
            raise InputError(f"{self.name}: answers in free form need a judge; give judge=…")
        for judge in filter(None, (self.judge, *self.judges.values())):
            _refuse_odd_judge(self.name, judge)

    def selected(self, sample: int | None, seed: int) -> "tuple[Benchmark, dict[str, Any]]":
        """The benchmark with a sample drawn by seed, and how, for a run's manifest."""
        questions = self.questions if sample is None else drawn(self.questions, sample, seed)
        how = {"limit": None, "sample": sample, "of": len(self.questions)}
        return replace(self, questions=questions), how

    def shortened(self, tokens: int) -> "Benchmark":
        """The benchmark with each long document of its questions cut to its best passage.

        ``tokens`` is the length of a passage; 0 leaves the documents whole.
        """
        return replace(self, questions=shortened(self.questions, tokens)) if tokens else self


def _refuse_odd_judge(benchmark: str, judge: AnswerJudge) -> None:
    name = getattr(judge, "__name__", type(judge).__name__)
    signature = "async def judge(question, answer, *, model, prompts, meter)"
    try:
        inspect.signature(judge).bind(0, "", model=0, prompts=0, meter=0)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{benchmark}: the judge {name} cannot be called ({error}); give {signature}"
        ) from None
    calls: tuple[Any, ...] = (judge, type(judge).__call__)  # an object may be the judge
    if not any(map(inspect.iscoroutinefunction, calls)):
        raise InputError(f"{benchmark}: the judge {name} is not async; give {signature}")
