"""An estimate of a run before anything is paid for: calls, tokens and cost by step and model.

A few questions go through the real steps, asked of models that count their prompts and call
nothing: once without a conflict in any answer, which gives the lower bound, and once with one in
every first answer that has two documents, which gives the upper bound. The expected figure lies
between the two by the paper's share of conflicts.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document as Found
from langchain_core.retrievers import BaseRetriever

from conflictscore.benchmarks.harness.definition import Benchmark
from conflictscore.benchmarks.harness.failing import failures
from conflictscore.benchmarks.harness.listening import NullListener
from conflictscore.benchmarks.harness.methods.registry import DOCUMENTS, MEANING, steps
from conflictscore.benchmarks.harness.records import Question, StepRecord, Verdict
from conflictscore.benchmarks.harness.session import Session
from conflictscore.benchmarks.harness.setup import Ready, Setup
from conflictscore.benchmarks.harness.spending import StepKey
from conflictscore.errors import ProviderError, UnreadableReplyError
from conflictscore.graph.binding import run_for_sync_caller
from conflictscore.labelers.cascade import Cascade
from conflictscore.labelers.protocol import Labeler, Pair, TableLabeler
from conflictscore.labelers.registry import LABELERS, default_judge, make_labeler
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.ledger import Ledger
from conflictscore.models.prices import PriceTable
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim, Document, EvidenceLabel, Label, Record
from conflictscore.tokens import count_tokens

T = TypeVar("T")

_CONFLICT_RATE = 248 / 779
"""Share of first answers with evidence on both sides (ACL submission, section 6.4, choice)."""
_SAMPLE = 30
_THINKING_TOKENS, _VERDICT_TOKENS, _MESSAGE_TOKENS = 800, 130, 8
"""Of a reasoning model on top of each reply; of a judge's JSON; around a chat message."""
_SENTENCE = "Item {n}.{k} of the record gives this account of what was asked [1][2]."
_REPLIES = (
    "{text}",
    "{letter}\nJustification: The newer document says so, and another one agrees (Docs 1, 2).",
    "{letter}",
    "Claims:\n{claims}",
    "TYPE: outdated\nREASON: One document is newer than the others.",
    "TYPE: outdated\nANSWER: {text}",
    "WAY: REPLACE\nREASON: The newer document says so (Doc 1).\nPASSAGE:\n{text}",
)
"""A step is given the first of these that it can read. Every text is a new one."""


class Amounts(Record):
    """Calls to one model in one step, or to all."""

    step: str
    model: str
    calls: float
    input_tokens: float
    output_tokens: float
    cost: float | None
    """US dollars at the full price, as if no cache held a reply; None where it is not known."""


class Estimate(Record):
    """The calls that a run is expected to make from here on; the last of each is the total."""

    questions: int
    """Questions with a call that is still to come."""
    low: tuple[Amounts, ...]
    expected: tuple[Amounts, ...]
    high: tuple[Amounts, ...]
    unknown_prices: tuple[str, ...]
    conflict_rate: float = _CONFLICT_RATE

    @classmethod
    def between(cls, low: "Calls", high: "Calls", prices: PriceTable) -> "Estimate":
        """The estimate from the calls without conflicts and those with them."""
        places = sorted({**low.counts, **high.counts}, key=lambda place: low.order.index(place[0]))
        known = {place: prices.price(place[1], place[2]) for place in places}
        unknown = tuple(dict.fromkeys(place[1] for place in places if known[place] is None))

        def at(rate: float) -> tuple[Amounts, ...]:
            rows, total = [], [0.0, 0.0, 0.0, 0.0]
            for place in places:
                ends = zip(low.counts.get(place, _NONE), high.counts.get(place, _NONE), strict=True)
                counts = [a + rate * (b - a) for a, b in ends]
                price = known[place]
                cost = None
                if price is not None:
                    cost = (counts[1] * price.input + counts[2] * price.output) / 1e6
                total = [x + (y or 0.0) for x, y in zip(total, [*counts, cost], strict=True)]
                rows.append(_amounts(*place[:2], *counts, cost))
            return (*rows, _amounts("total", "", *total[:3], None if unknown else total[3]))

        return cls(
            questions=round(max(sum(calls.questions.values()) for calls in (low, high))),
            low=at(0.0),
            expected=at(_CONFLICT_RATE),
            high=at(1.0),
            unknown_prices=unknown,
        )


def _amounts(*values: Any) -> Amounts:
    return Amounts(**dict(zip(Amounts.model_fields, values, strict=True)))


_NONE = (0.0, 0.0, 0.0)


@dataclass
class Calls(NullListener):
    """Counts calls by step and model; told by the session which step is at work."""

    conflicts: bool = False
    """Whether the first two documents contradict each other over every claim."""
    replies: Sequence[str] = ()
    """Further forms of reply, as a benchmark's judge asks for."""
    claims: int = 3
    """Claims of a free-form answer."""
    order: Sequence[str] = ()
    """All steps, in the order of tables."""
    step: str = ""
    weight: float = 1.0
    """How many calls each one stands for."""
    counts: dict[tuple[str, str, str], tuple[float, ...]] = field(default_factory=dict)
    """Calls, tokens in and tokens out by step, the model's name and its endpoint."""
    questions: dict[str, float] = field(default_factory=dict)
    """How many questions each one with a call stands for."""
    question_id: str = ""
    _asked: int = 0
    _texts: int = 0

    def started(self, question_id: str, step: str) -> None:
        """A step began; to find documents, which other steps may do inside, no model is asked."""
        if step != DOCUMENTS:
            self.step, self.question_id, self._asked = step, question_id, 0

    def count(self, model: LanguageModel, prompt: str, reply_tokens: float) -> None:
        """Count one call; answers that say the same in the same words are compared by none."""
        if self.step == MEANING and not self.conflicts:
            return
        read = min(count_tokens(prompt, model.name).n + _MESSAGE_TOKENS, model.context_window)
        written = reply_tokens + min(model.thinking_tokens, _THINKING_TOKENS)
        place = self.step, model.name, model.endpoint
        known, one = self.counts.get(place, _NONE), (1, read, written)
        self.counts[place] = tuple(k + self.weight * o for k, o in zip(known, one, strict=True))
        self.questions[self.question_id] = self.weight

    def reply(self, model: LanguageModel, prompt: str, read: Callable[[str], T]) -> T:
        """The value that a step reads from the reply that it is given, which is counted."""
        self._texts += 1
        said = [_SENTENCE.format(n=self._texts, k=k) for k in range(self.claims)]
        filled = {"text": " ".join(said), "claims": "\n".join(f"- {claim}" for claim in said)}
        letter = "AB"[self._asked % 2]
        self._asked += 1
        for form in (*_REPLIES, *self.replies):
            reply = form.format(**filled, letter=letter)
            with suppress(ValueError):
                value = read(reply)
                if form == _REPLIES[0] and type(value) is tuple:
                    continue  # a sentence under no heading can be read as a claim, too
                self.count(model, prompt, count_tokens(reply, model.name).n)
                return value
        self.count(model, prompt, _VERDICT_TOKENS)
        raise UnreadableReplyError("no form of reply fits", provider=model.name, reply="")


@dataclass(frozen=True, kw_only=True)
class CountingModel(LanguageModel):
    """Asked as another model is; it counts each call and makes none."""

    counter: Calls

    @classmethod
    def of(cls, model: LanguageModel, counter: Calls) -> "CountingModel":
        """The counting model in the place of another."""
        known = {field.name: getattr(model, field.name) for field in fields(LanguageModel)}
        return cls(**known | {"cache": None}, counter=counter)

    async def ask(self, prompt: str, read: Callable[[str], T], **_: Any) -> T:
        """See :class:`LanguageModel`."""
        return self.counter.reply(self, prompt, read)

    async def ask_json(
        self, prompt: str, schema: Mapping[str, Any], *_: Any, max_tokens: int, **__: Any
    ) -> Any:
        """See :class:`LanguageModel`; labels are given by :class:`CountingLabeler`."""
        single = schema["title"] == "evidence_label"
        self.counter.count(self, prompt, _VERDICT_TOKENS if single else max_tokens // 2)
        raise ProviderError("a dry run makes no call", provider=self.name)

    async def ask_letter(
        self, prompt: str, letters: Sequence[str], read: Callable[[Any], T], **_: Any
    ) -> T:
        """See :class:`LanguageModel`; all letters are as likely."""
        self.counter.count(self, prompt, 1)
        return read(dict.fromkeys(letters, -1.0))


@dataclass
class CountingLabeler:
    """Makes another labeler's calls, and gives labels with a conflict or without one."""

    asks: Labeler | None
    """A labeler of counting models; None for one whose calls are not counted."""
    counter: Calls
    name: str = "dry run"
    identity: None = None

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        """See :class:`~conflictscore.labelers.protocol.Labeler`."""
        if self.asks is not None:
            with suppress(ProviderError):
                await self.asks.label(claim, document, meter)
        sides = {1: Label.SUPPORTS, 2: Label.CONTRADICTS} if self.counter.conflicts else {}
        label = sides.get(document.number, Label.IRRELEVANT)
        return EvidenceLabel(claim=claim.number, document=document.number, label=label)

    async def label_all(
        self, pairs: Sequence[Pair], meter: UsageMeter, on_label: Callable[[EvidenceLabel], None]
    ) -> None:
        """See :class:`~conflictscore.labelers.protocol.TableLabeler`."""
        each = self
        if isinstance(self.asks, TableLabeler):
            await self.asks.label_all(pairs, meter, lambda _: None)
            each = replace(self, asks=None)
        for claim, document in pairs:
            on_label(await each.label(claim, document, meter))


def counting_judge(
    opened: Labeler, chosen: Any, model: LanguageModel, prompts: PromptSet
) -> Labeler | None:
    """The labeler of a run as it asks a counting model; None where it makes no call.

    A cascade is counted as its judge alone would be asked, which is the most that it can ask.
    """
    if isinstance(opened, Cascade):
        return default_judge(model, prompts)
    named = isinstance(chosen, str) and LABELERS[chosen.partition(":")[0]].needs == "model"
    if chosen is None or named or callable(chosen):
        return make_labeler(chosen, model, prompts)
    return None


class MemoryStore:
    """Records that are kept in memory alone, the last of each step."""

    def __init__(self, questions: Sequence[Question], records: Iterable[StepRecord] = ()) -> None:
        """Begin with what was recorded elsewhere."""
        self.questions = questions
        self.done: dict[StepKey, StepRecord] = {}
        for record in records:
            self.append(record)

    def records(self) -> Sequence[StepRecord]:
        """See :class:`~conflictscore.benchmarks.harness.session.Store`."""
        return tuple(self.done.values())

    def append(self, record: StepRecord) -> StepRecord:
        """See :class:`~conflictscore.benchmarks.harness.session.Store`."""
        self.done[record.question, record.step, record.key] = record
        return record


async def _unjudged(*_: Any, **__: Any) -> dict[str, Verdict]:
    """Stands in for a judge of one's own, or one that asks no model."""
    return {}


class AssumedDocuments(BaseRetriever):
    """So many documents of so many tokens, where a search would be paid for."""

    count: int
    tokens: int

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Found]:
        return [Found(f"{number} {'so ' * self.tokens}") for number in range(self.count)]


def estimate(
    benchmark: Benchmark,
    setup: Setup,
    *,
    prices: PriceTable,
    assumed: AssumedDocuments | None = None,
    recorded: Sequence[StepRecord] = (),
    retry_failed: bool = False,
) -> Estimate:
    """Estimate what is left of a run; questions that were not begun are counted on 30 of them.

    Args:
        benchmark: The questions that were chosen.
        setup: Models, retriever and settings. Your own labeler's calls are not counted.
        prices: What the models cost.
        assumed: Stands in for a retriever that costs money.
        recorded: Steps of the run that are done.
        retry_failed: Whether steps that failed are taken again.
    """
    setup = setup.worded(benchmark)
    if not benchmark.reply_forms:
        benchmark = replace(benchmark, judge=benchmark.judge and _unjudged, judges={})
    begun = {record.question for record in recorded}
    ahead = [question for question in benchmark.questions if question.id not in begun]
    sample = ahead[:: -(-len(ahead) // _SAMPLE)] if ahead else []
    weights = {q.id: len(ahead) / len(sample) for q in sample} | dict.fromkeys(begun, 1.0)

    def count(*, conflicts: bool) -> Calls:
        calls = Calls(conflicts, benchmark.reply_forms, benchmark.usual_claims, steps())
        context = setup.context
        generator, decomposer, grader = (
            CountingModel.of(model, calls)
            for model in (context.generator, context.decomposer, setup.answer_judge)
        )
        judge = counting_judge(context.labeler, setup.loop.labeler, decomposer, context.prompts)
        counting = replace(
            context,
            generator=generator,
            decomposer=decomposer,
            labeler=CountingLabeler(judge, calls),
            retriever=assumed or context.retriever,
            cache=None,
        )
        session = Session(
            store=MemoryStore(benchmark.questions, recorded),
            ready=Ready(counting, generator, grader),
            benchmark=benchmark,
            settings=setup.settings,
            ledger=Ledger(),
            listener=calls,
            retried=failures(recorded) if retry_failed else (),
        )

        async def play() -> None:
            for question in benchmark.questions:
                if question.id in weights:
                    calls.weight = weights[question.id]
                    await session.question(question)

        run_for_sync_caller(play())
        return calls

    return Estimate.between(count(conflicts=False), count(conflicts=True), prices)
