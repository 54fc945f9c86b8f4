"""An answer as server-sent events, with comments while there is no text yet."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator
from typing import Any

from conflictscore.middleware.service.refusals import RefusedError, internal_error
from conflictscore.middleware.service.wire import ALIVE

__all__ = ["AnswerStream", "Completion"]

Completion = dict[str, Any]
"""OpenAI's chat completion; ours has ``conflictscore`` beside its fields."""

_CHUNK_SECONDS = 50.0
"""Some clients time out without an event, and do not count comments."""


class AnswerStream(ABC):
    """Sends a completion once its run has ended, and signs of life before that."""

    def __init__(self, heartbeat: float) -> None:
        self._heartbeat = heartbeat

    async def frames(self, work: "asyncio.Task[Completion]") -> AsyncIterator[bytes]:
        """The events of the completion that the work results in."""
        silent = 0.0
        for event in self._opening():
            yield event
        while not (await asyncio.wait({work}, timeout=self._heartbeat))[0]:
            silent += self._heartbeat
            if silent < _CHUNK_SECONDS:
                yield ALIVE
            else:
                yield self._waiting()
                silent = 0.0
        try:
            completion = work.result()
        except Exception as error:  # noqa: BLE001 - the headers are out: there is no status to send
            yield self._failure(error if isinstance(error, RefusedError) else internal_error(error))
            return
        for event in (*self._message(completion), *self._ending(completion)):
            yield event

    @abstractmethod
    def _opening(self) -> Iterator[bytes]:
        """The first events, sent at once."""

    @abstractmethod
    def _waiting(self) -> bytes:
        """An event without content."""

    @abstractmethod
    def _message(self, completion: Completion) -> Iterator[bytes]:
        """The events of the answer."""

    @abstractmethod
    def _ending(self, completion: Completion) -> Iterator[bytes]:
        """The last events."""

    @abstractmethod
    def _failure(self, refusal: RefusedError) -> bytes:
        """The last event where the request failed."""
