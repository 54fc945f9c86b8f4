"""One process's work on a run: every question through every step, recorded as it goes."""

import asyncio
import random
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from conflictscore.benchmarks.harness.definition import SCORES, AnswerJudge, Benchmark
from conflictscore.benchmarks.harness.failing import reason_of, refuse_odd_values
from conflictscore.benchmarks.harness.methods.asker import Asker
from conflictscore.benchmarks.harness.methods.method import Asked, BenchmarkMethod
from conflictscore.benchmarks.harness.methods.registry import (
    BASELINE,
    DOCUMENTS,
    GRADE,
    LOOP,
    MEANING,
    METHODS,
    begins_with_first,
    method_of,
)
from conflictscore.benchmarks.harness.records import (
    STOPPED,
    Question,
    QuestionResult,
    StepKey,
    StepRecord,
    Verdict,
    meaning_key,
)
from conflictscore.benchmarks.harness.results import results
from conflictscore.benchmarks.harness.setup import Ready, RunSettings
from conflictscore.benchmarks.harness.store import RunStore
from conflictscore.benchmarks.harness.summarise import COMPARED
from conflictscore.errors import (
    BudgetError,
    ConfigurationError,
    InputError,
    ProviderError,
)
from conflictscore.models.ledger import Ledger
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Attempt, ConflictReport, Document, Label, Usage


class Listener:
    """Told of every step, in the event loop's thread, which it must not block; does nothing."""

    def ended(self, record: StepRecord) -> None:
        """A step ended and was recorded."""

    def question(self, result: QuestionResult) -> None:
        """A question's last step ended, in this session or an earlier one."""

    def spent(self, usage: Mapping[str, Usage], dollars: float | None) -> None:
        """Usage of all sessions so far, by model; no money where a price is not known."""


class Session:
    """One process's work on a run."""

    def __init__(
        self,
        *,
        store: RunStore,
        ready: Ready,
        benchmark: Benchmark,
        settings: RunSettings,
        ledger: Ledger,
        listener: Listener,
        retried: Iterable[StepKey] = (),
    ) -> None:
        """Get ready."""
        self._store = store
        self._records: dict[str, list[StepRecord]] = defaultdict(list)
        for record in store.records():
            self._records[record.question].append(record)
        self._asker = Asker(
            ready.context,
            ready.resampler,
            ledger.step,
            benchmark.reply_tokens,
            checked=settings.checks_last,
        )
        self._grader = ready.answer_judge
        self._benchmark = benchmark
        self._settings = settings
        self._ledger = ledger
        self._listener = listener
        self._retried = set(retried)
        self._donors = _donors(store.questions, settings.seed)
        self._finding: dict[str, asyncio.Lock] = {}

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
        """Every step of one question that is not recorded yet."""
        found = await self._documents(question)
        if found.value is not None:
            another = partial(self._another, question)
            asked = Asked(question, _documents_in(found), another)
            methods = [method_of(name) for name in self._settings.methods]
            for method in methods:
                if method.before_loop:
                    await self._ask(method, asked)
            loop = await self._ask(method_of(BASELINE), asked)
            if loop.value is not None:
                first = Attempt.model_validate(loop.value["attempts"][0])
                for method in methods:
                    if method.begins_with_first:
                        await self._ask(method, replace(asked, first=first))
            for method in methods:
                if not (method.before_loop or method.step == LOOP or method.begins_with_first):
                    await self._ask(method, asked)
            await self._grades(question, asked.documents)
            await self._meanings(question)
        self._listener.question(self.result(question))

    async def _documents(self, question: Question) -> StepRecord:
        """Found once a question, though a placebo may ask for them at the same time."""
        async with self._finding.setdefault(question.id, asyncio.Lock()):
            return await self._step(question, DOCUMENTS, lambda: self._asker.documents(question))

    async def _ask(self, method: BenchmarkMethod, asked: Asked) -> StepRecord:
        return await self._step(asked.question, method.step, lambda: method.ask(self._asker, asked))

    async def _another(self, question: Question) -> tuple[Question, tuple[Document, ...]]:
        donor = self._donors.get(question.id)
        if donor is None:
            raise InputError("a placebo needs a second question, whose evidence it shows")
        donated = await self._documents(donor)
        if donated.value is None:
            raise InputError(f"the placebo's donor has no documents: {donated.error}")
        return donor, _documents_in(donated)

    async def _grades(self, question: Question, documents: Sequence[Document]) -> None:
        """A grade of each distinct answer in free form; in multiple choice nothing is asked.

        An answer of a method with a judge of its own has a grade of its own.
        """
        if self._benchmark.judge is None and not self._benchmark.scored:
            return
        methods = self.result(question).methods
        answers = {
            method_of(name).grade_key(m.answer.text): (
                m.answer.text,
                self._benchmark.judges.get(name),
            )
            for name, m in methods.items()
            if m.answer is not None
        }
        scored = {
            ended.answer.text: ended.report
            for method in methods
            if METHODS[method].step == LOOP and (ended := methods[method]).answer
        }
        for key, (text, own) in answers.items():
            judge = own or self._benchmark.judge
            ask = (
                partial(self._ask_judge, question, text, judge)
                if judge is not None
                else partial(self._ask_score, text, documents, scored.get(text))
            )
            await self._step(question, GRADE, ask, key=key)

    async def _meanings(self, question: Question) -> None:
        if question.options or self._benchmark.scored:
            return  # options have no other words, and no two reports make the same claims
        for one, other in _reworded_pairs(self.result(question), COMPARED):
            work = partial(_same_claims, self._asker, one, other)
            await self._step(question, MEANING, work, key=meaning_key(one, other))

    async def _ask_judge(self, question: Question, text: str, judge: AnswerJudge) -> dict[str, Any]:
        meter, prompts = UsageMeter(), self._asker.context.prompts
        verdicts = await judge(question, text, model=self._grader, prompts=prompts, meter=meter)
        refuse_odd_values(verdicts, self._benchmark.graded)
        return {"verdicts": _plain(verdicts)}

    async def _ask_score(
        self, text: str, documents: Sequence[Document], known: ConflictReport | None
    ) -> dict[str, Any]:
        """Answers that the loop scored are not scored again."""
        report = known or await self._asker.score(text, documents)
        return {"verdicts": _plain(_score_verdicts(report)), "report": report.to_json()}

    async def _step(
        self,
        question: Question,
        step: str,
        work: Callable[[], Awaitable[dict[str, Any]]],
        *,
        key: str = "",
    ) -> StepRecord:
        """The record of a step, which is taken now if there is none."""
        place = (question.id, step, key)
        known = self._store.done.get(place)
        if known is not None and place not in self._retried and not self._outlived(known):
            return known
        started = time.perf_counter()
        value, error = None, None
        with self._ledger.step() as usage:

            def recorded() -> StepRecord:
                record = self._store.append(
                    StepRecord(
                        question=question.id,
                        step=step,
                        key=key,
                        value=value,
                        error=error,
                        usage=usage,
                        seconds=time.perf_counter() - started,
                        time=now(),
                    )
                )
                self._records[question.id].append(record)
                return record

            try:
                value = await work()
            except (BudgetError, ConfigurationError, asyncio.CancelledError) as failure:
                task = asyncio.current_task()
                cancelled = isinstance(failure, asyncio.CancelledError)
                if not cancelled or task is None or task.cancelling():
                    error = STOPPED
                    if usage:
                        recorded()
                    raise
                error = reason_of(failure)  # of a plugged-in part; it would end the worker unsaid
            except Exception as failure:  # noqa: BLE001 - a plugged-in part may raise anything
                error = reason_of(failure)
        record = recorded()
        self._retried.discard(place)
        self._listener.ended(record)
        self._listener.spent(self._ledger.spent, self._ledger.money)
        return record

    def _outlived(self, record: StepRecord) -> bool:
        """Whether the loop that a step began with was taken again after it."""
        if not begins_with_first(record.step):
            return False
        steps = [r.step for r in self._records[record.question] if r.error != STOPPED]
        return LOOP in steps[len(steps) - steps[::-1].index(record.step) :]

    def result(self, question: Question) -> QuestionResult:
        """The result of a question so far."""
        (result,) = results(
            [question],
            self._records[question.id],
            methods=self._settings.methods,
            measures=self._benchmark.measures,
        )
        return result


def now() -> str:
    """The time, in UTC and ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _plain(verdicts: Mapping[str, Verdict]) -> dict[str, Any]:
    return {name: verdict.to_json() for name, verdict in verdicts.items()}


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


def _score_verdicts(report: ConflictReport) -> dict[str, Verdict]:
    """CS-C and CS-R as verdicts by measure, with what they were counted from.

    An answer without a claim, or without a labelled one, is unjudged: nothing is known of it.
    """
    if report.error is not None or report.cs_c is None or report.cs_r is None:
        unlabelled = "none of its claims has a label" if report.claims else "it makes no claim"
        return dict.fromkeys(SCORES, Verdict(value=None, error=report.error or unlabelled))
    pairs = [pair for claim in report.claims for pair in claim.labels]
    labelled = sum(pair.label is not Label.UNLABELLED for pair in pairs)
    counts = (
        f"{len(report.conflicting)} of {len(report.claims)} claims have documents on both sides;"
        f" {labelled} of {len(pairs)} pairs of claim and document are labelled"
    )
    values = dict(zip(SCORES, (report.cs_c, report.cs_r), strict=True))
    return {name: Verdict(value=value, explanation=counts) for name, value in values.items()}


async def _same_claims(asker: Asker, one: str, other: str) -> dict[str, Any]:
    """Whether each of two answers supports every claim of the other, by the run's labeler.

    The first claim that is not supported decides, so the rest is not paid for.

    Raises:
        ProviderError: An answer was not taken apart, or a claim has no label.
    """
    for answer, source in ((one, other), (other, one)):
        report = await asker.score(answer, [Document(number=1, text=source)])
        if report.error is not None:
            raise ProviderError(report.error, provider=asker.context.decomposer.name)
        for claim in report.claims:
            (pair,) = claim.labels
            if pair.label is Label.UNLABELLED:
                raise ProviderError(str(pair.error), provider=asker.context.labeler.name)
            if pair.label is not Label.SUPPORTS:
                return {"same": False, "claim": claim.claim.text, "label": pair.label.value}
    return {"same": True}


def _reworded_pairs(
    result: QuestionResult, compare: Sequence[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    """The answers that differ in words from the baseline's, and those of further pairs of methods.

    An answer that is judged by another thing than the baseline's is compared with none.
    """
    known = {
        name: ended.answer.text
        for name, ended in result.methods.items()
        if ended.answer is not None and not method_of(name).own_judge
    }
    for one, other in [*((BASELINE, name) for name in known), *compare]:
        if {one, other} <= known.keys() and result.reworded(one, other):
            yield known[one], known[other]
