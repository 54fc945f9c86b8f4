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
    sent: list[asyncio.Task[None]] = []
    done = total = pairs = labelled = 0

    def message(event: Event) -> str | None:
        """A step, without any text of a document or an answer; None for most labels."""
        nonlocal documents, total, pairs, labelled
        match event["event"]:
            case "documents":
                documents = len(event["documents"])
                return f"documents: {documents}"
            case "answer":
                return "answered again" if event["round"] else "answered"
            case "claims":
                labelled, pairs = 0, len(event["claims"]) * documents
                total = done + pairs
                return f"claims: {len(event['claims'])}"
            case "label":
                labelled += 1
                often = max(1, pairs // _STEPS)
                return None if labelled % often else f"labels: {labelled} of {pairs}"
            case "decision" if event["decision"] == "correct":
                return "looking again"
            case "look_further":
                return "looking further"
        return None

    def report(event: Event) -> None:
        nonlocal done
        done += 1
        if (told := message(event)) is not None:
            sending = session.report_progress(done, max(done, total), told)
            sent.append(asyncio.create_task(sending))

    yield report
    await asyncio.gather(*sent, return_exceptions=True)
