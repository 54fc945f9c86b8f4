"""Defines a benchmark for the harness: its questions and the judge of the answers."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

# "as Form" lets other modules import it from here, together with Benchmark
from conflictscore.benchmarks.harness.methods.method import Form as Form
from conflictscore.benchmarks.harness.methods.method_opening import method_of
from conflictscore.benchmarks.harness.methods.registry import COMMON_METHODS, METHODS
from conflictscore.benchmarks.harness.question_documents import shortened
from conflictscore.benchmarks.harness.question_sample import drawn
from conflictscore.benchmarks.harness.records import Question, Verdict
from conflictscore.errors import InputError
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet

ACCURACY = "accuracy"
"""The measure for a binary choice: whether the correct option was chosen."""

CHOICES: Mapping[Form, str] = {"multiple-choice": ACCURACY, "mc1": "mc1", "mc2": "mc2"}
"""The measure for each form of multiple choice.

``mc1`` measures whether the single correct option was chosen. ``mc2`` measures the total
probability of the correct options.
"""

SCORES = ("cs-c", "cs-r")
"""The measures for answers that are judged by their ConflictScore: CS-C and CS-R.

For both measures, lower is better.
"""


class AnswerJudge(Protocol):
    """Judges one free-form answer on every measure of a benchmark.

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
        """Return one verdict for each measure.

        If there is no judgement, the verdict has an error and no value.

        Raises:
            ConfigurationError: A setting is invalid, so nothing can be judged.
        """


@dataclass(frozen=True)
class Benchmark:
    """A benchmark: its questions, all of the same form, and the judge of the answers."""

    name: str
    form: Form
    questions: tuple[Question, ...]
    measures: tuple[str, ...] = (ACCURACY,)
    """The measures of an answer; the first one is used for paired comparisons and transitions."""
    judge: AnswerJudge | None = None
    """The judge of free-form answers; None for multiple-choice questions, which need no judge."""
    judges: Mapping[str, AnswerJudge] = field(default_factory=dict)
    """The judges of methods with ``own_judge``, by name of the method; they replace ``judge``.

    ``judge`` is needed all the same, since it judges the baseline, which is always run.
    """
    graded: frozenset[str] = frozenset()
    """The measures whose values are numbers in [0, 1] instead of yes or no."""
    falling: frozenset[str] = frozenset()
    """The graded measures for which lower is better."""
    scored: bool = False
    """Whether free-form answers are judged by their ConflictScore on the question's documents.

    If answers are judged by ConflictScore, ``measures`` are :data:`SCORES`, and there is no judge.
    """
    reply_forms: tuple[str, ...] = ()
    """Sample replies for a dry run, one in each format that the judge asks for."""
    usual_claims: int = 3
    """The number of one-sentence claims that a dry run assumes in an answer.

    Most answers have a few sentences; the reports of one benchmark have many more. The default was
    chosen by hand.
    """
    prompt_set: str = "default"
    """The prompt set that is used unless the user chooses a different one."""
    wording: Mapping[str, str] = field(default_factory=dict)
    """The name of each replacement template, by the name of the default template that it replaces.

    A replacement must have the same placeholders as the default template. For example, a benchmark
    may replace ``free_form_rag`` with its own wording.
    """
    reply_tokens: int | None = None
    """The maximum number of tokens in a free-form answer, if it differs from the default.

    The limit applies to first answers, to the second samples of ``resample``, and to reports.
    """
    offered: tuple[str, ...] = COMMON_METHODS
    """The methods that make sense for this benchmark; ``--methods all`` selects all of them."""
    hashes: Mapping[str, str] = field(default_factory=dict)
    """The SHA-256 hashes of the question files, by name of the file."""
    notes: tuple[str, ...] = ()
    """Notes to the reader of the report, for example on how the questions were chosen."""

    def __post_init__(self) -> None:
        """Reject measures and judges that cannot be used, before any answer is paid for."""
        if yes_or_no := sorted(self.falling - self.graded):
            # a yes means a correct answer, so lower cannot be better for a yes-or-no measure
            raise InputError(
                f"{self.name}: falling contains {', '.join(yes_or_no)}, but graded does not;"
                " lower can be better only for a graded measure"
            )
        if self.form == "free-form" and self.judge is None and not self.scored:
            raise InputError(f"{self.name}: free-form answers need a judge; give judge=…")
        for name in self.judges:
            # without own_judge, equal answers of all methods share one grade, so the judge of one
            # method would decide the grades of others
            if name in METHODS and not method_of(name).own_judge:
                raise InputError(
                    f"{self.name}: judges names {name}, a method without own_judge; set own_judge"
                    " in the method, or give judge=… for all methods"
                )
        for judge in filter(None, (self.judge, *self.judges.values())):
            _refuse_odd_judge(self.name, judge)

    def selected(self, sample: int | None, seed: int) -> "tuple[Benchmark, dict[str, Any]]":
        """Return the benchmark with only the sampled questions, and what the manifest records."""
        questions = self.questions if sample is None else drawn(self.questions, sample, seed)
        # earlier versions, which had an option --limit, wrote the field "limit"; their runs can
        # only be resumed if this version writes the same fields
        how = {"limit": None, "sample": sample, "of": len(self.questions)}
        return replace(self, questions=questions), how

    def shortened(self, tokens: int) -> "Benchmark":
        """Return the benchmark with each long document cut to one passage.

        The passage is the one that fits the question best. ``tokens`` is the length of a passage;
        if it is 0, no document is cut.
        """
        return replace(self, questions=shortened(self.questions, tokens)) if tokens else self


def _refuse_odd_judge(benchmark: str, judge: AnswerJudge) -> None:
    """Raise an error if a judge is not async, or does not accept a judge's arguments."""
    name = getattr(judge, "__name__", type(judge).__name__)
    signature = "async def judge(question, answer, *, model, prompts, meter)"
    try:
        # the values are placeholders: bind only checks the names and the number of arguments
        inspect.signature(judge).bind(0, "", model=0, prompts=0, meter=0)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{benchmark}: the judge {name} cannot be called ({error}); give {signature}"
        ) from None
    # the judge may be a function, or an object with an async __call__
    calls: tuple[Any, ...] = (judge, type(judge).__call__)
    if not any(map(inspect.iscoroutinefunction, calls)):
        raise InputError(f"{benchmark}: the judge {name} is not async; give {signature}")
