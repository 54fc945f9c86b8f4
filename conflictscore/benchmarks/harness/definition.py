"""Defines a benchmark for the harness: its questions, and the judge of their answers."""

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
"""The measure of each form with options.

``mc1``: whether the one right option was chosen; ``mc2``: the total probability of the right
options.
"""

SCORES = ("cs-c", "cs-r")
"""The measures of answers that are judged by their ConflictScore, CS-C and CS-R.

Lower is better.
"""


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
        """Return the verdicts by measure; a missing verdict has a reason instead of a value.

        Raises:
            ConfigurationError: A setting is wrong, so that nothing can be judged.
        """


@dataclass(frozen=True)
class Benchmark:
    """The questions of a benchmark, all of the same form, with their judge."""

    name: str
    form: Form
    questions: tuple[Question, ...]
    measures: tuple[str, ...] = (ACCURACY,)
    """The measures of an answer; the first one decides pairs and transitions."""
    judge: AnswerJudge | None = None
    """The judge of answers; None in multiple choice, where the right option is known."""
    judges: Mapping[str, AnswerJudge] = field(default_factory=dict)
    """For each method with a judge of its own (``own_judge``), that judge instead of ``judge``."""
    graded: frozenset[str] = frozenset()
    """The measures with values in [0, 1] instead of yes or no."""
    falling: frozenset[str] = frozenset()
    """Graded measures where lower is better."""
    scored: bool = False
    """Whether free-form answers are judged by their ConflictScore against the documents of their
    question; ``measures`` are then :data:`SCORES`, and there is no judge."""
    reply_forms: tuple[str, ...] = ()
    """Sample replies in the forms that the judge asks for, for a dry run."""
    usual_claims: int = 3
    """The usual number of claims in an answer, of one sentence each; used for a dry run."""
    prompt_set: str = "default"
    """The prompt set for its figures, unless the user chooses another."""
    wording: Mapping[str, str] = field(default_factory=dict)
    """Templates that replace others with the same placeholders, keyed by the replaced name.

    For example, a benchmark may replace ``free_form_rag`` with its own words.
    """
    reply_tokens: int | None = None
    """Maximum tokens of a free-form answer, if it may be longer than usual.

    This applies to first answers, second samples and reports.
    """
    offered: tuple[str, ...] = COMMON_METHODS
    """The methods that make sense here, and that ``--methods all`` selects."""
    hashes: Mapping[str, str] = field(default_factory=dict)
    """The SHA-256 of the files with the questions, by name."""
    notes: tuple[str, ...] = ()
    """Notes for the reader on how the questions were chosen."""

    def __post_init__(self) -> None:
        """Refuse a judge that cannot be called before paying for any answer."""
        if self.form == "free-form" and self.judge is None and not self.scored:
            raise InputError(f"{self.name}: answers in free form need a judge; give judge=…")
        for judge in filter(None, (self.judge, *self.judges.values())):
            _refuse_odd_judge(self.name, judge)

    def selected(self, sample: int | None, seed: int) -> "tuple[Benchmark, dict[str, Any]]":
        """The benchmark with a sample drawn by seed, and the manifest's entry for it."""
        questions = self.questions if sample is None else drawn(self.questions, sample, seed)
        how = {"limit": None, "sample": sample, "of": len(self.questions)}
        return replace(self, questions=questions), how

    def shortened(self, tokens: int) -> "Benchmark":
        """The benchmark with each long document of its questions cut to its best passage.

        ``tokens`` is the length of a passage; 0 keeps the documents whole.
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
    calls: tuple[Any, ...] = (judge, type(judge).__call__)  # the judge may be an object
    if not any(map(inspect.iscoroutinefunction, calls)):
        raise InputError(f"{benchmark}: the judge {name} is not async; give {signature}")
