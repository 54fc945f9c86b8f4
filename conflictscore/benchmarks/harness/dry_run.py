"""What a run will take, before anything is paid for: calls, tokens and cost by step and model.

The steps are the real ones, asked of models that count (:mod:`.play`), with the real questions and,
where they are at hand, the real documents. Nothing is called, fetched or read from a cache, so
replies that a cache holds are counted as calls, and all input at its full price, also what a
provider's prompt cache may hold.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document as Found
from langchain_core.retrievers import BaseRetriever

from conflictscore.benchmarks.harness.definition import AnswerJudge, Benchmark
from conflictscore.benchmarks.harness.estimate import (
    LEVELS,
    Amount,
    Assumptions,
    Estimate,
    Level,
    Range,
    StepAmount,
)
from conflictscore.benchmarks.harness.failing import failures
from conflictscore.benchmarks.harness.methods.registry import steps
from conflictscore.benchmarks.harness.play import (
    Call,
    CountingModel,
    NotedPrompts,
    Play,
    labels_of,
)
from conflictscore.benchmarks.harness.records import Question, StepRecord, Verdict
from conflictscore.benchmarks.harness.session import MemoryStore, Session
from conflictscore.benchmarks.harness.setup import Ready, Setup
from conflictscore.benchmarks.harness.stand_ins import word
from conflictscore.graph.binding import run_for_sync_caller
from conflictscore.labelers.cascade import Cascade
from conflictscore.labelers.registry import LABELERS, default_judge, make_labeler
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.ledger import Ledger
from conflictscore.models.prices import PriceTable

__all__ = ["MOST_PLAYED", "Tally", "estimate"]

_Key = TypeVar("_Key")
_NONE = Range(low=0, expected=0, high=0)
_DIGITS = 6
"""Beyond these stands only what adding up many fractions has left."""
MOST_PLAYED = 200
"""Of more questions than these a sample is played, and its figures are scaled."""
_MESSAGE_TOKENS = 8
"""What a chat message takes beside its text."""


def estimate(
    benchmark: Benchmark,
    setup: Setup,
    *,
    prices: PriceTable,
    free_search: bool = False,
    recorded: Sequence[StepRecord] = (),
    retry_failed: bool = False,
) -> Estimate:
    """Estimate what is still to come of a run.

    Expected is one regeneration where there is a conflict; in the upper bound there are as many as
    documents that were not laid out before allow.

    Args:
        benchmark: The questions that were chosen; what its judge asks a model is counted where it
            says what stands in for the replies (``Benchmark.stand_ins``).
        setup: Models, retriever and settings. The calls that your own labeler would make are not
            counted.
        prices: What the models cost.
        free_search: Whether the retriever costs nothing, such as a recording, and is asked;
            otherwise number and length of the documents are assumed.
        recorded: What was recorded of the run already.
        retry_failed: Whether steps that failed are tried again.
    """
    every = len(benchmark.questions)
    if every > MOST_PLAYED:
        benchmark, _ = benchmark.selected(sample=MOST_PLAYED)
    scale = every / max(1, len(benchmark.questions))
    setup = setup.worded(benchmark)
    assumptions = benchmark.assumptions or Assumptions()
    tally, ahead = Tally(assumptions), dict[str, Question]()

    def tell(level: Level, call: Call, question: Question) -> None:
        tally.add(level, call._replace(times=call.times * scale))
        ahead[question.id] = question

    for level in LEVELS:
        session = _session(
            benchmark,
            setup,
            level,
            assumptions,
            partial(tell, level),
            free_search=free_search,
            recorded=recorded,
            retry_failed=retry_failed,
        )
        run_for_sync_caller(session.run(1))
    known = {r.question for r in recorded if r.step == steps()[0]}
    return tally.estimate(
        steps(),
        prices,
        questions=round(scale * len(ahead)),
        assumed_documents=round(
            scale
            * sum(
                not (free_search or question.documents or question.id in known)
                for question in ahead.values()
            )
        ),
    )


def _session(
    benchmark: Benchmark,
    setup: Setup,
    level: Level,
    assumptions: Assumptions,
    tell: Any,
    *,
    free_search: bool,
    recorded: Sequence[StepRecord],
    retry_failed: bool,
) -> Session:
    """The work on a run, by models that count."""
    context, prompts = setup.context, NotedPrompts(setup.context.prompts)
    retried = set(failures(recorded)) if retry_failed else set()
    play = Play(
        level,
        assumptions,
        prompts,
        tell,
        questions=benchmark.questions,
        recorded=[r for r in recorded if (r.question, r.step, r.key) not in retried],
        max_rounds=setup.loop.max_rounds,
        stand_ins=benchmark.stand_ins,
    )

    def counting(model: LanguageModel) -> CountingModel:
        return CountingModel.of(model, play)

    generator, decomposer = counting(context.generator), counting(context.decomposer)
    counted = replace(
        context,
        generator=generator,
        decomposer=decomposer,
        prompts=prompts,
        labeler=labels_of(play, _asking(setup, decomposer, prompts)),
        retriever=context.retriever if free_search else _Assumed.at(level, assumptions),
        cache=None,
    )
    return Session(
        store=MemoryStore(benchmark.questions, recorded),
        ready=Ready(counted, generator, counting(setup.answer_judge)),
        benchmark=replace(
            benchmark,
            judge=benchmark.judge and _judge(benchmark, benchmark.judge, play),
            judges={name: _judge(benchmark, one, play) for name, one in benchmark.judges.items()},
        ),
        settings=setup.settings,
        ledger=Ledger(),
        listener=play,
        retried=retried,
    )


def _asking(setup: Setup, model: LanguageModel, prompts: NotedPrompts) -> Any:
    """The run's labeler, asking a model that counts; None where it makes no call that is counted.

    A cascade is counted as its judge alone would be asked.
    """
    if isinstance(setup.context.labeler, Cascade):
        return default_judge(model, prompts)
    chosen = setup.loop.labeler
    named = isinstance(chosen, str) and LABELERS[chosen].needs == "model"
    if chosen is None or named or callable(chosen):
        return make_labeler(chosen, model, prompts)
    return None


def _judge(benchmark: Benchmark, asks: AnswerJudge, play: Play) -> AnswerJudge:
    """A judge of the benchmark, where it asks a model."""

    async def judge(question: Question, answer: str, **given: Any) -> dict[str, Verdict]:
        if not benchmark.stand_ins:
            return {}
        play.judging(answer)
        return await asks(question, answer, **given)

    return judge


class _Assumed(BaseRetriever):
    """Documents of the assumed number and length."""

    texts: list[str]

    @classmethod
    def at(cls, level: Level, assumptions: Assumptions) -> "_Assumed":
        length = round(assumptions.document_tokens.at(level))
        number = round(assumptions.documents.at(level))
        return cls(texts=[" ".join([word(n)] * length) for n in range(number)])

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Found]:
        return [Found(text) for text in self.texts]


_Place = tuple[str, str, str]
"""Step, the model's name, and where it answers."""


def _zeros() -> dict[Level, float]:
    return dict.fromkeys(LEVELS, 0.0)


@dataclass(frozen=True)
class _Sums:
    calls: dict[Level, float] = field(default_factory=_zeros)
    read: dict[Level, float] = field(default_factory=_zeros)
    written: dict[Level, float] = field(default_factory=_zeros)

    def add(self, level: Level, call: Call, assumed: Assumptions) -> None:
        times = call.times * (1 + assumed.retried.at(level))
        thinking = min(call.model.thinking_tokens, assumed.thinking_tokens.at(level))
        prompt = min(call.prompt + _MESSAGE_TOKENS, call.model.context_window)
        self.calls[level] += times
        self.read[level] += times * prompt
        self.written[level] += times * (call.reply + thinking)


class Tally:
    """The calls of a dry run, by step and model."""

    def __init__(self, assumptions: Assumptions) -> None:
        self._assumptions = assumptions
        self._sums = dict[_Place, _Sums]()

    def add(self, level: Level, call: Call) -> None:
        """Count a call at this level of the assumptions."""
        place = (call.step, call.model.name, call.model.endpoint)
        self._sums.setdefault(place, _Sums()).add(level, call, self._assumptions)

    def estimate(
        self, order: Sequence[str], prices: PriceTable, *, questions: int, assumed_documents: int
    ) -> Estimate:
        """What they come to.

        Args:
            order: All steps, in the order that they are asked.
            prices: What the models cost.
            questions: As :attr:`Estimate.questions`.
            assumed_documents: As :attr:`Estimate.assumed_documents`.
        """
        in_order = sorted(self._sums, key=lambda place: order.index(place[0]))
        parts = tuple(_part(place, self._sums[place], prices) for place in in_order)
        nothing = Amount(calls=_NONE, input_tokens=_NONE, output_tokens=_NONE, cost=_NONE)
        return Estimate(
            questions=questions,
            assumed_documents=assumed_documents,
            parts=parts,
            by_step=_grouped((part.step, part) for part in parts),
            by_model=_grouped((part.model, part) for part in parts),
            total=sum(map(_amount, parts), nothing),
            unknown_prices=tuple(dict.fromkeys(part.model for part in parts if part.cost is None)),
            assumptions=self._assumptions,
        )


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
