"""Estimates the calls, tokens and cost of a run, by step and model, before any call costs money.

The real steps run on a few questions, with models that count the tokens of their prompts instead of
making calls. Each step runs twice. For the lower bound, no first answer has a conflict. For the
upper bound, every first answer has a conflict if the question has at least two documents. The
expected figure is interpolated between the two bounds, according to the paper's share of conflicts.

Limits without a stated reason were chosen by hand.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import count
from math import fsum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Self, TypeVar

from conflictscore.benchmarks.harness.definition import Benchmark
from conflictscore.benchmarks.harness.figures import Paired
from conflictscore.benchmarks.harness.manifest import Manifest
from conflictscore.benchmarks.harness.methods.registry import steps
from conflictscore.benchmarks.harness.records import Verdict
from conflictscore.benchmarks.harness.session import Session
from conflictscore.benchmarks.harness.setup import Setup
from conflictscore.benchmarks.harness.statistics import mcnemar_power, questions_needed
from conflictscore.benchmarks.harness.store import RunStore
from conflictscore.benchmarks.paper_figures import paper_figures
from conflictscore.errors import InputError, ProviderError, UnreadableReplyError
from conflictscore.graph.binding import run_for_sync_caller
from conflictscore.labelers.cascade import Cascade
from conflictscore.labelers.protocol import Labeler, Pair, TableLabeler
from conflictscore.labelers.registry import LABELERS, default_judge, make_labeler
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.ledger import Ledger
from conflictscore.models.prices import PriceTable
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, EvidenceLabel, Label, Record, Usage
from conflictscore.reporting.figure_text import counted, money, one_line, percent, points
from conflictscore.reporting.plain_table import Card
from conflictscore.tokens import count_tokens

T = TypeVar("T")

_CONFLICT_RATE = 248 / 779
"""The share of first answers with a claim that has evidence on both sides, as in the paper's binary
choice (section 6.4)."""
_GAINS = (0.01, 0.02, 0.03, 0.05, 0.1)
"""Gains over ``rag``, in [0, 1]. The table "Questions needed" has a row for each gain."""
_SAMPLE = 30  # Maximum number of questions on which the steps run; more would take longer.
_COUNTED = ("calls", "input_tokens", "output_tokens")
"""The fields of ``Amounts`` that are counted by the models; the cost is computed from them."""
_THINKING_TOKENS, _VERDICT_TOKENS, _MESSAGE_TOKENS = 800, 130, 8
"""Assumed numbers of tokens, in this order: the thinking of a reasoning model before each reply,
the JSON reply of a judge, and the overhead of a chat message."""
_SENTENCE = "Item {n}.{k} of the record gives this account of what was asked [1][2]."
# Made-up words would look like a claim off the documents' subject, which gets a call of its own.
_CLAIM = "1 2 3 4 5 6 7 8 9."
_REPLIES = (
    "{text}",
    "{letter}\nJustification: The newer document says so, and another one agrees (Docs 1, 2).",
    "{letter}",
    "Claims:\n{claims}",
    "TYPE: outdated\nREASON: One document is newer than the others.",
    "TYPE: outdated\nANSWER: {text}",
    "WAY: REPLACE\nREASON: The newer document says so (Doc 1).\nPASSAGE:\n{text}",
)
"""Made-up replies; each step receives the first one that it can read. A counter makes every text
different."""


class Amounts(Record):
    """The calls, tokens and cost of one model in one step, or of all models and steps together."""

    step: str
    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    """The cost in US dollars if no reply comes from a cache; None if a price is unknown."""


class Estimate(Record):
    """The estimated calls of a run, with bounds; the last row of each estimate is the total."""

    questions: int
    low: tuple[Amounts, ...]
    expected: tuple[Amounts, ...]
    high: tuple[Amounts, ...]
    unknown_prices: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class CountingModel(LanguageModel):
    """Replaces a model: it counts the calls instead of making them, and makes up the replies."""

    ledger: Ledger
    replies: Sequence[str] = ()
    """Further made-up replies, for example for a benchmark's judge."""
    claims: int = 3
    """The number of claims in a free-form answer (see ``Benchmark.usual_claims``)."""
    texts: Iterator[int] = field(default_factory=partial(count, 1))
    """The numbers that make every made-up text different."""

    @classmethod
    def of(cls, model: LanguageModel, **own: Any) -> Self:
        """Return a counting model that replaces this model."""
        model_fields = {field.name: getattr(model, field.name) for field in fields(LanguageModel)}
        return cls(**model_fields | {"cache": None}, **own)  # a cached reply would not be counted

    def count(self, prompt: str, reply_tokens: int) -> None:
        """Count one call."""
        tokens_in = min(count_tokens(prompt) + _MESSAGE_TOKENS, self.context_window)
        tokens_out = reply_tokens + min(self.thinking_tokens, _THINKING_TOKENS)
        self.ledger.count(
            self.name, Usage(calls=1, input_tokens=tokens_in, output_tokens=tokens_out)
        )

    async def ask(self, prompt: str, read: Callable[[str], T], **_: Any) -> T:
        """Count the call, and return what the step reads from the first suitable made-up reply."""
        number = next(self.texts)
        claims = [_SENTENCE.format(n=number, k=k) for k in range(self.claims)]
        fields = {"text": " ".join(claims), "claims": "\n".join(f"- {claim}" for claim in claims)}
        for form in (*_REPLIES, *self.replies):
            # alternating options make a second choice differ from the first one
            reply = form.format(**fields, letter="AB"[number % 2])
            with suppress(ValueError):  # this step cannot read this form
                reading = read(reply)
                # a step that reads claims needs a later reply: the list of claims
                if form == _REPLIES[0] and type(reading) is tuple:
                    continue
                self.count(prompt, count_tokens(reply))
                return reading
        self.count(prompt, _VERDICT_TOKENS)
        raise UnreadableReplyError("no made-up reply is readable", provider=self.name, reply="")

    async def ask_json(
        self, prompt: str, schema: Mapping[str, Any], *_: Any, max_tokens: int, **__: Any
    ) -> Any:
        """Count the call, and raise an error; the surrounding labeler then makes up the labels."""
        single = schema["title"] == "evidence_label"
        # a reply with labels of many documents is assumed to fill half of its limit, by a guess
        self.count(prompt, _VERDICT_TOKENS if single else max_tokens // 2)
        raise ProviderError("a dry run makes no call", provider=self.name)

    async def ask_letter(
        self, prompt: str, letters: Sequence[str], read: Callable[[Any], T], **_: Any
    ) -> T:
        """Count the call, and give all letters the same probability."""
        self.count(prompt, 1)
        return read(dict.fromkeys(letters, -1.0))


@dataclass
class _CountingLabeler:
    """Counts the calls that a labeler would make, and makes up its labels.

    The labels show a conflict if ``conflicts`` is true.
    """

    asks: Labeler | None
    """The labeler whose model counts calls; None if no call of the run's labeler is counted."""
    conflicts: bool
    name: str = "dry run"
    identity: None = None

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        labels: list[EvidenceLabel] = []
        await self.label_all([(claim, document)], meter, labels.append)
        return labels[0]

    async def label_all(
        self, pairs: Sequence[Pair], meter: UsageMeter, on_label: Callable[[EvidenceLabel], None]
    ) -> None:
        if isinstance(self.asks, TableLabeler):
            on_subject = [(c.model_copy(update={"text": _CLAIM}), d) for c, d in pairs]
            await self.asks.label_all(on_subject, meter, lambda _: None)
        elif self.asks is not None:
            for claim, document in pairs:
                # made-up replies need not be valid verdicts; only the call counts
                with suppress(ProviderError):
                    await self.asks.label(claim, document, meter)
        sides = {1: Label.SUPPORTS, 2: Label.CONTRADICTS} if self.conflicts else {}
        for claim, document in pairs:
            label = sides.get(document.number, Label.IRRELEVANT)
            on_label(EvidenceLabel(claim=claim.number, document=document.number, label=label))


def _counting_judge(setup: Setup, model: LanguageModel) -> Labeler | None:
    """Return the run's labeler with a counting model; None if it calls no model of the run."""
    choice, prompts = setup.loop.labeler, setup.context.prompts
    if isinstance(setup.context.labeler, Cascade):
        # how many pairs a cascade leaves to its judge is unknown; the worst case is every pair
        return default_judge(model, prompts)
    asks_a_model = isinstance(choice, str) and LABELERS[choice.partition(":")[0]].needs == "model"
    return (
        make_labeler(choice, model, prompts)
        if not choice or asks_a_model or callable(choice)
        else None
    )


async def _unjudged(*_: Any, **__: Any) -> dict[str, Verdict]:
    """Replaces a custom judge, or a judge that asks no model. Returns no verdicts."""
    return {}


def estimate(
    benchmark: Benchmark,
    setup: Setup,
    *,
    prices: PriceTable,
    assumed_documents: tuple[int, int] | None = None,
) -> Estimate:
    """Estimate a run from at most 30 of its questions.

    ``assumed_documents`` contains two assumptions for runs in which searching would cost money: the
    number of documents per question, and the number of tokens per document.
    """
    setup = setup.fitted(benchmark)
    if not benchmark.questions:
        raise InputError(f"{benchmark.name}: there are no questions to estimate")
    if not benchmark.reply_forms:
        benchmark = replace(benchmark, judge=benchmark.judge and _unjudged, judges={})
    questions = benchmark.questions
    if assumed_documents:
        documents = tuple(
            # "so " is one token; the number keeps the texts from counting as copies
            {"text": f"{number} {'so ' * assumed_documents[1]}"}
            for number in range(assumed_documents[0])
        )
        questions = tuple(q.model_copy(update={"documents": documents}) for q in questions)
    # every k-th question, since neighbours in a file often have the same topic; k is rounded up
    sample = questions[:: -(-len(questions) // _SAMPLE)]
    models = (setup.context.generator, setup.context.decomposer, setup.answer_judge)

    async def bound(*, conflicts: bool) -> Mapping[tuple[str, str], Usage]:
        """Return the sample's usage by step and model, with conflicts in all answers or in none.

        The real session runs in a temporary folder, with models that count instead of answering.
        """
        ledger, replies = Ledger(), benchmark.reply_forms
        own = {"ledger": ledger, "replies": replies, "claims": benchmark.usual_claims}
        generator, decomposer, grader = (CountingModel.of(model, **own) for model in models)
        labeler = _CountingLabeler(_counting_judge(setup, decomposer), conflicts)
        context = replace(
            setup.context,
            generator=generator,
            decomposer=decomposer,
            labeler=labeler,
            cache=None,
            check_last=setup.checks_last,
            reconsider=setup.settings.reconsider,
        )
        manifest = Manifest(benchmark="", created="", configuration={}, hashes={}, versions={})
        usage_by_place = defaultdict[tuple[str, str], Usage](Usage)
        with (
            TemporaryDirectory() as folder,
            RunStore.open(Path(folder) / "run", manifest, sample) as store,
        ):
            methods = setup.settings.methods
            session = Session(store, context, grader, benchmark, methods, ledger)
            await session.run(1)  # one at a time, so that the made-up options alternate
            for record in store.records():
                for model, usage in record.usage.items():
                    usage_by_place[record.step, model] += usage
        return usage_by_place

    low, high = (run_for_sync_caller(bound(conflicts=side)) for side in (False, True))
    places = sorted({*low, *high}, key=lambda place: steps().index(place[0]))
    endpoints = {model.name: model.endpoint for model in models}
    scale = len(questions) / len(sample)

    def level(rate: float) -> tuple[Amounts, ...]:
        rows = []
        for step, model in places:
            least, most = low.get((step, model), Usage()), high.get((step, model), Usage())
            counts = {
                name: round(scale * (a + rate * (getattr(most, name) - a)))
                for name in _COUNTED
                for a in [getattr(least, name)]
            }
            cost, _ = prices.cost({model: Usage(**counts)}, endpoints=endpoints)
            rows.append(Amounts(step=step, model=model, cost=cost, **counts))
        costs = [row.cost for row in rows if row.cost is not None]
        whole = {name: sum(getattr(row, name) for row in rows) for name in _COUNTED}
        dollars = fsum(costs) if len(costs) == len(rows) else None
        return (*rows, Amounts(step="total", model="", cost=dollars, **whole))

    most = level(1.0)
    return Estimate(
        questions=len(questions),
        low=level(0.0),
        expected=level(_CONFLICT_RATE),
        high=most,
        unknown_prices=tuple(dict.fromkeys(a.model for a in most[:-1] if a.cost is None)),
    )


def estimate_card(estimate: Estimate) -> Card:
    """Build a table of calls, tokens and cost by step and model, with bounds below each figure."""
    rows = []
    for levels in zip(estimate.low, estimate.expected, estimate.high, strict=True):
        low, middle, high = (
            [*(f"{getattr(amounts, name):,}" for name in _COUNTED), money(amounts.cost)]
            for amounts in levels
        )
        cells = [
            e if a == b else f"{e}\n{a} to {b}" for a, e, b in zip(low, middle, high, strict=True)
        ]
        rows.append((f"{levels[0].step}\n{one_line(levels[0].model)}".strip(), *cells))
    unknown = estimate.unknown_prices
    return Card(
        f"Expected for {counted(estimate.questions, 'question')} (low to high)",
        ("step", "calls", "tokens in", "tokens out", "dollars"),
        tuple(rows),
        free_text=True,
        after=(
            *([f"dollars: {money(None, unknown)}"] if unknown else []),
            f"Expected: {percent(_CONFLICT_RATE)} % of first answers have a claim in conflict.",
            "Cached replies count as calls, and so do pairs that a cascade would settle without"
            " its judge.",
        ),
    )


def power_card(benchmark: Benchmark, pairs_so_far: Sequence[Paired] = ()) -> Card | None:
    """Build a table of the numbers of questions that would show a gain over ``rag``.

    The number depends on the size of the gain and on how many answers change. ``pairs_so_far``
    contains the paired comparisons of a run that has already started. Returns None if the first
    measure is graded, since a graded measure has no corrections to count.
    """
    if benchmark.measures[0] in benchmark.graded:
        return None
    rates = _change_rates(benchmark, pairs_so_far)
    rows = []
    for gain in _GAINS:
        shares = [*(rate.share for rate in rates), gain]
        question_counts = [questions_needed(max(gain, share), gain) for share in shares]
        rows.append((points(gain), *("none" if n is None else f"{n:,}" for n in question_counts)))
    return Card(
        "Questions needed to show a gain over rag (exact McNemar test at 5 %, power 80 %)",
        ("points", *(f"changes as in\n{rate.name}" for rate in rates), "if all\nimprove"),
        tuple(rows),
        "\n".join(_rate_note(rate, len(benchmark.questions)) for rate in rates),
    )


class _ChangeRate(NamedTuple):
    """How many answers became right, and how many became wrong, in a run of ``n`` questions."""

    name: str
    corrections: int
    harms: int
    n: int

    @property
    def share(self) -> float:
        return (self.corrections + self.harms) / self.n

    @property
    def gain(self) -> float:
        return (self.corrections - self.harms) / self.n


def _change_rates(benchmark: Benchmark, pairs_so_far: Sequence[Paired]) -> list[_ChangeRate]:
    """Return the rates of change in this run so far and in the paper, if they are above 0."""
    rates = [
        _ChangeRate("this run so far", pair.corrected, pair.harmed, pair.n)
        for pair in pairs_so_far
        if (pair.method, pair.measure) == ("regenerated-rag", benchmark.measures[0])
    ]
    paper = paper_figures(benchmark.name, benchmark.form)
    if paper and (transitions := paper.transitions):
        rates.append(
            _ChangeRate("the paper", transitions.corrections, transitions.harms, paper.questions)
        )
    return [rate for rate in rates if rate.corrections + rate.harms]


def _rate_note(rate: _ChangeRate, questions: int) -> str:
    """Describe the share of changed answers.

    If there was a gain, add how many questions would show it.
    """
    note = f"{rate.name}: {percent(rate.share)} % of answers change"
    if rate.gain <= 0:
        return note
    needed = questions_needed(rate.share, rate.gain)
    effort = "more than ten million" if needed is None else f"{needed:,}"
    return (
        f"{note}. To show this gain of {points(rate.gain)}, a run needs {effort} questions. The"
        f" {questions:,} questions of this run would show it with a probability of"
        f" {percent(mcnemar_power(questions, rate.share, rate.gain))} %."
    )
