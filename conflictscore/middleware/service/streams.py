"""Server-sent events, with signs of life while there is nothing to say yet."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from time import monotonic
from typing import Any

from fastapi.responses import StreamingResponse
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from conflictscore.middleware.service.answering import Reply
from conflictscore.middleware.service.completions import Chunks
from conflictscore.middleware.service.faults import RefusedError, told
from conflictscore.middleware.service.wire import json_bytes

__all__ = ["ALIVE", "EventStream", "chat_frames", "frame"]

ALIVE = b": working\n\n"
"""A comment, which keeps proxies and sockets awake and reaches no program."""
_DONE = b"data: [DONE]\n\n"
_CHUNK_SECONDS = 50.0
"""Some clients wait so long for a chunk, and count no comments."""


class EventStream(StreamingResponse):
    """The response whose body is a stream of events.

    Args:
        frames: The events.
        headers: What goes before them.
        ends: When it is broken off, on the clock of ``time.monotonic``: a client that stays and
            does not read would otherwise keep all that is held for it. None for never.
    """

    media_type = "text/event-stream"

    def __init__(
        self, frames: AsyncIterator[bytes], headers: Mapping[str, str], ends: float | None = None
    ) -> None:
        unbuffered = {"cache-control": "no-cache", "x-accel-buffering": "no"}
        super().__init__(frames, headers={**unbuffered, **headers})
        self._ends = ends

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            async with asyncio.timeout(None if self._ends is None else self._ends - monotonic()):
                await super().__call__(scope, receive, send)
        except TimeoutError:
            raise ClientDisconnect from None


def frame(data: Mapping[str, Any], event: str | None = None) -> bytes:
    """One event."""
    name = f"event: {event}\n" if event else ""
    return b"%bdata: %b\n\n" % (name.encode(), json_bytes(data))


async def chat_frames(
    work: "asyncio.Task[Reply]",
    standing: "asyncio.Future[Reply]",
    chunks: Chunks,
    *,
    heartbeat: float,
) -> AsyncIterator[bytes]:
    """A chat completion as a stream: the text once it stands, the rest once the work is done.

    Args:
        work: Comes to the reply.
        standing: Comes to it earlier, where its text stands before the work is done.
        chunks: What the stream is made of.
        heartbeat: Seconds between two signs of life.
    """
    said, silent = False, 0.0
    yield frame(chunks.opening())
    while not work.done():
        waiting: set[asyncio.Future[Reply]] = {work} if said else {work, standing}
        done, _ = await asyncio.wait(
            waiting, timeout=heartbeat, return_when=asyncio.FIRST_COMPLETED
        )
        if standing in done:
            for chunk in chunks.message(standing.result().completion):
                yield frame(chunk)
            said, silent = True, 0.0
        elif not done:
            silent += heartbeat
            if silent < _CHUNK_SECONDS:
                yield ALIVE
            else:
                yield frame(chunks.sign_of_life())
                silent = 0.0
    try:
        completion = work.result().completion
    except Exception as error:  # noqa: BLE001 - the headers are out: there is no status to send
        yield frame((error if isinstance(error, RefusedError) else told(error)).body())
        return
    if not said:
        for chunk in chunks.message(completion):
            yield frame(chunk)
    for chunk in chunks.ending(completion):
        yield frame(chunk)
    yield _DONE
