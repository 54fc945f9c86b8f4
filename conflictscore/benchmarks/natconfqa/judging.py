"""From an answer to the decisions that its measures count."""

from collections.abc import Sequence
from functools import partial

from conflictscore.benchmarks.harness.records import Verdict
from conflictscore.benchmarks.judging import at_once
from conflictscore.benchmarks.natconfqa.data import NatConfQuestion, Pair
from conflictscore.benchmarks.natconfqa.decisions import DECISION_TEMPLATES, Decider
from conflictscore.benchmarks.natconfqa.decompose import Decomposition, decompose
from conflictscore.benchmarks.natconfqa.match import Matches, match
from conflictscore.benchmarks.natconfqa.metrics import Count, Counts
from conflictscore.errors import ContextWindowError, ProviderError
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import Record

__all__ = ["JUDGE_TEMPLATES", "Judgement", "judge_natconfqa"]

JUDGE_TEMPLATES = ("natconfqa_decompose", *DECISION_TEMPLATES)
"""What the judge is asked with; a judgement belongs to these texts."""


class Judgement(Record):
    """Every decision on one answer to one question."""

    decomposition: Decomposition | None
    """None where the answer could not be taken apart; both precisions are then unknown."""
    error: str | None = None
    """Why there is no decomposition."""
    references: tuple[Verdict, ...]
    """Of each reference answer, whether the answer gives it (formula 1)."""
    answers: tuple[Verdict, ...] = ()
    """Of each short answer of the decomposition, whether the passages give it (formula 2)."""
    reference_conflicts: tuple[Verdict, ...]
    """Of each conflict of the question, whether the answer tells of it (formula 3)."""
    conflicts: tuple[Verdict, ...] = ()
    """Of each conflict of the decomposition, whether the passages have it (formula 4)."""

    @property
    def counts(self) -> Counts:
        """What the measures are made of."""
        apart = self.decomposition is not None
        return Counts(
            answer_recall=_count(self.references),
            answer_precision=_count(self.answers) if apart else None,
            conflict_recall=_count(self.reference_conflicts),
            conflict_precision=_count(self.conflicts) if apart else None,
        )

    @property
    def errors(self) -> tuple[str, ...]:
        """Why decisions could not be had, each reason once; empty where all were made."""
        verdicts = (
            *self.references,
            *self.answers,
            *self.reference_conflicts,
            *self.conflicts,
        )
        reasons = [self.error, *(verdict.error for verdict in verdicts)]
        return tuple(dict.fromkeys(reason for reason in reasons if reason))


async def judge_natconfqa(
    question: NatConfQuestion,
    answer: str,
    *,
    model: LanguageModel,
    prompts: PromptSet,
    meter: UsageMeter,
) -> Judgement:
    """Judge one free-form answer: one call to take it apart, and one a decision.

    No call is made for what follows from a short answer that is a reference word for word, as in
    most yes/no questions; see :mod:`conflictscore.benchmarks.natconfqa.match`.

    Args:
        question: With the references and passages that the answer is judged by.
        answer: Untrusted; it stands between marks that it cannot close.
        model: The judge.
        prompts: The templates of :data:`JUDGE_TEMPLATES`.
        meter: Counts the calls.

    Returns:
        All decisions. One that could not be had has no value but an error, and so does the whole
        decomposition; the others stand.

    Raises:
        ConfigurationError: A setting is wrong, so that nothing can be judged.
        BudgetError: The budget of the model is used up.
    """
    parts, error = Decomposition(answers=(), conflicts=()), None
    try:
        parts = await decompose(question, answer, model=model, prompts=prompts, meter=meter)
    except (ProviderError, ContextWindowError) as failure:
        error = str(failure)
    same = match(parts.answers, question)
    decider = Decider(question, answer, model, prompts, meter)
    asked = [
        *(partial(_reference, index, decider, same) for index in range(len(question.answers))),
        *(partial(_answer, index, parts, decider, same) for index in range(len(parts.answers))),
        *(partial(_reference_conflict, pair, parts, decider, same) for pair in question.conflicts),
        *(partial(_conflict, pair, parts, decider, same) for pair in parts.conflicts),
    ]
    verdicts = iter(await at_once(asked))
    return Judgement(
        decomposition=None if error else parts,
        error=error,
        references=tuple(next(verdicts) for _ in question.answers),
        answers=tuple(next(verdicts) for _ in parts.answers),
        reference_conflicts=tuple(next(verdicts) for _ in question.conflicts),
        conflicts=tuple(next(verdicts) for _ in parts.conflicts),
    )


async def _reference(index: int, decider: Decider, same: Matches) -> Verdict:
    if index in same.answer:
        return _known(f"it is short answer {same.answer[index] + 1}")
    return await decider.found_in_answer(decider.question.answers[index].text)


async def _answer(index: int, parts: Decomposition, decider: Decider, same: Matches) -> Verdict:
    if index in same.reference:
        return _known(f"it is reference answer {same.reference[index] + 1}")
    return await decider.found_in_passages(parts.answers[index])


async def _reference_conflict(
    pair: Pair, parts: Decomposition, decider: Decider, same: Matches
) -> Verdict:
    if same.as_answers(pair) in parts.conflicts:
        return _known("it is one of the answer's conflicts")
    first, second = (decider.question.answers[index].text for index in pair)
    return await decider.conflict_in_answer(first, second)


async def _conflict(pair: Pair, parts: Decomposition, decider: Decider, same: Matches) -> Verdict:
    if same.as_references(pair) in decider.question.conflicts:
        return _known("it is one of the question's conflicts")
    first, second = (parts.answers[index] for index in pair)
    return await decider.conflict_in_passages(first, second)


def _known(reason: str) -> Verdict:
    return Verdict(value=True, explanation=reason)


def _count(verdicts: Sequence[Verdict]) -> Count:
    values = [verdict.value for verdict in verdicts]
    return Count(hits=values.count(True), n=len(values), unjudged=values.count(None))
