"""An estimate of a run before anything is paid for: calls, tokens and cost by step and model.

A few questions go through the real steps, asked of models that count their prompts and call
nothing: once without a conflict in any answer, which gives the lower bound, and once with one in
every first answer that has two documents, which gives the upper bound. The expected figure lies
between the two by the paper's share of conflicts.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from math import isnan, nan
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from conflictscore.benchmarks.harness.definition import Benchmark
from conflictscore.benchmarks.harness.manifest import Manifest
from conflictscore.benchmarks.harness.methods.registry import MEANING, steps
from conflictscore.benchmarks.harness.records import Verdict
from conflictscore.benchmarks.harness.session import Listener, Session
from conflictscore.benchmarks.harness.setup import Ready, Setup
from conflictscore.benchmarks.harness.store import RunStore
from conflictscore.errors import ProviderError, UnreadableReplyError
from conflictscore.graph.binding import run_for_sync_caller
from conflictscore.labelers.cascade import Cascade
from conflictscore.labelers.protocol import Labeler, Pair, TableLabeler
from conflictscore.labelers.registry import LABELERS, default_judge, make_labeler
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.ledger import Ledger
from conflictscore.models.prices import PriceTable
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, EvidenceLabel, Label, Record, Usage
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

    @classmethod
    def of(cls, *values: Any) -> "Amounts":
        """From the values of the fields in order, a cost that is NaN being unknown."""
        named = dict(zip(cls.model_fields, values, strict=True))
        return cls(**{**named, "cost": None if isnan(named["cost"]) else named["cost"]})


class Estimate(Record):
    """The calls that a run is expected to make; the last of each is the total."""

    questions: int
    low: tuple[Amounts, ...]
    expected: tuple[Amounts, ...]
    high: tuple[Amounts, ...]
    unknown_prices: tuple[str, ...]
    conflict_rate: float = _CONFLICT_RATE


@dataclass
class Counter:
    """Enters calls that are not made into a ledger, and makes up their replies."""

    conflicts: bool = False
    """Whether the first two documents contradict each other over every claim."""
    replies: Sequence[str] = ()
    """Further forms of reply, as a benchmark's judge asks for."""
    claims: int = 3
    """Claims of a free-form answer."""
    ledger: Ledger = field(default_factory=Ledger)
    _texts: int = 0

    def count(self, model: LanguageModel, prompt: str, reply_tokens: int) -> None:
        """Count one call."""
        read = min(count_tokens(prompt, model.name) + _MESSAGE_TOKENS, model.context_window)
        written = reply_tokens + min(model.thinking_tokens, _THINKING_TOKENS)
        self.ledger.count(model.name, Usage(calls=1, input_tokens=read, output_tokens=written))

    def reply(self, model: LanguageModel, prompt: str, read: Callable[[str], T]) -> T:
        """The value that a step reads from the reply that it is given, which is counted."""
        self._texts += 1
        said = [_SENTENCE.format(n=self._texts, k=k) for k in range(self.claims)]
        filled = {"text": " ".join(said), "claims": "\n".join(f"- {claim}" for claim in said)}
        for form in (*_REPLIES, *self.replies):
            reply = form.format(**filled, letter="AB"[self._texts % 2])
            with suppress(ValueError):
                value = read(reply)
                if form == _REPLIES[0] and type(value) is tuple:
                    continue  # a sentence under no heading can be read as a claim, too
                self.count(model, prompt, count_tokens(reply, model.name))
                return value
        self.count(model, prompt, _VERDICT_TOKENS)
        raise UnreadableReplyError("no form of reply fits", provider=model.name, reply="")


@dataclass(frozen=True, kw_only=True)
class CountingModel(LanguageModel):
    """Asked as another model is; it counts each call and makes none."""

    counter: Counter

    @classmethod
    def of(cls, model: LanguageModel, counter: Counter) -> "CountingModel":
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
    counter: Counter
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


def _counting_judge(setup: Setup, model: LanguageModel) -> Labeler | None:
    """The labeler of a run as it asks a counting model; None where it makes no call."""
    chosen, prompts = setup.loop.labeler, setup.context.prompts
    if isinstance(setup.context.labeler, Cascade):
        return default_judge(model, prompts)  # asked about every pair: the most that it can be
    named = isinstance(chosen, str) and LABELERS[chosen.partition(":")[0]].needs == "model"
    return make_labeler(chosen, model, prompts) if not chosen or named or callable(chosen) else None


async def _unjudged(*_: Any, **__: Any) -> dict[str, Verdict]:
    """Stands in for a judge of one's own, or one that asks no model."""
    return {}


def estimate(
    benchmark: Benchmark,
    setup: Setup,
    *,
    prices: PriceTable,
    assumed: tuple[int, int] | None = None,
) -> Estimate:
    """Estimate a run from at most 30 of its questions."""
    setup = setup.worded(benchmark)
    if not benchmark.reply_forms:
        benchmark = replace(benchmark, judge=benchmark.judge and _unjudged, judges={})
    questions = benchmark.questions
    if assumed:
        found = tuple({"text": f"{number} {'so ' * assumed[1]}"} for number in range(assumed[0]))
        questions = tuple(q.model_copy(update={"documents": found}) for q in questions)
    sample = questions[:: -(-len(questions) // _SAMPLE)]

    models = (setup.context.generator, setup.context.decomposer, setup.answer_judge)

    def bound(*, conflicts: bool) -> dict[tuple[str, str], Usage]:
        counter = Counter(conflicts, benchmark.reply_forms, benchmark.usual_claims)
        generator, decomposer, grader = (CountingModel.of(model, counter) for model in models)
        context = replace(
            setup.context,
            generator=generator,
            decomposer=decomposer,
            labeler=CountingLabeler(_counting_judge(setup, decomposer), counter),
            cache=None,
        )
        begun = Manifest(benchmark="", created="", configuration={}, hashes={}, versions={})

        async def play(store: RunStore) -> None:
            session = Session(
                store=store,
                ready=Ready(context, generator, grader),
                benchmark=benchmark,
                settings=setup.settings,
                ledger=counter.ledger,
                listener=Listener(),
            )
            for question in sample:
                await session.question(question)

        spent = defaultdict[tuple[str, str], Usage](Usage)
        with (
            TemporaryDirectory() as folder,
            RunStore.open(Path(folder) / "run", begun, questions) as store,
        ):
            run_for_sync_caller(play(store))
            for record in store.records():
                if conflicts or record.step != MEANING:  # answers that stay say the same
                    for model, usage in record.usage.items():
                        spent[record.step, model] += usage
        return spent

    low, high = bound(conflicts=False), bound(conflicts=True)
    places = sorted({*low, *high}, key=lambda place: steps().index(place[0]))
    endpoints = {model.name: model.endpoint for model in models}
    share = len(questions) / len(sample)

    def level(rate: float) -> tuple[Amounts, ...]:
        rows = []
        for place in places:
            ends = []
            for usage in (low[place], high[place]):
                dollars, _ = prices.cost({place[1]: usage}, endpoints=endpoints)
                tokens = usage.input_tokens, usage.output_tokens
                ends.append((usage.calls, *tokens, nan if dollars is None else dollars))
            rows.append([share * (a + rate * (b - a)) for a, b in zip(*ends, strict=True)])
        total = [sum(column) for column in zip(*rows, strict=True)]
        named = zip([*places, ("total", "")], [*rows, total], strict=True)
        return tuple(Amounts.of(*place, *row) for place, row in named)

    return Estimate(
        questions=len(questions),
        low=level(0.0),
        expected=level(_CONFLICT_RATE),
        high=(most := level(1.0)),
        unknown_prices=tuple(dict.fromkeys(a.model for a in most[:-1] if a.cost is None)),
    )
