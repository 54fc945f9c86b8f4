"""``POST /v1/runs``: one run of the loop, with an event for each of its steps."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

from conflictscore.errors import NoDocumentsError
from conflictscore.middleware.service.evidence import STOPPED, Status, full
from conflictscore.middleware.service.faults import RefusedError, refusal_of
from conflictscore.middleware.service.loop_run import Event, LoopRun
from conflictscore.middleware.service.requests import RunRequest
from conflictscore.middleware.service.service import Service, Ticket
from conflictscore.middleware.service.streams import ALIVE, frame

__all__ = ["Stepwise"]


class Stepwise:
    """One run, told step by step.

    Args:
        service: What it is done with.
        request: The question.
        ticket: The record of it, which is closed whatever happens.
    """

    def __init__(self, service: Service, request: RunRequest, ticket: Ticket) -> None:
        self._service, self._ticket = service, ticket
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._run = LoopRun(
            service.graph,
            request.start,
            service.context if ticket.mode == "correct" else service.scoring,
            hear=self._events.put_nowait,
        )

    async def go(self) -> dict[str, Any]:
        """Run to the end; the whole evidence.

        Raises:
            RefusedError: It failed.
        """
        try:
            async with asyncio.timeout(self._ticket.deadline - time.monotonic()):
                await self._run.go()
        except asyncio.CancelledError:
            self._service.metrics.failure("client_gone")
            self._close("unfinished", [STOPPED])
            raise
        except Exception as error:
            refusal = self._refusal(error)
            self._service.failed(self._run.step, self._ticket, error)
            self._close("failed", [str(refusal)])
            raise refusal from error
        if trouble := self._run.trouble():
            kind, reason = trouble
            self._service.failed(kind, self._ticket)
            if kind == "judge":
                return self._close("failed", [reason])
        state = self._run.state
        split = any(claim["conflicting"] for claim in state["report"]["claims"])
        unchanged: Status = "kept" if split else "scored"
        return self._close("corrected" if state["flipped"] else unchanged, [])

    async def frames(
        self, work: "asyncio.Task[dict[str, Any]]", heartbeat: float
    ) -> AsyncIterator[bytes]:
        """The steps as server-sent events, and at the end ``run`` or ``error``.

        Args:
            work: :meth:`go`, under way.
            heartbeat: Seconds between two signs of life.
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
            yield frame(work.result(), "run")
        except RefusedError as refusal:
            yield frame(refusal.body(), "error")

    def _refusal(self, error: Exception) -> RefusedError:
        match error:
            case TimeoutError():
                limit = f"{self._service.settings.timeout:g} s for a request are up"
                return RefusedError(504, f"there is no answer, and the {limit}", code="timeout")
            case NoDocumentsError():
                return RefusedError(404, str(error), code="no_documents")
        return refusal_of(error, self._service.context.generator)

    def _close(self, status: Status, notes: Sequence[str]) -> dict[str, Any]:
        state = self._run.so_far() if status in ("failed", "unfinished") else self._run.state
        noted = {**state, "notes": [*state["notes"], *notes]}
        run = full(noted, self._ticket.facts(status))
        self._service.finish(self._ticket, run)
        return run
