"""What a run will take, before anything is paid for: calls, tokens and cost by step and model.

The prompts are the real ones, filled with the real questions and, where they are at hand, the real
documents. Nothing is called, fetched or read from a cache, so replies that a cache holds are
counted as calls, and all input at its full price, also what a provider's prompt cache may hold.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from conflictscore.benchmarks.harness.benchmark import JudgePrompts
from conflictscore.benchmarks.harness.estimate import (
    LEVELS,
    Amount,
    Assumptions,
    Estimate,
    Level,
    Range,
    StepAmount,
)
from conflictscore.benchmarks.harness.methods.registry import STEPS
from conflictscore.benchmarks.harness.plan import (
    Plan,
    PlannedCall,
    PlannedLabeler,
    PlannedModel,
    TokenCounts,
)
from conflictscore.benchmarks.harness.planned_calls import PlannedQuestion
from conflictscore.benchmarks.harness.records import Question
from conflictscore.models.prices import PriceTable
from conflictscore.prompts import PromptSet
from conflictscore.records import Document

__all__ = ["estimate"]

_Key = TypeVar("_Key")
_NONE = Range(low=0, expected=0, high=0)
_DIGITS = 6
"""Beyond these stands only what adding up many fractions has left."""
_MESSAGE_TOKENS = 8
"""What a chat message takes beside its text."""


def estimate(
    questions: Sequence[Question],
    *,
    methods: Collection[str],
    documents: Callable[[Question], Sequence[Document] | None],
    generator: PlannedModel,
    judge: PlannedModel,
    answer_judge: PlannedModel | None,
    labeler: PlannedLabeler | None,
    prompts: PromptSet,
    prices: PriceTable,
    max_rounds: int = 1,
    max_claims: int | None = None,
    assumptions: Assumptions | None = None,
    judge_prompts: JudgePrompts | None = None,
    scored: bool = False,
    done: Collection[tuple[str, str]] = (),
) -> Estimate:
    """Estimate what is still to come of a run.

    Args:
        questions: The questions of the run; those with options are multiple choice.
        methods: What is run; the first answer and its score always are.
        documents: Gives the documents of a question where they can be had for nothing, such as
            from a recording; otherwise None, and their number and length are assumed.
        generator: Answers.
        judge: Takes answers apart and labels claims.
        answer_judge: Judges free-form answers; None where nothing judges them.
        labeler: How claims are labelled: pair by pair, the answer as the one claim, or many pairs
            in a call. None for a labeler without calls, as ``nli``, or of the caller's own, whose
            calls are not counted.
        prompts: The templates, in the words of the benchmark.
        prices: What the models cost.
        max_rounds: The most regenerations. Expected is one where there is a conflict; all of them
            stand in the upper bound.
        max_claims: The most claims of an answer that are labelled; None for all.
        assumptions: What cannot be counted; by default that of :class:`Assumptions`.
        judge_prompts: What the judge asks about an answer, the benchmark's own; None where it asks
            no model.
        scored: Whether answers are judged by their ConflictScore.
        done: Question ids with the steps that are recorded already and are not asked again; a
            grade stands for all answers of its question.
    """
    plan = Plan(
        methods=frozenset(methods),
        generator=generator,
        judge=judge,
        answer_judge=answer_judge,
        labeler=labeler,
        prompts=prompts,
        max_rounds=max_rounds,
        max_claims=max_claims,
        assumptions=assumptions or Assumptions(),
        judge_prompts=judge_prompts,
        scored=scored,
    )
    recorded, sums, ahead, assumed = frozenset(done), dict[_Place, _Sums](), 0, 0
    for question in questions:
        found, count, begun = documents(question), TokenCounts(), False
        for level in LEVELS:
            for call in PlannedQuestion.of(plan, question, found, level, count).calls():
                if call.times and (question.id, call.step) not in recorded:
                    place = (call.step, call.model.name, call.model.endpoint)
                    sums.setdefault(place, _Sums()).add(level, call, plan.assumptions)
                    begun = True
        ahead += begun
        assumed += begun and found is None
    in_order = sorted(sums, key=lambda place: STEPS.index(place[0]))
    parts = tuple(_part(place, sums[place], prices) for place in in_order)
    nothing = Amount(calls=_NONE, input_tokens=_NONE, output_tokens=_NONE, cost=_NONE)
    return Estimate(
        questions=ahead,
        assumed_documents=assumed,
        parts=parts,
        by_step=_grouped((part.step, part) for part in parts),
        by_model=_grouped((part.model, part) for part in parts),
        total=sum(map(_amount, parts), nothing),
        unknown_prices=tuple(dict.fromkeys(part.model for part in parts if part.cost is None)),
        assumptions=plan.assumptions,
    )


_Place = tuple[str, str, str]
"""Step, the model's name, and where it answers."""


def _zeros() -> dict[Level, float]:
    return dict.fromkeys(LEVELS, 0.0)


@dataclass(frozen=True)
class _Sums:
    calls: dict[Level, float] = field(default_factory=_zeros)
    read: dict[Level, float] = field(default_factory=_zeros)
    written: dict[Level, float] = field(default_factory=_zeros)

    def add(self, level: Level, call: PlannedCall, assumed: Assumptions) -> None:
        times = call.times * (1 + assumed.retried.at(level))
        thinking = min(call.model.thinking_tokens, assumed.thinking_tokens.at(level))
        prompt = min(call.prompt + _MESSAGE_TOKENS, call.model.context_window)
        self.calls[level] += times
        self.read[level] += times * prompt
        self.written[level] += times * (call.reply + thinking)


def _part(place: _Place, sums: _Sums, prices: PriceTable) -> StepAmount:
    step, model, endpoint = place
    price, cost = prices.price(model, endpoint), None
    if price is not None:
        paid = {
            level: (sums.read[level] * price.input + sums.written[level] * price.output) / 1e6
            for level in LEVELS
        }
        cost = _range(paid)
    return StepAmount(
        step=step,
        model=model,
        calls=_range(sums.calls),
        input_tokens=_range(sums.read),
        output_tokens=_range(sums.written),
        cost=cost,
    )


def _range(figures: dict[Level, float]) -> Range:
    rounded = {level: round(figure, _DIGITS) for level, figure in figures.items()}
    return Range(low=rounded["low"], expected=rounded["expected"], high=rounded["high"])


def _grouped(parts: Iterable[tuple[_Key, StepAmount]]) -> dict[_Key, Amount]:
    groups: dict[_Key, Amount] = {}
    for key, part in parts:
        groups[key] = groups[key] + _amount(part) if key in groups else _amount(part)
    return groups


def _amount(part: StepAmount) -> Amount:
    return Amount(
        calls=part.calls,
        input_tokens=part.input_tokens,
        output_tokens=part.output_tokens,
        cost=part.cost,
    )
