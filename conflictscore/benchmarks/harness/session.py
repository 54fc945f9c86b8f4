"""One process's work on a run: every question through every step, recorded as it goes."""

import asyncio
import random
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol

from conflictscore.benchmarks.harness.benchmark import AnswerJudge, Benchmark
from conflictscore.benchmarks.harness.failing import reason_of, refuse_odd_values
from conflictscore.benchmarks.harness.listening import Listener
from conflictscore.benchmarks.harness.records import (
    BenchmarkMethod,
    Question,
    QuestionResult,
    Step,
    StepRecord,
    Verdict,
)
from conflictscore.benchmarks.harness.results import ON_THE_LOOP, first_answer_usage, results
from conflictscore.benchmarks.harness.scores import score_verdicts
from conflictscore.benchmarks.harness.setup import Ready, RunSettings
from conflictscore.benchmarks.harness.spending import Place, Spending
from conflictscore.benchmarks.harness.steps import Steps
from conflictscore.errors import (
    BudgetError,
    ConfigurationError,
    ContextWindowError,
    InputError,
)
from conflictscore.models.ledger import Ledger
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Attempt, ClaimEvidence, ConflictReport, Document, Usage

__all__ = ["Session", "Store", "now"]

_SCORED_BY_THE_LOOP = (BenchmarkMethod.RAG, BenchmarkMethod.REGENERATED_RAG)

_Asked = Callable[[Question, Sequence[Document]], Awaitable[dict[str, Any]]]


class Store(Protocol):
    """Where records are kept."""

    @property
    def questions(self) -> Sequence[Question]:
        """The questions of the run."""

    @property
    def done(self) -> Mapping[tuple[str, Step, str], StepRecord]:
        """The last record of each step, by question id, step and key."""

    def records(self) -> Sequence[StepRecord]:
        """All records, in order."""

    def append(self, record: StepRecord) -> StepRecord:
        """Keep a record; gives it as a later reader will find it."""


class Session:
    """One process's work on a run."""

    def __init__(
        self,
        *,
        store: Store,
        ready: Ready,
        benchmark: Benchmark,
        settings: RunSettings,
        ledger: Ledger,
        listener: Listener,
        spending: Spending | None = None,
        retried: Iterable[tuple[str, Step, str]] = (),
        steps: Steps | None = None,
    ) -> None:
        """Get ready.

        Args:
            store: Where records are kept, and what it holds already.
            ready: The collaborators.
            benchmark: Its judge and measures; the questions are the store's.
            settings: What decides the figures.
            ledger: Where the collaborators' calls are counted.
            listener: Is told what happens.
            spending: Where calls are kept with their steps; None counts those of this session.
            retried: Steps that are recorded and are to be taken again.
            steps: What is asked; by default :class:`Steps` of the collaborators.
        """
        self._store = store
        self._spending = spending
        self._model = ready.context.generator.name
        counting = ledger.step if spending is None else partial(self._first_answer, spending)
        self._steps = steps or Steps(
            ready.context, ready.resampler, counting, self._kept, benchmark.reply_tokens
        )
        self._alone: dict[Step, _Asked] = {
            Step.CONTROL_RAG: self._steps.control_rag,
            Step.PIPELINE: self._steps.pipeline,
            Step.TAXONOMY_AWARE: self._steps.taxonomy_aware,
            Step.ORACLE: self._steps.oracle,
            Step.NO_DOCUMENTS: self._steps.no_documents,
            Step.FIRST_DOCUMENT: self._steps.first_document,
            Step.SECOND_DOCUMENT: self._steps.second_document,
            Step.BALANCED: self._steps.balanced,
            Step.SUPER_BALANCED: self._steps.super_balanced,
        }
        self._grader = ready.answer_judge
        self._judge: AnswerJudge | None = benchmark.judge
        self._scored = benchmark.scored
        self._measures, self._graded = benchmark.measures, benchmark.graded
        self._settings = settings
        self._ledger = ledger
        self._listener = listener
        self._retried = set(retried)
        self._donors = _donors(store.questions, settings.seed)
        self._finding: dict[str, asyncio.Lock] = {}
        self._records: dict[str, list[StepRecord]] = defaultdict(list)
        for record in store.records():
            self._records[record.question].append(record)

    async def run(self, concurrency: int) -> BudgetError | None:
        """All questions, so many at a time; the error that stopped it where a budget did.

        A question whose next call the budget forbids ends there; calls in flight are waited for.
        """
        waiting = iter(self._store.questions)
        stops: list[BudgetError] = []

        async def work() -> None:
            for question in waiting:
                if stops:
                    return
                try:
                    await self.question(question)
                except BudgetError as error:
                    stops.append(error)

        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(min(concurrency, len(self._store.questions))):
                    tasks.create_task(work())
        except* ConfigurationError as errors:
            raise errors.exceptions[0] from None
        return stops[0] if stops else None

    async def question(self, question: Question) -> None:
        """Every step of one question that is not recorded yet.

        Raises:
            BudgetError: The budget forbids the next call.
            ConfigurationError: A setting is wrong, so that no question can be asked.
        """
        methods = self._settings.methods
        found = await self._documents(question)
        if found.value is not None:
            documents = _documents_in(found)
            if BenchmarkMethod.RESAMPLE in methods:  # first, so that the loop finds its prefix warm
                await self._step(
                    question, Step.RESAMPLE, lambda: self._steps.resample(question, documents)
                )
            loop = await self._step(
                question, Step.LOOP, lambda: self._steps.loop(question, documents)
            )
            if loop.value is not None:
                first = Attempt.model_validate(loop.value["attempts"][0])
                if BenchmarkMethod.PLACEBO in methods:
                    await self._placebo(question, documents, first)
                if BenchmarkMethod.TYPED_RAG in methods:
                    await self._typed_rag(question, documents, first)
            for step, ask in self._alone.items():
                if BenchmarkMethod(step.value) in methods:
                    await self._step(question, step, partial(ask, question, documents))
            await self._grades(question, documents)
        self._listener.question(self.result(question))

    async def _documents(self, question: Question) -> StepRecord:
        """Found once a question, though a placebo may ask for them at the same time."""
        async with self._finding.setdefault(question.id, asyncio.Lock()):
            return await self._step(
                question, Step.DOCUMENTS, lambda: self._steps.documents(question)
            )

    async def _placebo(
        self, question: Question, documents: Sequence[Document], first: Attempt
    ) -> None:
        async def ask() -> dict[str, Any]:
            claim = _disputed(first)
            if claim is None:
                return {"answer": first.answer.to_json(), "donor": None, "notes": []}
            donor = self._donors.get(question.id)
            if donor is None:
                raise InputError("a placebo needs a second question, whose evidence it shows")
            donated = await self._documents(donor)
            if donated.value is None:
                raise InputError(f"the placebo's donor has no documents: {donated.error}")
            return await self._steps.placebo(
                question, documents, first.answer, claim, donor, _documents_in(donated)
            )

        await self._step(question, Step.PLACEBO, ask)

    async def _typed_rag(
        self, question: Question, documents: Sequence[Document], first: Attempt
    ) -> None:
        async def ask() -> dict[str, Any]:
            claim = _disputed(first)
            if claim is None:
                return {"answer": first.answer.to_json(), "conflict_type": None, "notes": []}
            return await self._steps.typed_rag(question, documents, first.answer, claim)

        await self._step(question, Step.TYPED_RAG, ask)

    async def _grades(self, question: Question, documents: Sequence[Document]) -> None:
        """A grade of each distinct answer in free form; in multiple choice nothing is asked."""
        if self._judge is None and not self._scored:
            return
        methods = self.result(question).methods
        answers = dict.fromkeys(m.answer.text for m in methods.values() if m.answer is not None)
        scored = {
            ended.answer.text: ended.report
            for method in _SCORED_BY_THE_LOOP
            if (ended := methods.get(method)) and ended.answer
        }
        for text in answers:
            ask = (
                partial(self._ask_judge, question, text, self._judge)
                if self._judge is not None
                else partial(self._ask_score, text, documents, scored.get(text))
            )
            await self._step(question, Step.GRADE, ask, key=text)

    async def _ask_judge(self, question: Question, text: str, judge: AnswerJudge) -> dict[str, Any]:
        meter, prompts = UsageMeter(), self._steps.context.prompts
        verdicts = await judge(question, text, model=self._grader, prompts=prompts, meter=meter)
        self._kept(meter.usage.cached_calls)
        refuse_odd_values(verdicts, self._graded)
        return {"verdicts": _plain(verdicts)}

    async def _ask_score(
        self, text: str, documents: Sequence[Document], known: ConflictReport | None
    ) -> dict[str, Any]:
        """What the loop has scored already is not scored again."""
        report = known or await self._steps.score(text, documents)
        return {"verdicts": _plain(score_verdicts(report)), "report": report.to_json()}

    async def _step(
        self,
        question: Question,
        step: Step,
        work: Callable[[], Awaitable[dict[str, Any]]],
        *,
        key: str = "",
    ) -> StepRecord:
        """What is recorded of a step, or else what comes of it now."""
        place = (question.id, step, key)
        known = self._store.done.get(place)
        if known is not None and place not in self._retried and not self._outlived(known):
            return known
        self._listener.started(question.id, step)
        started = time.perf_counter()
        value, error = None, None
        with self._ledger.step() as usage, self._at(place):
            try:
                value = await work()
            except (BudgetError, ConfigurationError) as stop:
                if not isinstance(stop, ContextWindowError):
                    raise
                error = str(stop)
            except asyncio.CancelledError as failure:
                task = asyncio.current_task()
                if task is None or task.cancelling():
                    raise
                error = reason_of(failure)  # of a plugged-in part; it would end the worker unsaid
            except Exception as failure:  # noqa: BLE001 - a plugged-in part may raise anything
                error = reason_of(failure)
        record = StepRecord(
            question=question.id,
            step=step,
            key=key,
            value=value,
            error=error,
            usage=self._cost(place, usage),
            seconds=time.perf_counter() - started,
            time=now(),
        )
        record = self._store.append(record)
        self._records[question.id].append(record)
        self._retried.discard(place)
        self._listener.ended(record)
        self._listener.spent(self._ledger.spent, self._ledger.money)
        return record

    def _outlived(self, record: StepRecord) -> bool:
        """Whether the loop that a step began with was taken again after it."""
        if record.step not in ON_THE_LOOP:
            return False
        steps = [r.step for r in self._records[record.question]]
        return Step.LOOP in steps[len(steps) - steps[::-1].index(record.step) :]

    def _kept(self, calls: int) -> None:
        if calls:
            self._ledger.count(self._model, Usage(cached_calls=calls))

    @contextmanager
    def _first_answer(self, spending: Spending) -> Iterator[Mapping[str, Usage]]:
        """What a loop's first answer cost beyond what earlier records of the loop say."""
        usage: dict[str, Usage] = {}
        with spending.first_part() as part:
            yield usage
        question = part[0]
        recorded = first_answer_usage(self._records[question]).get(question, {})
        usage |= spending.of(part, recorded)

    def _at(self, place: Place) -> AbstractContextManager[None]:
        return nullcontext() if self._spending is None else self._spending.at(place)

    def _cost(self, place: Place, usage: Mapping[str, Usage]) -> dict[str, Usage]:
        """What a step cost beyond what its earlier records say."""
        if self._spending is None:
            return dict(usage)
        recorded: dict[str, Usage] = {}
        for record in self._records[place[0]]:
            if (record.step, record.key) == place[1:]:
                for model, cost in record.usage.items():
                    recorded[model] = recorded.get(model, Usage()) + cost
        return self._spending.of(place, recorded)

    def result(self, question: Question) -> QuestionResult:
        """What is known of a question so far."""
        (result,) = results(
            [question],
            self._records[question.id],
            methods=self._settings.methods,
            measures=self._measures,
            margin=self._settings.guard_margin,
        )
        return result


def now() -> str:
    """The time, in UTC and ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _plain(verdicts: Mapping[str, Verdict]) -> dict[str, Any]:
    return {name: verdict.to_json() for name, verdict in verdicts.items()}


def _disputed(first: Attempt) -> ClaimEvidence | None:
    """The claim of the first answer to reconsider; None where nothing speaks on both sides."""
    report = first.report
    if report is None or report.reconsider is None:
        return None
    return report.evidence(report.reconsider)


def _documents_in(record: StepRecord) -> tuple[Document, ...]:
    if record.value is None:
        raise ValueError("a step that failed holds no documents")
    return tuple(Document.model_validate(item) for item in record.value["documents"])


def _donors(questions: Sequence[Question], seed: int) -> dict[str, Question]:
    """For each question another one, each the donor of one; none for a single question."""
    if len(questions) < 2:
        return {}
    circle = list(questions)
    random.Random(seed).shuffle(circle)  # noqa: S311 - a draw, not a secret
    return {
        question.id: donor for question, donor in zip(circle, [*circle[1:], circle[0]], strict=True)
    }
