"""Handing a request on and its reply back untouched; where wished, it is scored afterwards."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

from fastapi.responses import Response

from conflictscore.middleware.service.completions import text_of, why_no_text
from conflictscore.middleware.service.evidence import STOPPED, Status, full, unrun
from conflictscore.middleware.service.faults import RefusedError, plain_reason
from conflictscore.middleware.service.loop_run import LoopRun
from conflictscore.middleware.service.requests import ChatRequest
from conflictscore.middleware.service.service import Service, Ticket
from conflictscore.middleware.service.streams import EventStream, frame
from conflictscore.middleware.service.upstream import UpstreamReply, read_completion

__all__ = ["Relay", "streamed_text"]

_MOST_HEARD = 8 << 20
"""Bytes of a stream that are remembered, to be scored."""
_LAST_WORDS_S = 1.0
"""After the time for a request, for telling a client that reads that it is up."""


class Relay:
    """One request whose reply goes out as the upstream gives it.

    Args:
        service: What it is done with.
        request: What is asked.
        ticket: The record of it, which is closed whatever happens.
        held: What is to be given back after the response.
    """

    def __init__(
        self, service: Service, request: ChatRequest, ticket: Ticket, held: AsyncExitStack
    ) -> None:
        self._service, self._request, self._ticket = service, request, ticket
        self._held = held
        self._pending = True
        self._events = False

    async def response(self) -> Response:
        """The upstream's reply.

        Raises:
            RefusedError: There is none; or this deployment hands on only what it can check (400).
        """
        request, on_failure = self._request, self._service.settings.on_failure
        self._held.callback(self._left)
        if request.unchecked and on_failure == "refuse" and self._ticket.mode != "observe":
            reason = f"{request.unchecked}; this deployment answers only what it can check"
            self._close("failed", reason)
            raise RefusedError(400, reason, code="not_checkable")
        try:
            async with asyncio.timeout(self._seconds_left()):
                reply = await self._held.enter_async_context(
                    self._service.upstream.open(request.body)
                )
                data = None if request.stream else await reply.read()
        except TimeoutError:
            limit = f"{self._service.settings.timeout:g} s"
            self._close("failed", "the upstream gave no answer in time")
            self._service.failed("timeout", self._ticket)
            raise RefusedError(
                504, f"the upstream gave no answer in {limit}", code="timeout"
            ) from None
        except RefusedError as refusal:
            self._service.failed("upstream", self._ticket, refusal.__cause__)
            self._close("failed", str(refusal))
            raise
        self._events = "event-stream" in reply.content_type
        headers = {**self._headers(), "content-type": reply.content_type}
        if data is None:
            ends = self._ticket.deadline + _LAST_WORDS_S
            return EventStream(self._pieces(reply), headers, ends)
        self._ended(data)
        return Response(data, headers=headers)

    async def _pieces(self, reply: UpstreamReply) -> AsyncIterator[bytes]:
        heard = bytearray()
        pieces = reply.stream()
        try:
            while True:
                async with asyncio.timeout(self._seconds_left()):
                    piece = await anext(pieces, None)
                if piece is None:
                    break
                if len(heard) <= _MOST_HEARD:
                    heard += piece
                yield piece
        except (RefusedError, TimeoutError) as error:
            late = RefusedError(504, "the time for a request was up", code="timeout")
            refusal = error if isinstance(error, RefusedError) else late
            self._service.failed("upstream", self._ticket, error)
            self._close("failed", str(refusal))
            yield frame(refusal.body())
            return
        self._ended(bytes(heard))

    def _ended(self, data: bytes) -> None:
        """Have the reply scored once it is out, where that is wished and there is an answer."""
        request = self._request
        if request.unchecked:
            return self._close("passed-through", request.unchecked)
        if self._ticket.mode != "observe":
            return None
        self._pending = False
        self._held.callback(self._offer, data)
        return None

    def _offer(self, data: bytes) -> None:
        service = self._service
        if not service.background.offer(lambda: self._check(data), self._stopped):
            service.metrics.dropped.inc()
            self._close("dropped", "too many observed answers waited to be scored already")

    async def _check(self, data: bytes) -> None:
        service, request = self._service, self._request
        text, reason = _answer_in(data, events=self._events)
        start = service.start(request, text)
        reason = reason or service.nothing_to_check_with(start)
        if reason is not None:
            return self._close("passed-through", reason)
        run = LoopRun(service.graph, start, service.observing)
        status: Status = "failed"
        notes = []
        try:
            async with asyncio.timeout(service.settings.timeout):
                await run.go()
            if trouble := run.trouble():
                kind, reason = trouble
                service.failed(kind, self._ticket)
                notes = [reason]
            else:
                status = "observed"
        except TimeoutError:
            service.failed("timeout", self._ticket)
            notes = ["the answer was not scored in time"]
        except asyncio.CancelledError:
            status, notes = "unfinished", [STOPPED]
            raise
        except Exception as error:  # noqa: BLE001 - a retriever may raise anything
            service.failed(run.step, self._ticket, error)
            notes = [plain_reason(error)]
        finally:
            state = run.so_far()
            state = {**state, "notes": [*state["notes"], *notes]}
            service.finish(self._ticket, full(state, self._ticket.facts(status)))
        return None

    def _stopped(self) -> None:
        self._close("unfinished", STOPPED)

    def _left(self) -> None:
        """After the response: whoever went away before its end left the record open."""
        if self._pending:
            self._service.metrics.failure("client_gone")
            self._close("unfinished", STOPPED)

    def _close(self, status: Status, note: str) -> None:
        self._pending = False
        question = self._request.asked.question
        self._service.finish(self._ticket, unrun(question, self._ticket.facts(status), [note]))

    def _headers(self) -> dict[str, str]:
        status = "passed-through" if self._request.unchecked else "observed"
        return self._ticket.headers(status)

    def _seconds_left(self) -> float:
        return self._ticket.deadline - time.monotonic()


def _answer_in(data: bytes, *, events: bool) -> tuple[str, str | None]:
    """The answer in an upstream's reply, or why there is none."""
    if events:
        text = streamed_text(data)
        return (text or "", None if text else "the reply has no text, or calls tools")
    completion = read_completion(data)
    if completion is None:
        return "", "the upstream sent something that is no chat completion"
    return text_of(completion), why_no_text(completion)


def streamed_text(data: bytes) -> str | None:
    """The text of a streamed chat completion; None where it calls tools or cannot be read."""
    text = ""
    for line in data.splitlines():
        if not line.startswith(b"data:"):
            continue
        value = line.removeprefix(b"data:").strip()
        if value == b"[DONE]":
            break
        try:
            deltas = [choice["delta"] for choice in json.loads(value)["choices"]]
            for delta in deltas:
                if delta.get("tool_calls") or delta.get("function_call"):
                    return None
                text += delta.get("content") or ""
        except (ValueError, TypeError, LookupError, AttributeError):
            return None
    return text
