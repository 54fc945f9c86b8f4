"""How well a judge of free-form answers agrees with the labels that answers were given."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated

from pydantic import Field

from conflictscore.benchmarks.at_once import at_once
from conflictscore.benchmarks.harness.figures import Proportion
from conflictscore.benchmarks.harness.records import Verdict
from conflictscore.benchmarks.harness.statistics import accuracy, balanced_accuracy, cohen_kappa
from conflictscore.benchmarks.truthfulqa.judges import Measure, judge_measure
from conflictscore.benchmarks.truthfulqa.labelled_answers import LabelledAnswer
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import Record

__all__ = ["Confusion", "JudgeCheck", "agreement", "check_judge"]


class Confusion(Record):
    """How often the judge said what, of the answers with one label."""

    yes: Annotated[int, Field(ge=0)]
    no: Annotated[int, Field(ge=0)]
    unjudged: Annotated[int, Field(ge=0)]


class JudgeCheck(Record):
    """Agreement of a judge with labels; unjudged answers are counted, and in no figure."""

    n: Annotated[int, Field(ge=0)]
    """Labelled answers that the judge was given."""
    unjudged: Annotated[int, Field(ge=0)]
    """Of these, answers without a verdict."""
    accuracy: Proportion
    balanced_accuracy: float | None
    """Mean of the recalls of yes and no, in [0, 1]; None where a label is missing."""
    cohen_kappa: float | None
    """In [-1, 1]; 0 is the agreement of chance; None where it has no value."""
    labelled_yes: Confusion
    labelled_no: Confusion


async def check_judge(
    labelled: Sequence[LabelledAnswer],
    *,
    measure: Measure,
    model: LanguageModel,
    prompts: PromptSet,
    meter: UsageMeter,
    on_verdict: Callable[[LabelledAnswer, Verdict], None] = lambda answer, verdict: None,
) -> tuple[Verdict, ...]:
    """Let a judge judge labelled answers; how many at a time is bounded by the model.

    Args:
        labelled: The answers; the judge does not see their labels.
        measure: What the labels are of.
        model: The judge.
        prompts: The templates of the judges.
        meter: Counts the calls.
        on_verdict: Called with each verdict as soon as it is there.

    Returns:
        A verdict an answer, in order; :func:`agreement` makes figures of them.

    Raises:
        ConfigurationError: A setting is wrong, so that nothing can be judged.
        BudgetError: The budget of the model is used up.
    """

    async def judge(answer: LabelledAnswer) -> Verdict:
        verdict = await judge_measure(
            measure, answer.question, answer.answer, model=model, prompts=prompts, meter=meter
        )
        on_verdict(answer, verdict)
        return verdict

    return await at_once([partial(judge, answer) for answer in labelled])


def agreement(labels: Sequence[bool], verdicts: Sequence[Verdict]) -> JudgeCheck:
    """Compare a judge's verdicts with the labels.

    Args:
        labels: One an answer.
        verdicts: As many, in the same order.

    Raises:
        ConfigurationError: The extra [bench] is not installed.
    """
    values_or_none = (
        None if verdict.value is None else bool(verdict.value) for verdict in verdicts
    )
    pairs = list(zip(labels, values_or_none, strict=True))
    said = Counter(pairs)
    judged = [(label, value) for label, value in pairs if value is not None]
    known, values = [label for label, _ in judged], [value for _, value in judged]
    return JudgeCheck(
        n=len(labels),
        unjudged=len(labels) - len(judged),
        accuracy=accuracy(known, values),
        balanced_accuracy=balanced_accuracy(known, values),
        cohen_kappa=cohen_kappa(known, values),
        labelled_yes=_confusion(said, label=True),
        labelled_no=_confusion(said, label=False),
    )


def _confusion(said: Mapping[tuple[bool, bool | None], int], *, label: bool) -> Confusion:
    return Confusion(
        yes=said.get((label, True), 0),
        no=said.get((label, False), 0),
        unjudged=said.get((label, None), 0),
    )
