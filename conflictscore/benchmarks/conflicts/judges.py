"""The three judges of an answer ("DRAGged into Conflicts", section 4), in words of our own."""

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from conflictscore.benchmarks.conflicts.grounding import TEMPLATE as GROUNDING_TEMPLATE
from conflictscore.benchmarks.conflicts.grounding import GroundingJudge, Support
from conflictscore.benchmarks.harness.records import Question, Verdict
from conflictscore.benchmarks.judging import Judge, at_once
from conflictscore.errors import ContextWindowError
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.retrieve import given_documents
from conflictscore.prompts import PromptSet, material, material_line
from conflictscore.records import ConflictType, Document

__all__ = ["BEHAVIOUR", "GROUNDING", "RECALL", "STAND_INS", "TEMPLATES", "judge_answer"]

BEHAVIOUR = "expected behaviour"
"""Whether the answer does what people's type of the conflict asks for."""
RECALL = "answer recall"
"""Whether the answer gives the right one; only of questions that have one."""
GROUNDING = "grounding"
"""The share of the answer's sentences that the documents they cite support, in [0, 1]."""


def _case(kind: ConflictType) -> str:
    return f"conflicts_case_{kind.value.replace('-', '_')}"


TEMPLATES = (
    "conflicts_behaviour",
    *map(_case, ConflictType),
    "conflicts_recall",
    GROUNDING_TEMPLATE,
)
"""What the judges are asked with."""

_FOLLOWS, _GIVEN = "FOLLOWS", "GIVEN"

STAND_INS = {
    "conflicts_behaviour": f"{_FOLLOWS}: True",
    "conflicts_recall": f"{_GIVEN}: True",
    GROUNDING_TEMPLATE: f"GROUNDING: {Support.SUPPORTED}",
}
"""What stands in for the judges' replies in a dry run."""

_REPLY_TOKENS = 320


async def judge_answer(
    question: Question, answer: str, *, model: LanguageModel, prompts: PromptSet, meter: UsageMeter
) -> dict[str, Verdict]:
    """Judge an answer by every measure that applies to it, at the same time.

    Args:
        question: With people's type, its documents and, where there is one, the right answer.
        answer: Untrusted; it stands between marks that it cannot close.
        model: The judge.
        prompts: Those of :data:`TEMPLATES`.
        meter: Counts the calls.

    Returns:
        The verdicts, independent of each other: where a call failed, or twice gave a reply that
        cannot be read, that one has no value but an error. A measure that does not apply is
        absent: recall without a right answer, grounding where no sentence states anything.

    Raises:
        ConfigurationError: A setting is wrong, so that nothing can be judged.
        BudgetError: The budget of the model is used up.
    """
    documents = given_documents({"documents": list(question.documents)})
    judge = Judge(model, prompts, meter)
    judging: list[Callable[[], Coroutine[Any, Any, Verdict | None]]] = [
        partial(_behaviour, question, answer, documents, judge),
        partial(_recall, question, answer, judge),
        GroundingJudge(question.question, answer, documents, judge).verdict,
    ]
    found = await at_once(judging)
    by_measure = zip((BEHAVIOUR, RECALL, GROUNDING), found, strict=True)
    return {measure: verdict for measure, verdict in by_measure if verdict is not None}


async def _behaviour(
    question: Question, answer: str, documents: Sequence[Document], judge: Judge
) -> Verdict:
    around = _behaviour_prompt(question, answer, (), judge.prompts)
    try:
        fitted = judge.fitted(documents, around, _REPLY_TOKENS)
    except ContextWindowError as error:
        return Verdict(value=None, error=str(error))
    prompt = _behaviour_prompt(question, answer, fitted.documents, judge.prompts)
    verdict = await judge.decide(prompt, _FOLLOWS, _REPLY_TOKENS)
    if not fitted.cut or verdict.value is None:
        return verdict
    cut = f"the judge saw documents {', '.join(map(str, fitted.cut))} in part only"
    said = f"{verdict.explanation} ({cut})" if verdict.explanation else cut
    return verdict.model_copy(update={"explanation": said})


async def _recall(question: Question, answer: str, judge: Judge) -> Verdict | None:
    if not question.correct:
        return None
    prompt = _recall_prompt(question, answer, judge.prompts)
    return await judge.decide(prompt, _GIVEN, _REPLY_TOKENS)


def _behaviour_prompt(
    question: Question, answer: str, documents: Sequence[Document], prompts: PromptSet
) -> str:
    if question.conflict_type is None:
        raise ValueError(f"question {question.id!r} has no type of conflict to judge by")
    return prompts.render(
        "conflicts_behaviour",
        documents=prompts.documents(documents),
        question=material_line(question.question),
        case=prompts.render(_case(question.conflict_type)),
        answer=material(answer),
    )


def _recall_prompt(question: Question, answer: str, prompts: PromptSet) -> str:
    return prompts.render(
        "conflicts_recall",
        question=material_line(question.question),
        gold=material_line("; ".join(question.correct)),
        answer=material(answer),
    )
