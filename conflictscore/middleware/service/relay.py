"""Forwarding a request, and its reply untouched; where wanted, the reply is scored afterwards."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from functools import partial
from typing import Any

from fastapi.responses import Response

from conflictscore.middleware.service.answer_stream import Completion
from conflictscore.middleware.service.completions import text_of, usage_of, why_no_text
from conflictscore.middleware.service.loop_run import LoopRun
from conflictscore.middleware.service.refusals import RefusedError
from conflictscore.middleware.service.requests import ChatRequest
from conflictscore.middleware.service.service import STOPPED, Line, Service, Ticket
from conflictscore.middleware.service.upstream import UpstreamReply, read_completion, unreadable
from conflictscore.middleware.service.wire import EventStream, frame
from conflictscore.records import Run, RunStatus, Usage

__all__ = ["Relay"]

_MOST_HEARD = 8 << 20
"""Bytes of a stream that are remembered, to be scored."""
_LAST_WORDS_S = 1.0
"""After the time for a request is up, to tell a client that still reads."""


class Relay:
    """One request whose reply goes out as the upstream gives it.

    Args:
        service: What it works with.
        request: The request.
        ticket: Its record, which is closed whatever happens.
        held: What is released after the response.
    """

    def __init__(
        self, service: Service, request: ChatRequest, ticket: Ticket, held: AsyncExitStack
    ) -> None:
        self._service, self._request, self._ticket = service, request, ticket
        self._held = held
        self._open = True
        self._line = service.lines()[0]
        self._events = False

    @property
    def headers(self) -> dict[str, str]:
        """The headers that tell a client of the run."""
        status = RunStatus.PASSED_THROUGH if self._request.unchecked else RunStatus.OBSERVED
        return self._ticket.headers(status, "no" if self._request.unchecked else None)

    async def completion(self) -> Completion:
        """The upstream's reply to a request that is not streamed, read.

        Raises:
            RefusedError: There is none, as for :meth:`response`, or it is something else.
        """
        completion = read_completion(bytes((await self.response()).body))
        if completion is None:
            raise unreadable()
        return completion

    async def response(self) -> Response:
        """The upstream's reply.

        Raises:
            RefusedError: There is none; or this deployment forwards only what it can check (400).
        """
        self._held.callback(self._left)
        try:
            reply, data = await self._forwarded()
        except RefusedError as refusal:
            self._close(RunStatus.FAILED, str(refusal))
            raise
        self._events = "event-stream" in reply.content_type
        headers = {**self.headers, "content-type": reply.content_type}
        if data is not None:
            self._ticket.account.count(self._used(data))
        if data is None:
            ends = self._ticket.deadline + _LAST_WORDS_S
            return EventStream(self._pieces(reply), headers, ends)
        self._ended(data)
        return Response(data, headers=headers)

    async def _forwarded(self) -> tuple[UpstreamReply, bytes | None]:
        """The upstream's reply, and its body unless it is a stream."""
        service, request, ticket = self._service, self._request, self._ticket
        policy = service.settings
        only_checked = policy.on_failure == "refuse" and policy.mode != "observe"
        if request.unchecked and only_checked:
            reason = f"{request.unchecked}; this deployment answers only what it can check"
            raise RefusedError(400, reason, code="not_checkable")
        lines = service.lines()
        for left in range(len(lines) - 1, 0, -1):
            line = lines[-left - 1]
            try:  # the others are to have a share of the time
                return await self._from(line, ticket.seconds_left / (left + 1))
            except RefusedError as refusal:
                if not line.failed(refusal):
                    raise
        try:
            return await self._from(lines[-1], ticket.seconds_left)
        except RefusedError as refusal:
            lines[-1].failed(refusal)
            raise

    async def _from(self, line: Line, seconds: float) -> tuple[UpstreamReply, bytes | None]:
        service, request, ticket = self._service, self._request, self._ticket
        self._line, ticket.context = line, line.context
        try:
            async with asyncio.timeout(seconds):
                reply = await self._held.enter_async_context(line.upstream.open(request.body))
                return reply, None if request.stream else await reply.read()
        except TimeoutError:
            service.failed("timeout", ticket)
            limit = f"{service.settings.timeout:g} s"
            raise RefusedError(
                504, f"the upstream gave no answer in {limit}", code="timeout"
            ) from None
        except RefusedError as refusal:
            service.failed("upstream", ticket, refusal.__cause__)
            raise

    async def _pieces(self, reply: UpstreamReply) -> AsyncIterator[bytes]:
        heard = bytearray()
        pieces = reply.stream()
        try:
            while True:
                async with asyncio.timeout(self._ticket.seconds_left):
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
            self._close(RunStatus.FAILED, str(refusal))
            yield frame(refusal.body())
            return
        finally:
            self._ticket.account.count(self._used(bytes(heard)))
        self._ended(bytes(heard))

    def _used(self, data: bytes) -> Usage:
        """The tokens of the upstream's reply; where it tells none, one for every three bytes."""
        told = usage_of(read_completion(data) or {} if not self._events else _last_usage(data))
        if told.input_tokens:
            return told
        asked = len(json.dumps(self._request.body, default=str))
        return Usage(calls=1, input_tokens=asked // 3 + 1, output_tokens=len(data) // 3)

    def _ended(self, data: bytes) -> None:
        """Close the record, or leave that to the scoring once the reply is out."""
        if self._request.unchecked:
            self._close(RunStatus.PASSED_THROUGH, self._request.unchecked)
        else:
            self._open = False
            self._held.callback(self._offer, data)

    def _offer(self, data: bytes) -> None:
        service = self._service
        given_up = partial(self._close, RunStatus.UNFINISHED, STOPPED)
        if not service.background.offer(lambda: self._check(data), given_up):
            service.metrics.dropped.inc()
            self._close(RunStatus.DROPPED, "too many observed answers were waiting to be scored")

    async def _check(self, data: bytes) -> None:
        service, ticket = self._service, self._ticket
        text, reason = _answer_in(data, events=self._events)
        asked = self._request.asked
        reason = reason or service.nothing_to_check_with(asked)
        if reason is not None:
            return self._close(RunStatus.PASSED_THROUGH, reason)
        start, account = asked.start(text), ticket.account
        context = replace(self._line.observing, run_id=ticket.run_id)
        loop = LoopRun(service.graph, start, context, account=account)
        try:
            async with asyncio.timeout(service.settings.timeout):
                failure = await loop.go()
        except TimeoutError:
            service.failed("timeout", ticket)
            late = "the answer was not scored in time"
            run = ticket.ended(loop.known, RunStatus.FAILED, late)
        except asyncio.CancelledError:
            service.finish(ticket, ticket.ended(loop.known, RunStatus.UNFINISHED, STOPPED))
            raise
        else:
            run = ticket.ended(loop.known, RunStatus.OBSERVED)
            if failure is not None:
                service.failed(failure.stage, ticket, failure.error)
                run = ticket.ended(run, RunStatus.FAILED, failure.reason)
        service.finish(ticket, run)
        return None

    def _left(self) -> None:
        """After the response: a client that left before its end left the record open."""
        if self._open:
            self._service.metrics.failure("client_gone")
            self._close(RunStatus.UNFINISHED, STOPPED)

    def _close(self, status: RunStatus, note: str) -> None:
        self._open = False
        question = self._request.asked.question
        never_begun = Run(question=question, asked=question)
        self._service.finish(self._ticket, self._ticket.ended(never_begun, status, note))


def _last_usage(data: bytes) -> Mapping[str, Any]:
    """The last event of a stream that tells of its tokens; empty where none does."""
    for line in reversed(data.splitlines()):
        if line.startswith(b"data:") and b'"usage"' in line:
            with suppress(ValueError, RecursionError):
                event = json.loads(line.removeprefix(b"data:"))
                if isinstance(event, dict) and event.get("usage"):
                    return event
    return {}


def _answer_in(data: bytes, *, events: bool) -> tuple[str, str | None]:
    """The answer in an upstream's reply, or why there is none."""
    if events:
        text = streamed_text(data)
        return (text or "", None if text else "the reply has no text, or calls tools")
    completion = read_completion(data)
    if completion is None:
        return "", "the upstream sent something that is not a chat completion"
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
