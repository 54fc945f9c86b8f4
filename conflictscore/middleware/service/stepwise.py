"""``POST /v1/runs``: one run of the loop, with an event for each of its steps."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from conflictscore.errors import NoDocumentsError
from conflictscore.markup import rendered_markdown
from conflictscore.middleware.service.loop_run import Event, LoopRun
from conflictscore.middleware.service.refusals import RefusedError, refusal_of
from conflictscore.middleware.service.service import RequestRecord, Service
from conflictscore.middleware.service.wire import ALIVE, frame
from conflictscore.nodes.state import RagInput
from conflictscore.records import Change

__all__ = ["StepwiseRun", "with_markup"]

_RENDERED_CHARS = 50_000
"""A longer answer is shown as plain text."""


def with_markup(run: Mapping[str, Any]) -> dict[str, Any]:
    """Add to a run what its page shows.

    ``markup`` has its answers' Markdown as HTML, where HTML in an answer is escaped, and ``story``
    the lines of each change that was looked at.
    """
    answers = {name: run[name] or "" for name in ("answer", "first_answer")}
    fit = {name: text for name, text in answers.items() if len(text) <= _RENDERED_CHARS}
    markup = {name: rendered_markdown(text) for name, text in fit.items()}
    return {**run, "markup": markup, "story": [*filter(None, map(_told, run.get("changes") or ()))]}


def _told(change: object) -> tuple[str, ...]:
    try:
        return Change.model_validate(change).told()
    except ValidationError:  # of a run that another version kept
        return ()


class StepwiseRun:
    """One run whose steps are streamed; closes the request's record."""

    def __init__(
        self,
        service: Service,
        start: RagInput,
        record: RequestRecord,
        answer_parameters: Mapping[str, Any] | None = None,
    ) -> None:
        self._service, self._record = service, record
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        parameters = {**service.context.answer_parameters, **(answer_parameters or {})}
        context = replace(service.context, run_id=record.run_id, answer_parameters=parameters)
        self._loop = LoopRun(start, context, on_event=self._events.put_nowait)

    async def go(self) -> dict[str, Any]:
        """Run to the end, and return the stored run."""
        service, record, loop = self._service, self._record, self._loop
        with service.finishing(record, lambda: loop.known):
            if (failure := await loop.go(record.seconds_left)) is not None:
                service.failed(failure.stage, record, failure.error)
                if failure.error is not None:
                    raise self._refusal(failure.error) from failure.error
        run, notes = loop.known, [failure.reason] if failure else []
        return service.finish(record, record.ended(run, run.status, *notes))

    async def frames(
        self, work: "asyncio.Task[dict[str, Any]]", heartbeat: float, *, markup: bool = False
    ) -> AsyncIterator[bytes]:
        """The steps as server-sent events; the last one is ``run`` or ``error``.

        With ``markup`` the run has its answers as HTML too.
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
            yield frame(with_markup(run) if markup else run, "run")
        except RefusedError as refusal:
            yield frame(refusal.body(), "error")

    def _refusal(self, error: Exception) -> RefusedError:
        match error:
            case TimeoutError():
                limit = f"the request timed out after {self._service.settings.timeout:g} s"
                return RefusedError(504, f"there is no answer: {limit}", code="timeout")
            case NoDocumentsError():
                return RefusedError(404, str(error), code="no_documents")
        return refusal_of(error, self._service.context.generator)
