"""``POST /v1/runs``: one run of the loop, with an event for each of its steps."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

from conflictscore.errors import NoDocumentsError
from conflictscore.markup import rendered_markdown
from conflictscore.middleware.service.loop_run import Event, LoopFailure, LoopRun
from conflictscore.middleware.service.refusals import RefusedError, refusal_of
from conflictscore.middleware.service.service import Service, Ticket
from conflictscore.middleware.service.wire import ALIVE, frame
from conflictscore.nodes.state import RagInput

__all__ = ["Stepwise", "with_markup"]

_RENDERED_CHARS = 50_000
"""A longer answer is shown as the text that it is."""


def with_markup(run: Mapping[str, Any]) -> dict[str, Any]:
    """The record of a run with ``markup``, its answers' Markdown as HTML; HTML in it stays text."""
    answers = {name: run[name] or "" for name in ("answer", "first_answer")}
    fit = {name: text for name, text in answers.items() if len(text) <= _RENDERED_CHARS}
    return {**run, "markup": {name: rendered_markdown(text) for name, text in fit.items()}}


class Stepwise:
    """One run, reported step by step.

    Args:
        service: What it works with.
        start: The question, and what comes with it.
        ticket: Its record, which is closed whatever happens.
    """

    def __init__(self, service: Service, start: RagInput, ticket: Ticket) -> None:
        self._service, self._ticket = service, ticket
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        hear = self._events.put_nowait
        self._line = service.lines()[0]
        context = replace(self._line.context, run_id=ticket.run_id)
        self._loop = LoopRun(service.graph, start, context, account=ticket.account, hear=hear)

    async def go(self) -> dict[str, Any]:
        """Run to the end; the whole record.

        Raises:
            RefusedError: It failed.
        """
        service, ticket, loop = self._service, self._ticket, self._loop
        with service.finishing(ticket, lambda: loop.known):
            try:
                async with asyncio.timeout(ticket.seconds_left):
                    failure = await loop.go()
            except TimeoutError as error:
                failure = LoopFailure(loop.stage, "the time is up", error)
            if failure is not None:
                service.failed(failure.stage, ticket, failure.error)
                if failure.error is not None:
                    refusal = self._refusal(failure.error)
                    self._line.failed(refusal)
                    raise refusal from failure.error
        run, notes = loop.known, [failure.reason] if failure else []
        return service.finish(ticket, ticket.ended(run, run.status, *notes))

    async def frames(
        self, work: "asyncio.Task[dict[str, Any]]", heartbeat: float, *, markup: bool = False
    ) -> AsyncIterator[bytes]:
        """The steps as server-sent events, and at the end ``run`` or ``error``.

        Args:
            work: :meth:`go`, under way.
            heartbeat: Seconds between two signs of life.
            markup: Whether ``run`` has the answer as a page shows it.
        """
        work.add_done_callback(lambda _: self._events.put_nowait(None))
        yield frame({"event": "start", "run_id": self._ticket.run_id}, "start")
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
                limit = f"{self._service.settings.timeout:g} s for a request are up"
                return RefusedError(504, f"there is no answer, and the {limit}", code="timeout")
            case NoDocumentsError():
                return RefusedError(404, str(error), code="no_documents")
        return refusal_of(error, self._line.context.generator)
