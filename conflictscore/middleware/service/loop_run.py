"""Runs the loop for a request, with its events and the step at which it fails."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple, cast

from pydantic import ValidationError

from conflictscore.answering.answer_parts import AnswerPart, answer_parts, with_marks
from conflictscore.errors import NoDocumentsError
from conflictscore.graph.binding import running_with
from conflictscore.graph.self_correction import shared_graph
from conflictscore.loop.examining import whole_percent
from conflictscore.loop.state import RagInput, RunContext
from conflictscore.markup import rendered_markdown
from conflictscore.middleware.entrypoints import PassedOnError
from conflictscore.middleware.requirement import meets, why_refused
from conflictscore.middleware.service.refusals import (
    RefusedError,
    internal_error,
    plain_reason,
    refusal_of,
)
from conflictscore.middleware.service.service import RequestRecord, Service
from conflictscore.middleware.service.wire import ALIVE, frame
from conflictscore.nodes.record import run_of
from conflictscore.records import Change, ConflictReport, Run, RunStatus
from conflictscore.retrieval.discreet import NOTHING_FOUND
from conflictscore.threads import read_in_thread

Event = Mapping[str, Any]
Stage = Literal["search", "answer", "judge", "regeneration"]


_RENDERED_CHARS = 50_000
"""The maximum length of an answer whose Markdown is rendered; longer answers stay plain text. The
limit bounds the time, and was chosen by hand."""


class LoopFailure(NamedTuple):
    """A failure before the loop had a final answer."""

    stage: Stage
    reason: str
    error: Exception | None = None
    """The exception that ended the loop; None if the loop finished."""


class LoopRun:
    """Runs the loop for one question; ``stage`` is its current step."""

    def __init__(
        self,
        start: RagInput,
        context: RunContext,
        *,
        on_event: Callable[[Event], None] = lambda event: None,
    ) -> None:
        self.stage: Stage = "search"
        self._graph, self._start, self._context = shared_graph(), start, context
        self._on_event = on_event
        self._state: Mapping[str, Any] = start
        self._read: tuple[Mapping[str, Any], Run] | None = None

    @property
    def known(self) -> Run:
        """The run up to the current step; each state is read only once."""
        if self._read is None or self._read[0] is not self._state:
            self._read = self._state, run_of(self._state)
        return self._read[1]

    async def go(self, seconds: float | None = None) -> LoopFailure | None:
        """Run to the end and return the failure, if any. Errors of the chatbot are raised."""
        events = cast(
            "AsyncIterator[tuple[str, dict[str, Any]]]",
            self._graph.astream(self._start, stream_mode=["custom", "values"]),
        )
        timer = asyncio.timeout(seconds)
        try:
            with running_with(self._graph, self._context):
                async with timer:
                    async for kind, item in events:
                        if kind == "values":
                            self._state = item
                        else:
                            self._note(item)
                            self._on_event(item)
        except PassedOnError as passing:
            raise passing.error from None
        except Exception as error:  # noqa: BLE001 - a retriever may raise anything
            reason = "the request timed out" if timer.expired() else plain_reason(error)
            return LoopFailure(self.stage, reason, error)
        return self.failure()

    def _note(self, event: Event) -> None:
        """Set the stage that follows an event."""
        match event["event"]:
            case "documents":
                self.stage = "answer"
            case "answer":
                self.stage = "judge"
            case "decision" if event["decision"] == "correct":
                self.stage = "regeneration"

    def failure(self) -> LoopFailure | None:
        """Return the failure of a step that did not end the loop, or None if there was none."""
        run = self.known
        # after a failure in a later round, the earlier round's answer is the result
        if self.stage == "regeneration" and len(run.attempts) == 1:
            return LoopFailure("regeneration", run.reason or "")
        reason = _why_unjudged(run.report) or self._too_few_labels(run.final_report or run.report)
        return LoopFailure("judge", reason) if reason else None

    def _too_few_labels(self, report: ConflictReport | None) -> str:
        """Return a message if an answer has too few labels; otherwise an empty string."""
        least = self._context.settings.min_coverage or 0
        if report is None or report.coverage is None or report.coverage >= least:
            return ""
        share = (
            f"only {whole_percent(report.coverage)} of its pairs of claim and document have a label"
        )
        return f"{share}, but min_coverage requires {least:.0%}"


def _why_unjudged(report: ConflictReport | None) -> str:
    """Return a message if an answer has no claims or no labels; otherwise an empty string."""
    if report is None:
        return ""
    if report.error or not report.claims or report.cs_c is not None:
        return report.error or ""
    errors = (pair.error for evidence in report.claims for pair in evidence.labels)
    return f"no claim could be checked against a document: {next(errors)}"


def with_markup(run: Mapping[str, Any]) -> dict[str, Any]:
    """Add to a run the fields that the runs page shows.

    ``markup`` has the answers' Markdown as HTML; HTML in the answers is escaped. ``marked`` is the
    final answer with a mark before and after each of ``parts``. ``story`` explains each
    reconsidered passage, in lines of text.
    """
    answers = {name: run[name] or "" for name in ("answer", "first_answer")}
    fit = {name: text for name, text in answers.items() if len(text) <= _RENDERED_CHARS}
    markup = {name: rendered_markdown(text) for name, text in fit.items()}
    parts = _parts(run) if "answer" in fit else ()
    marked_answer = with_marks(fit["answer"], parts) if parts else None
    return {
        **run,
        "markup": markup,
        "marked": rendered_markdown(marked_answer) if marked_answer else None,
        "parts": [{"standing": part.standing.value, "claims": part.claims} for part in parts],
        "story": [*filter(None, map(_told, run.get("changes") or ()))],
    }


def _parts(run: Mapping[str, Any]) -> tuple[AnswerPart, ...]:
    fields = {name: run[name] for name in Run.model_fields if name in run and name != "status"}
    try:
        return answer_parts(Run.model_validate(fields))
    except ValidationError:  # stored by another version
        return ()


def _told(change: object) -> tuple[str, ...]:
    try:
        return Change.model_validate(change).told()
    except ValidationError:  # stored by another version
        return ()


class StepwiseRun:
    """Runs the loop for one request, streams its steps, and closes the request's record."""

    def __init__(
        self,
        service: Service,
        start: RagInput,
        record: RequestRecord,
        answer_parameters: Mapping[str, Any] | None = None,
    ) -> None:
        self._service, self._record = service, record
        self._home = asyncio.get_running_loop()
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        parameters = {**service.context.answer_parameters, **(answer_parameters or {})}
        context = replace(service.context, run_id=record.run_id, answer_parameters=parameters)
        self._loop = LoopRun(start, context, on_event=self._hear)

    def _hear(self, event: Event) -> None:
        """Pass an event on to the event loop that streams; the loop may run in another thread."""
        self._home.call_soon_threadsafe(self._events.put_nowait, event)

    async def go(self) -> dict[str, Any]:
        """Run to the end, store the run and return it."""
        service, record, loop = self._service, self._record, self._loop
        with service.finishing(record, lambda: loop.known):
            if (failure := await loop.go(record.seconds_left)) is not None:
                service.failed(failure.stage, record, failure.error)
                if failure.error is not None:
                    raise self._refusal(failure.error) from failure.error
        run, notes = loop.known, [failure.reason] if failure else []
        require = service.settings.require
        if meets(run, require):
            stored_run = service.finish(record, record.ended(run, run.status, *notes))
            is_stored = await service.is_stored(record)
            return stored_run if is_stored else {**stored_run, "stored": False}
        service.failed("refused", record)
        why = why_refused(run, require)
        service.finish(record, record.ended(run, RunStatus.FAILED, *notes, why))
        raise RefusedError(503, service.settings.refusal or why, code="not_checked")

    async def frames(
        self, work: "asyncio.Task[dict[str, Any]]", heartbeat: float, *, markup: bool = False
    ) -> AsyncIterator[bytes]:
        """Yield the steps as server-sent events, ending with ``run`` or ``error``.

        If ``markup`` is set, ``run`` also has the fields of :func:`with_markup`.
        """
        work.add_done_callback(lambda _: self._events.put_nowait(None))
        yield frame({"event": "start", "run_id": self._record.run_id}, "start")
        while True:
            try:
                async with asyncio.timeout(heartbeat):
                    event = await self._events.get()
            except TimeoutError:
                yield ALIVE
                continue
            if event is None:
                break
            yield frame(event, event["event"])
        try:
            run = work.result()
            if markup:
                chars = sum(len(run[name] or "") for name in ("answer", "first_answer"))
                run = await read_in_thread(partial(with_markup, run), chars)
            yield frame(run, "run")
        except Exception as error:  # noqa: BLE001 - the status is sent, so the stream has the error
            refusal = error if isinstance(error, RefusedError) else internal_error(error)
            yield frame(refusal.body(), "error")

    def _refusal(self, error: Exception) -> RefusedError:
        match error:
            case TimeoutError():
                limit = f"the request timed out after {self._service.settings.timeout:g} s"
                return RefusedError(504, f"there is no answer: {limit}", code="timeout")
            case NoDocumentsError():
                return RefusedError(404, NOTHING_FOUND, code="no_documents")
        return refusal_of(error, self._service.context.generator)
