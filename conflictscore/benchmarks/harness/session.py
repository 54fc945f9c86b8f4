"""Runs and records every step of every question, in one process."""

import asyncio
import re
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

from conflictscore.benchmarks.harness.definition import AnswerJudge, Benchmark
from conflictscore.benchmarks.harness.grades import refuse_odd_values, score_verdicts
from conflictscore.benchmarks.harness.listener import Listener
from conflictscore.benchmarks.harness.manifest import now
from conflictscore.benchmarks.harness.meanings import reworded_pairs, same_claims
from conflictscore.benchmarks.harness.methods.asker import Asker
from conflictscore.benchmarks.harness.methods.method import Asked, BenchmarkMethod
from conflictscore.benchmarks.harness.methods.method_opening import method_of
from conflictscore.benchmarks.harness.methods.registry import (
    BASELINE,
    DOCUMENTS,
    GRADE,
    LOOP,
    MEANING,
    METHODS,
)
from conflictscore.benchmarks.harness.records import (
    Question,
    QuestionResult,
    StepFailure,
    StepKey,
    StepRecord,
    meaning_key,
)
from conflictscore.benchmarks.harness.results import results
from conflictscore.benchmarks.harness.step_values import DocumentsValue, LoopValue, read_value
from conflictscore.benchmarks.harness.store import RunStore
from conflictscore.benchmarks.harness.transcripts import transcribed_step
from conflictscore.errors import (
    BudgetError,
    ConfigurationError,
    ConflictScoreError,
    InputError,
    scrubbed,
)
from conflictscore.loop.inputs import given_documents
from conflictscore.loop.searching import find_documents
from conflictscore.loop.state import RunContext
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.ledger import Ledger
from conflictscore.models.usage import UsageMeter
from conflictscore.records import ConflictReport, Document, Usage
from conflictscore.retrieval.duplicates import mark_in_thread

_ADDRESS_QUERY = re.compile(r"\?(?:[\w%]|[^\s=]{1,200}=)\S*")
"""Matches the query string of an address in an error message.

The string begins with a letter, a digit or "%", or with any name before an equals sign, so a
question mark at the end of a sentence does not match. The bound keeps the search linear.
"""
_Work = Callable[[], Awaitable[dict[str, Any]]]


class _Outcome(NamedTuple):
    """The outcome of a step: a value, or a failure with its reason."""

    value: dict[str, Any] | None
    error: str | None = None
    failure: StepFailure | None = None


@dataclass
class Session:
    """One process's work on a run: it executes and records the steps that are missing.

    A step is a unit of work that is recorded, and paid for, as a whole; see ``harness.records``.
    """

    store: RunStore
    context: RunContext
    answer_judge: LanguageModel
    benchmark: Benchmark
    methods: Sequence[str]
    ledger: Ledger
    listener: Listener = field(default_factory=Listener)
    retried: set[StepKey] = field(default_factory=set)
    """The recorded steps that this session repeats."""

    def __post_init__(self) -> None:
        self._asker = Asker(self.context, self.ledger.step, self.benchmark.reply_tokens)
        self._records: dict[str, list[StepRecord]] = defaultdict(list)
        for record in self.store.records():
            self._records[record.question].append(record)

    async def run(self, concurrency: int) -> BudgetError | None:
        """Run all questions, ``concurrency`` of them at a time.

        Returns the budget's error if it stopped the run.

        If the budget does not allow a question's next call, work on the question stops there. Calls
        in flight are completed.

        Raises:
            ValueError: ``concurrency`` is below 1, so no question would ever be run.
            InputError: A setting is wrong, or a stored record is damaged.
        """
        if concurrency < 1:
            raise ValueError(f"concurrency is {concurrency}; it must be above 0")
        waiting = iter(self.store.questions)
        stops: list[BudgetError] = []

        async def work() -> None:
            for question in waiting:
                if stops:
                    return
                try:
                    await self.question(question)
                # the other tasks finish their questions, whose calls are already paid for
                except BudgetError as error:
                    stops.append(error)

        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(min(concurrency, len(self.store.questions))):
                    tasks.create_task(work())
        # Two kinds of error get here: ConfigurationError, which is an InputError and which a step
        # raises again, and the InputError of a damaged record, which is read outside steps. Any
        # other InputError within a step is recorded as a failure of that step.
        except* InputError as errors:
            raise errors.exceptions[0] from None
        return stops[0] if stops else None

    async def question(self, question: Question) -> None:
        """Run the steps of a question that are not recorded yet."""
        search = await self._step(question, DOCUMENTS, partial(_documents, self.context, question))
        if search.value is not None:
            documents = read_value(search, DocumentsValue).documents
            request = Asked(question, documents)
            # The baseline is always run (``chosen_methods`` adds it), since other methods are
            # compared with it. Its step is LOOP, so this call also runs all methods of the loop.
            loop = await self._ask(method_of(BASELINE), request)
            if loop.value is not None:
                request = replace(request, first=read_value(loop, LoopValue).attempts[0])
            # the methods of the loop have finished; a method that starts from the loop's first
            # answer is not run without one, and its result is then "the first answer failed"
            for method in map(method_of, self.methods):
                if method.step != LOOP and (request.first or not method.begins_with_first):
                    await self._ask(method, request)
            await self._grades(question, documents)
            await self._meanings(question)
        self.listener.question(self.result(question))

    async def _ask(self, method: BenchmarkMethod, request: Asked) -> StepRecord:
        return await self._step(
            request.question, method.step, lambda: method.ask(self._asker, request)
        )

    async def _grades(self, question: Question, documents: Sequence[Document]) -> None:
        """Grade each distinct free-form answer; chosen options need no judge.

        Answers of a method with its own judge are graded separately. A free-form benchmark either
        has a judge for all other answers, or is graded by ConflictScore (``Benchmark`` refuses any
        other).
        """
        benchmark = self.benchmark
        if question.options or (benchmark.judge is None and not benchmark.scored):
            return
        answers: dict[str, str] = {}
        judges: dict[str, AnswerJudge | None] = {}
        loop_scores: dict[str, ConflictReport] = {}
        for name, method_result in self.result(question).methods.items():
            if method_result.answer is None:
                continue
            text = method_result.answer.text
            key = method_of(name).grade_key(text)
            answers[key] = text
            judges[key] = benchmark.judges.get(name, benchmark.judge)
            # only the loop scores answers; its last answer has no score unless a guard needs it,
            # and must not hide the score of an equally worded first answer
            if METHODS[name].step == LOOP and method_result.report is not None:
                loop_scores[text] = method_result.report
        for key, text in answers.items():
            judge = judges[key]
            if judge is not None:
                work = partial(self._ask_judge, question, text, judge)
            else:
                work = partial(self._ask_score, text, documents, loop_scores.get(text))
            await self._step(question, GRADE, work, key=key)

    async def _meanings(self, question: Question) -> None:
        if question.options or self.benchmark.scored:
            return  # options have a fixed wording, and two reports never make the same claims
        for first, second in reworded_pairs(self.result(question)):
            work = partial(same_claims, self._asker, first, second)
            await self._step(question, MEANING, work, key=meaning_key(first, second))

    async def _ask_judge(self, question: Question, text: str, judge: AnswerJudge) -> dict[str, Any]:
        model, prompts = self.answer_judge, self.context.prompts
        # judges need a meter, but nobody reads this one: the ledger counts each model's calls
        verdicts = await judge(question, text, model=model, prompts=prompts, meter=UsageMeter())
        refuse_odd_values(verdicts, self.benchmark.measures, self.benchmark.graded)
        return {"verdicts": {name: verdict.to_json() for name, verdict in verdicts.items()}}

    async def _ask_score(
        self, text: str, documents: Sequence[Document], loop_score: ConflictReport | None
    ) -> dict[str, Any]:
        """Score an answer, unless the loop has already scored it."""
        report = loop_score or await self._asker.score(text, documents)
        verdicts = {name: verdict.to_json() for name, verdict in score_verdicts(report).items()}
        return {"verdicts": verdicts, "report": report.to_json()}

    async def _step(
        self, question: Question, step: str, work: _Work, *, key: str = ""
    ) -> StepRecord:
        """Return the record of a step; run the step first if it has no record.

        If the budget, a wrong setting or Ctrl-C ends a step that has already cost something, the
        step is recorded as stopped, and the error ends the session.
        """
        place = (question.id, step, key)
        record = self.store.done.get(place)
        if record is not None and place not in self.retried and not self._outlived(record):
            return record
        start = time.perf_counter()
        with self.ledger.step() as usage, transcribed_step(place):
            try:
                outcome = await _outcome_of(work)
            except (BudgetError, ConfigurationError, asyncio.CancelledError):
                if usage:  # a step that made no call needs no record of its cost
                    reason = "the run was stopped during this step"
                    outcome = _Outcome(None, reason, StepFailure.STOPPED)
                    self._record(place, outcome, usage, start)
                raise
        record = self._record(place, outcome, usage, start)
        self.retried.discard(place)  # equal answers share a grade, which is repeated only once
        self.listener.ended(record)
        self.listener.spent(self.ledger.spent, self.ledger.money)
        return record

    def _record(
        self, place: StepKey, outcome: _Outcome, usage: dict[str, Usage], start: float
    ) -> StepRecord:
        question, step, key = place
        record = self.store.append(
            StepRecord(
                question=question,
                step=step,
                key=key,
                value=outcome.value,
                error=outcome.error,
                failure=outcome.failure,
                usage=usage,
                seconds=time.perf_counter() - start,
                time=now("microseconds"),
            )
        )
        self._records[question].append(record)
        return record

    def _outlived(self, record: StepRecord) -> bool:
        """Return whether a record is based on a first answer that a later loop has replaced."""
        if record.step not in METHODS or not method_of(record.step).begins_with_first:
            return False
        steps = [r.step for r in self._records[record.question] if not r.stopped]
        return LOOP in steps[len(steps) - steps[::-1].index(record.step) :]

    def result(self, question: Question) -> QuestionResult:
        """Return the result of a question from the steps recorded so far."""
        records, measures = self._records[question.id], self.benchmark.measures
        (question_result,) = results([question], records, methods=self.methods, measures=measures)
        return question_result


async def _outcome_of(work: _Work) -> _Outcome:
    """Run a step, and return its value or its failure; raise only errors that end the session."""
    try:
        return _Outcome(await work())
    except (BudgetError, ConfigurationError):
        raise
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        # a plugged-in component cancelled itself; raising its cancellation would silently end the
        # worker
        return _failed(error)
    except Exception as error:  # noqa: BLE001 - a plugged-in component may raise anything
        return _failed(error)


def _failed(error: BaseException) -> _Outcome:
    return _Outcome(None, _reason_of(error), StepFailure.FAILED)


async def _documents(context: RunContext, question: Question) -> dict[str, Any]:
    notes: list[str] = []
    if question.documents:
        documents_given = given_documents({"documents": list(question.documents)})
        documents = await mark_in_thread(documents_given)
    elif context.retriever is None:
        # a wrong setting ends the session; it would fail every such question
        raise ConfigurationError("a question without documents needs a retriever")
    else:
        documents, notes = await find_documents(context.retriever, question.question)
    return {"documents": [document.to_json() for document in documents], "notes": notes}


def _reason_of(failure: BaseException) -> str:
    """Return the reason for a failure, on one line (``scrubbed`` joins lines).

    Errors of other libraries are shown without the query strings of addresses, which may contain
    keys.
    """
    if isinstance(failure, ConflictScoreError):
        return " ".join(str(failure).split())
    return f"{type(failure).__name__}: {scrubbed(_ADDRESS_QUERY.sub('?...', str(failure)))}"
