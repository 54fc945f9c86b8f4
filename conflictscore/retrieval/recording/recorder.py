"""Asking many questions and keeping what was found, in a way that can be stopped at any instant.

Each answer is on the disk before the next question is asked, and a question that the file holds is
not asked again. So the same command resumes after a kill, after Ctrl-C, or the next day, when the
search has quota again.
"""

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from langchain_core.retrievers import BaseRetriever

from conflictscore.errors import (
    ConfigurationError,
    ConflictScoreError,
    InputError,
    ProviderError,
    QuotaError,
)
from conflictscore.records import encodable
from conflictscore.retrieval.cleaning import clean_text
from conflictscore.retrieval.recording.file import RecordingWriter
from conflictscore.retrieval.recording.format import (
    Recording,
    SearchSettings,
    recorded_result,
)
from conflictscore.retrieval.recording.questions import question_key
from conflictscore.retrieval.search_notes import collecting

__all__ = ["FAILURES_IN_A_ROW", "FailedQuestion", "RecordingReport", "record_questions"]

FAILURES_IN_A_ROW = 5
"""How many questions a search may fail, one after the other, until no further one is asked."""

_LOGIN = re.compile(r"//[^/?#\s,]*@")


class FailedQuestion(NamedTuple):
    """A question that was not recorded, and why."""

    question: str
    error: ConflictScoreError


@dataclass(frozen=True, slots=True)
class RecordingReport:
    """How far a recording is.

    Attributes:
        wanted: The questions to be recorded, each counted once.
        before: How many of them an earlier run recorded.
        recorded: How many this run recorded.
        empty: For how many of these nothing was found.
        failures: The questions that failed in this run.
        stopped: Why no further question is asked although some are left: a
            ``QuotaError``, or the last one of ``FAILURES_IN_A_ROW`` errors.
        cancelled: Whether the run was cancelled, and waits for the questions in flight.
    """

    wanted: int
    before: int = 0
    recorded: int = 0
    empty: int = 0
    failures: tuple[FailedQuestion, ...] = ()
    stopped: ProviderError | None = None
    cancelled: bool = False

    @property
    def left(self) -> int:
        """The questions that are not recorded."""
        return self.wanted - self.before - self.recorded


OnReport = Callable[[RecordingReport], None]


async def record_questions(
    questions: Sequence[str],
    retriever: BaseRetriever,
    out: str | Path,
    *,
    search: str,
    parameters: Mapping[str, Any],
    concurrency: int = 2,
    on_progress: OnReport = lambda report: None,
) -> RecordingReport:
    """Record the retriever's results for each question that the file does not hold yet.

    A question that fails is not recorded and not asked again in this run. If the quota is used up
    or the search keeps failing, the run ends early; the report says so. When cancelled, as by
    Ctrl-C, no further question is asked, and those in flight are awaited and recorded.

    Args:
        questions: A repeated question is asked once.
        retriever: Its documents are recorded whole.
        out: The file; it is created if there is none.
        search: The retriever's name, as in ``--search``; passwords in it are left out.
        parameters: How the questions are asked, as single values and lists of texts, without a
            secret; ``top_k`` is the number of documents asked for.
        concurrency: The most questions in flight, at least 1.
        on_progress: Called at the start, after each question, and when the run is cancelled.

    Raises:
        InputError: A question is empty, ``concurrency`` is out of range, or the file cannot be
            recorded to.
        ConfigurationError: The retriever is set up wrongly, as with a wrong key.
    """
    if concurrency < 1:
        raise InputError(f"concurrency must be at least 1, and is {concurrency}")
    wanted = _distinct(questions)
    how = {"search": _LOGIN.sub("//", search), "parameters": dict(parameters)}
    settings = SearchSettings.model_validate_json(encodable(json.dumps(how, ensure_ascii=False)))
    with RecordingWriter(out, settings) as writer:
        todo = [question for question in wanted if question not in writer.index]
        report = RecordingReport(len(wanted), before=len(wanted) - len(todo))
        recorder = _Recorder(retriever, writer, settings, iter(todo), report, on_progress)
        on_progress(report)
        workers = [asyncio.create_task(recorder.work()) for _ in range(min(concurrency, len(todo)))]
        try:
            errors = await _errors_of(workers)
        except asyncio.CancelledError:
            recorder.cancel()
            await _errors_of(workers)
            raise
    for error in errors:
        raise error
    return recorder.report


async def _errors_of(workers: Sequence["asyncio.Task[None]"]) -> list[BaseException]:
    """The workers' errors, once all have ended; cancelling this does not cancel them."""
    if workers:
        await asyncio.wait(workers)
    return [error for worker in workers if (error := worker.exception())]


def _distinct(questions: Sequence[str]) -> list[str]:
    by_key: dict[str, str] = {}
    for number, question in enumerate(questions, 1):
        if not (key := question_key(question)):
            raise InputError(f"question {number} of {len(questions)} is empty")
        by_key.setdefault(key, clean_text(question))
    return list(by_key.values())


@dataclass
class _Recorder:
    """Workers that take one question after the other, until none is left or the run is over."""

    retriever: BaseRetriever
    writer: RecordingWriter
    settings: SearchSettings
    todo: Iterator[str]
    report: RecordingReport
    on_progress: OnReport
    over: bool = False
    failed_in_a_row: int = 0

    async def work(self) -> None:
        """Ask until there is nothing left to ask, or the run is over."""
        try:
            while not self.over and (question := next(self.todo, None)) is not None:
                await self._ask(question)
                self.on_progress(self.report)
        finally:  # where this one met an error, the others stop too
            self.over = True

    def cancel(self) -> None:
        """Ask no further question."""
        self.over = True
        self.report = replace(self.report, cancelled=True)
        self.on_progress(self.report)

    async def _ask(self, question: str) -> None:
        try:
            with collecting() as notes:
                found = await self.retriever.ainvoke(question)
        except QuotaError as error:
            self._stop(error)
        except ConfigurationError:
            raise
        except ConflictScoreError as error:
            self._failed(question, error)
        else:
            self.writer.append(
                Recording(
                    question=question,
                    search=self.settings.search,
                    parameters=self.settings.parameters,
                    recorded_at=datetime.now(UTC).isoformat(timespec="seconds"),
                    notes=tuple(map(encodable, (*getattr(self.retriever, "notes", ()), *notes))),
                    results=tuple(map(recorded_result, found)),
                )
            )
            self.failed_in_a_row = 0
            self.report = replace(
                self.report,
                recorded=self.report.recorded + 1,
                empty=self.report.empty + (not found),
            )

    def _failed(self, question: str, error: ConflictScoreError) -> None:
        failures = (*self.report.failures, FailedQuestion(question, error))
        self.report = replace(self.report, failures=failures)
        if isinstance(error, ProviderError):  # anything else is a matter of this one question
            self.failed_in_a_row += 1
            if self.failed_in_a_row >= FAILURES_IN_A_ROW:
                self._stop(error)

    def _stop(self, error: ProviderError) -> None:
        self.over = True
        self.report = replace(self.report, stopped=self.report.stopped or error)
