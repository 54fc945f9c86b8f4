"""One process's work on a run: every question through every step, recorded as it goes."""

import asyncio
import re
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from conflictscore.benchmarks.harness.definition import SCORES, AnswerJudge, Benchmark
from conflictscore.benchmarks.harness.methods.asker import Asker
from conflictscore.benchmarks.harness.methods.method import Asked, BenchmarkMethod
from conflictscore.benchmarks.harness.methods.registry import (
    BASELINE,
    DOCUMENTS,
    GRADE,
    LOOP,
    MEANING,
    METHODS,
    method_of,
)
from conflictscore.benchmarks.harness.outcome import COMPARED
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
from conflictscore.benchmarks.harness.store import RunStore
from conflictscore.errors import (
    BudgetError,
    ConfigurationError,
    ConflictScoreError,
    InputError,
    ProviderError,
    scrubbed,
)
from conflictscore.labelers.table import LEFT_OUT
from conflictscore.loop.inputs import given_documents
from conflictscore.loop.searching import find_documents
from conflictscore.loop.state import RunContext
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.ledger import Ledger
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Attempt, ConflictReport, Document, Label, Usage
from conflictscore.retrieval.duplicates import mark_duplicates

_ADDRESS_QUERY = re.compile(r"\?[^\s=]{1,200}=\S*")


class Listener:
    """Told of every step, in the event loop's thread, which it must not block; does nothing."""

    def ended(self, record: StepRecord) -> None:
        """A step ended and was recorded."""

    def question(self, result: QuestionResult) -> None:
        """A question's last step ended, in this session or an earlier one."""

    def spent(self, usage: Mapping[str, Usage], dollars: float | None) -> None:
        """Usage of all sessions so far, by model; no money where a price is not known."""


@dataclass
class Session:
    """One process's work on a run."""

    store: RunStore
    context: RunContext
    answer_judge: LanguageModel
    benchmark: Benchmark
    methods: Sequence[str]
    ledger: Ledger
    listener: Listener = field(default_factory=Listener)
    retried: set[StepKey] = field(default_factory=set)
    """Steps to take again, though they are recorded."""

    def __post_init__(self) -> None:
        self._asker = Asker(self.context, self.ledger.step, self.benchmark.reply_tokens)
        self._records: dict[str, list[StepRecord]] = defaultdict(list)
        for record in self.store.records():
            self._records[record.question].append(record)

    async def run(self, concurrency: int) -> BudgetError | None:
        """All questions, so many at a time; the error that stopped it where a budget did.

        A question whose next call the budget forbids ends there; calls in flight are waited for.
        """
        waiting = iter(self.store.questions)
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
                for _ in range(min(concurrency, len(self.store.questions))):
                    tasks.create_task(work())
        except* ConfigurationError as errors:
            raise errors.exceptions[0] from None
        return stops[0] if stops else None

    async def question(self, question: Question) -> None:
        """Every step of one question that is not recorded yet."""
        found = await self._step(question, DOCUMENTS, partial(_documents, self.context, question))
        if found.value is not None:
            documents = tuple(map(Document.model_validate, found.value["documents"]))
            asked = Asked(question, documents)
            loop = await self._ask(method_of(BASELINE), asked)
            if loop.value is not None:
                asked = replace(asked, first=Attempt.model_validate(loop.value["attempts"][0]))
            for method in map(method_of, self.methods):
                if method.step != LOOP and (asked.first or not method.looks_again):
                    await self._ask(method, asked)
            await self._grades(question, documents)
            await self._meanings(question)
        self.listener.question(self.result(question))

    async def _ask(self, method: BenchmarkMethod, asked: Asked) -> StepRecord:
        return await self._step(asked.question, method.step, lambda: method.ask(self._asker, asked))

    async def _grades(self, question: Question, documents: Sequence[Document]) -> None:
        """A grade of each distinct answer in free form; in multiple choice nothing is asked.

        An answer of a method with a judge of its own has a grade of its own.
        """
        if self.benchmark.judge is None and not self.benchmark.scored:
            return
        ended = [
            (n, m, m.answer.text) for n, m in self.result(question).methods.items() if m.answer
        ]
        answers = {
            method_of(name).grade_key(text): (text, self.benchmark.judges.get(name))
            for name, _, text in ended
        }
        scored = {text: m.report for name, m, text in ended if METHODS[name].step == LOOP}
        for key, (text, own) in answers.items():
            judge = own or self.benchmark.judge
            ask = (
                partial(self._ask_judge, question, text, judge)
                if judge is not None
                else partial(self._ask_score, text, documents, scored.get(text))
            )
            await self._step(question, GRADE, ask, key=key)

    async def _meanings(self, question: Question) -> None:
        if question.options or self.benchmark.scored:
            return  # options have no other words, and no two reports make the same claims
        for one, other in _reworded_pairs(self.result(question)):
            work = partial(_same_claims, self._asker, one, other)
            await self._step(question, MEANING, work, key=meaning_key(one, other))

    async def _ask_judge(self, question: Question, text: str, judge: AnswerJudge) -> dict[str, Any]:
        model, prompts = self.answer_judge, self.context.prompts
        verdicts = await judge(question, text, model=model, prompts=prompts, meter=UsageMeter())
        _refuse_odd_values(verdicts, self.benchmark.graded)
        return {"verdicts": {name: verdict.to_json() for name, verdict in verdicts.items()}}

    async def _ask_score(
        self, text: str, documents: Sequence[Document], known: ConflictReport | None
    ) -> dict[str, Any]:
        """Answers that the loop scored are not scored again."""
        report = known or await self._asker.score(text, documents)
        verdicts = {name: verdict.to_json() for name, verdict in _score_verdicts(report).items()}
        return {"verdicts": verdicts, "report": report.to_json()}

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
        known = self.store.done.get(place)
        if known is not None and place not in self.retried and not self._outlived(known):
            return known
        started = time.perf_counter()
        value, error = None, None
        with self.ledger.step() as usage:

            def recorded() -> StepRecord:
                record = self.store.append(
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
                error = _reason_of(failure)  # of a plugged-in part; it would end the worker unsaid
            except Exception as failure:  # noqa: BLE001 - a plugged-in part may raise anything
                error = _reason_of(failure)
        record = recorded()
        self.retried.discard(place)
        self.listener.ended(record)
        self.listener.spent(self.ledger.spent, self.ledger.money)
        return record

    def _outlived(self, record: StepRecord) -> bool:
        """Whether the loop that a step began with was taken again after it."""
        if record.step not in METHODS or not method_of(record.step).begins_with_first:
            return False
        steps = [r.step for r in self._records[record.question] if r.error != STOPPED]
        return LOOP in steps[len(steps) - steps[::-1].index(record.step) :]

    def result(self, question: Question) -> QuestionResult:
        """The result of a question so far."""
        records, measures = self._records[question.id], self.benchmark.measures
        (result,) = results([question], records, methods=self.methods, measures=measures)
        return result


async def _documents(context: RunContext, question: Question) -> dict[str, Any]:
    notes: list[str] = []
    if question.documents:
        given = given_documents({"documents": list(question.documents)})
        documents = await asyncio.to_thread(mark_duplicates, given)
    elif context.retriever is None:
        raise ValueError("a question without documents needs a retriever")
    else:
        documents, notes = await find_documents(context.retriever, question.question)
    return {"documents": [document.to_json() for document in documents], "notes": notes}


def failures(records: Iterable[StepRecord]) -> set[StepKey]:
    """The steps that failed, in whole or in a part that stands for a method or a verdict."""
    found = set()
    for record in records:
        value = record.value or {}
        reports = [value.get("report"), *(a["report"] for a in value.get("attempts", ()))]
        if (
            record.error is not None
            or value.get("regeneration_error") is not None
            or value.get("classification_error") is not None
            or any(map(_is_lacking, reports))
            or any(verdict["value"] is None for verdict in value.get("verdicts", {}).values())
        ):
            found.add((record.question, record.step, record.key))
    return found


def _is_lacking(report: Mapping[str, Any] | None) -> bool:
    """Whether claims, or labels that were asked for, are missing in the record of a report."""
    if report is None:
        return False
    pairs = (pair for claim in report["claims"] for pair in claim["labels"])
    return report["error"] is not None or any(
        pair["label"] == Label.UNLABELLED and not pair["error"].startswith(LEFT_OUT)
        for pair in pairs
    )


def _reason_of(failure: BaseException) -> str:
    """One line; what somebody else's error says is bare of queries, where keys stand."""
    if isinstance(failure, ConflictScoreError):
        return " ".join(str(failure).split())
    return f"{type(failure).__name__}: {scrubbed(_ADDRESS_QUERY.sub('?...', str(failure)))}"


def _refuse_odd_values(verdicts: Mapping[str, Verdict], graded: Collection[str]) -> None:
    """Refuse values that would be counted as something else, as a user's own judge may give."""
    for name, verdict in verdicts.items():
        value = verdict.value
        if value is None or (name in graded and 0 <= value <= 1) or value in (0, 1):
            continue
        wanted = "a number from 0 to 1" if name in graded else "yes or no; it is not graded"
        raise InputError(f"the judge gave {value} by the measure {name!r}, which wants {wanted}")


def now() -> str:
    """The time, in UTC and ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


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


def _reworded_pairs(result: QuestionResult) -> Iterator[tuple[str, str]]:
    """The answers that differ in words from the baseline's, and those of the paper's other pair.

    An answer that is judged by another thing than the baseline's is compared with none.
    """
    known = {
        name: ended.answer.text
        for name, ended in result.methods.items()
        if ended.answer is not None and not method_of(name).own_judge
    }
    for one, other in [*((BASELINE, name) for name in known), *COMPARED]:
        if {one, other} <= known.keys() and result.reworded(one, other):
            yield known[one], known[other]
