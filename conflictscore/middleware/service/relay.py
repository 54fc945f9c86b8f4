"""Forwarding a request and its reply, which is scored afterwards: the mode ``observe``."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from functools import partial

import openai
from fastapi.responses import Response

from conflictscore.middleware.service.answer_stream import Completion
from conflictscore.middleware.service.completions import text_of, why_no_text
from conflictscore.middleware.service.loop_run import LoopRun
from conflictscore.middleware.service.refusals import RefusedError, refusal_of
from conflictscore.middleware.service.requests import ChatRequest
from conflictscore.middleware.service.service import STOPPED, RequestRecord, Service
from conflictscore.middleware.service.upstream import UpstreamReply, read_completion, unreadable
from conflictscore.middleware.service.wire import EventStream, frame
from conflictscore.models.provider_errors import error_in_completion
from conflictscore.records import Run, RunStatus

__all__ = ["Relay"]

_MOST_KEPT = 8 << 20
"""Bytes of a stream that are kept to be scored."""
_DONE = b"[DONE]"
_LAST_ERROR_S = 1.0
"""Seconds after the deadline to send a last error to a client that still reads."""


class Relay:
    """One request whose reply goes out as the upstream sends it; closes the request's record."""

    def __init__(
        self, service: Service, request: ChatRequest, record: RequestRecord, held: AsyncExitStack
    ) -> None:
        self._service, self._request, self._record = service, request, record
        self._held = held
        self._open = True
        self._events = False
        question = request.asked.question
        self._run = Run(question=question, asked=question)

    @property
    def headers(self) -> dict[str, str]:
        """The response headers that name the run."""
        status = RunStatus.PASSED_THROUGH if self._request.unchecked else RunStatus.OBSERVED
        return self._record.headers(status, "no" if self._request.unchecked else None)

    async def completion(self) -> Completion:
        """The upstream's parsed reply to a request that is not streamed."""
        completion = read_completion(bytes((await self.response()).body))
        if completion is None:
            raise unreadable()
        return completion

    async def response(self) -> Response:
        """The upstream's reply."""
        self._held.callback(self._disconnected)
        try:
            reply, data = await self._forward()
        except RefusedError as refusal:
            self._close(RunStatus.FAILED, str(refusal))
            raise
        self._events = "event-stream" in reply.content_type
        headers = {**self.headers, "content-type": reply.content_type}
        if data is None:
            ends = self._record.deadline + _LAST_ERROR_S
            return EventStream(self._chunks(reply), headers, ends)
        self._ended(data)
        return Response(data, headers=headers)

    async def _forward(self) -> tuple[UpstreamReply, bytes | None]:
        """The upstream's reply, and its body unless it is a stream."""
        service, request, record = self._service, self._request, self._record
        try:
            async with asyncio.timeout(record.seconds_left):
                reply = await self._held.enter_async_context(service.upstream.open(request.body))
                return reply, None if request.stream else await reply.read()
        except TimeoutError:
            service.failed("timeout", record)
            limit = f"{service.settings.timeout:g} s"
            raise RefusedError(
                504, f"the upstream timed out after {limit}", code="timeout"
            ) from None
        except RefusedError as refusal:
            service.failed("upstream", record, refusal.__cause__)
            raise

    async def _chunks(self, reply: UpstreamReply) -> AsyncIterator[bytes]:
        kept, chunks = bytearray(), reply.stream()
        try:
            while True:
                async with asyncio.timeout(self._record.seconds_left):
                    chunk = await anext(chunks, None)
                if chunk is None:
                    break
                if len(kept) <= _MOST_KEPT:
                    kept += chunk
                yield chunk
        except (RefusedError, TimeoutError) as error:
            late = RefusedError(504, "the time for this request is up", code="timeout")
            refusal = error if isinstance(error, RefusedError) else late
            self._service.failed("upstream", self._record, error)
            self._close(RunStatus.FAILED, str(refusal))
            yield frame(refusal.body())
            return
        self._ended(bytes(kept))

    def _ended(self, data: bytes) -> None:
        """Close the record, or leave that to the scoring after the response."""
        if error := _error_in(data, events=self._events):
            refusal = refusal_of(error, self._service.upstream.model)
            self._service.failed("upstream", self._record, error)
            self._close(RunStatus.FAILED, str(refusal))
        elif self._request.unchecked:
            self._close(RunStatus.PASSED_THROUGH, self._request.unchecked)
        else:
            self._open = False
            self._held.callback(self._offer, data)

    def _offer(self, data: bytes) -> None:
        service = self._service
        given_up = partial(self._close, RunStatus.UNFINISHED, STOPPED)
        if not service.background.offer(lambda: self._score(data), given_up):
            service.metrics.dropped.inc()
            self._close(RunStatus.DROPPED, "too many observed answers were waiting to be scored")

    async def _score(self, data: bytes) -> None:
        service, record, asked = self._service, self._record, self._request.asked
        text, reason = _answer_in(data, events=self._events)
        reason = reason or service.nothing_to_check_with(asked)
        if reason is not None:
            return self._close(RunStatus.PASSED_THROUGH, reason)
        context = replace(service.context, run_id=record.run_id)
        loop = LoopRun(asked.start(text), context)
        try:
            failure = await loop.go(service.settings.timeout)
        except asyncio.CancelledError:
            service.finish(record, record.ended(loop.known, RunStatus.UNFINISHED, STOPPED))
            raise
        run = record.ended(loop.known, RunStatus.OBSERVED)
        if failure is not None:
            service.failed(failure.stage, record, failure.error)
            run = record.ended(run, RunStatus.FAILED, failure.reason)
        service.finish(record, run)
        return None

    def _disconnected(self) -> None:
        """After the response: the record is still open if the client left before the end."""
        if self._open:
            self._service.metrics.failure("client_gone")
            self._close(RunStatus.UNFINISHED, STOPPED)

    def _close(self, status: RunStatus, note: str) -> None:
        self._open = False
        self._run = self._record.ended(self._run, status, note)
        self._service.finish(self._record, self._run)


def _error_in(data: bytes, *, events: bool) -> openai.APIError | None:
    """The error that an upstream sent with the status 200, in a frame of its stream or alone."""
    found = None
    for line in data.splitlines() if events else [data]:
        value = line.removeprefix(b"data:") if events else line
        if b'"error"' in value:
            with suppress(ValueError, RecursionError):
                found = found or error_in_completion(json.loads(value))
    return found


def _answer_in(data: bytes, *, events: bool) -> tuple[str, str | None]:
    """The answer in an upstream's reply, or why there is none."""
    if events:
        text = _streamed_text(data)
        return (text or "", None if text else "the reply has no text, or calls tools")
    completion = read_completion(data)
    if completion is None:
        return "", "the upstream sent something that is not a chat completion"
    return text_of(completion), why_no_text(completion)


def _streamed_text(data: bytes) -> str | None:
    """The text of a streamed chat completion; None where it calls tools or cannot be parsed."""
    parts: list[str] = []
    for line in data.splitlines():
        if not line.startswith(b"data:"):
            continue
        value = line.removeprefix(b"data:").strip()
        if value == _DONE:
            break
        try:
            deltas = [choice["delta"] for choice in json.loads(value)["choices"]]
            for delta in deltas:
                if delta.get("tool_calls") or delta.get("function_call"):
                    return None
                parts.append(delta.get("content") or "")
        except (ValueError, TypeError, LookupError, AttributeError):
            return None
    return "".join(parts)
