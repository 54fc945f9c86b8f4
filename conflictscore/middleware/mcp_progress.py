"""Progress of a run, reported to a client of the Model Context Protocol."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from mcp.server.session import ServerSession

from conflictscore.middleware.service.loop_run import Event

__all__ = ["reported_progress"]

_STEPS = 50
"""Most notifications about the labels of an answer."""


@asynccontextmanager
async def reported_progress(
    session: ServerSession, documents: int
) -> AsyncIterator[Callable[[Event], None]]:
    """Report the progress of a run to a client that asked for it, in the order of its steps."""
    steps = _Steps(documents)
    sent: list[asyncio.Task[None]] = []

    def report(event: Event) -> None:
        if (message := steps.message(event)) is not None:
            sending = session.report_progress(steps.done, max(steps.done, steps.total), message)
            sent.append(asyncio.create_task(sending))

    yield report
    await asyncio.gather(*sent, return_exceptions=True)


class _Steps:
    """Progress of a run, by its events.

    Args:
        documents: How many there are, where that is known before it begins.
    """

    def __init__(self, documents: int) -> None:
        self.done = self.total = 0
        self._documents, self._pairs, self._labelled = documents, 0, 0

    def message(self, event: Event) -> str | None:
        """Progress message about a step, if any; it holds no text of a document or an answer."""
        self.done += 1
        match event["event"]:
            case "documents":
                self._documents = len(event["documents"])
                return f"documents: {self._documents}"
            case "answer":
                return "answered again" if event["round"] else "answered"
            case "claims":
                self._labelled, self._pairs = 0, len(event["claims"]) * self._documents
                self.total = self.done + self._pairs
                return f"claims: {len(event['claims'])}"
            case "label":
                self._labelled += 1
                often = max(1, self._pairs // _STEPS)
                return (
                    None if self._labelled % often else f"labels: {self._labelled} of {self._pairs}"
                )
            case "decision" if event["decision"] == "correct":
                return "looking again"
            case "look_further":
                return "looking further"
        return None
