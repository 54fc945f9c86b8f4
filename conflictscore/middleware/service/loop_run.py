"""One run of the loop, and the step at which it fails."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Literal, NamedTuple, cast

from conflictscore.graph.binding import running_with
from conflictscore.graph.self_correction import shared_graph
from conflictscore.middleware.entrypoints import PassedOnError
from conflictscore.middleware.service.refusals import plain_reason
from conflictscore.nodes.record import run_of
from conflictscore.nodes.state import RagInput, RunContext
from conflictscore.records import Run

__all__ = ["Event", "LoopFailure", "LoopRun"]

Event = Mapping[str, Any]
Stage = Literal["search", "answer", "judge", "regeneration"]


class LoopFailure(NamedTuple):
    """A failure on the way to a final answer."""

    stage: Stage
    reason: str
    error: Exception | None = None
    """The exception that ended the loop; None where the loop finished."""


class LoopRun:
    """The loop on one question; ``stage`` is the step that it is at."""

    def __init__(
        self,
        start: RagInput,
        context: RunContext,
        *,
        on_event: Callable[[Event], None] = lambda event: None,
    ) -> None:
        self.stage: Stage = "search"
        self._graph, self._start, self._context = shared_graph(), start, context
        self._on_event = on_event
        self._state: Mapping[str, Any] = start
        self._known: tuple[Mapping[str, Any], Run] | None = None

    @property
    def known(self) -> Run:
        """The run so far."""
        if self._known is None or self._known[0] is not self._state:
            self._known = self._state, run_of(self._state)
        return self._known[1]

    async def go(self, seconds: float | None = None) -> LoopFailure | None:
        """Run to the end, and return the failure, if any; raises what the chatbot itself raised."""
        events = cast(
            "AsyncIterator[tuple[str, dict[str, Any]]]",
            self._graph.astream(self._start, stream_mode=["custom", "values"]),
        )
        timer = asyncio.timeout(seconds)
        try:
            with running_with(self._graph, self._context):
                async with timer:
                    async for kind, item in events:
                        if kind == "values":
                            self._state = item
                        else:
                            self._note(item)
                            self._on_event(item)
        except PassedOnError as passing:
            raise passing.error from None
        except Exception as error:  # noqa: BLE001 - a retriever may raise anything
            reason = "the request timed out" if timer.expired() else plain_reason(error)
            return LoopFailure(self.stage, reason, error)
        return self.failure()

    def _note(self, event: Event) -> None:
        match event["event"]:
            case "documents":
                self.stage = "answer"
            case "answer":
                self.stage = "judge"
            case "decision" if event["decision"] == "correct":
                self.stage = "regeneration"

    def failure(self) -> LoopFailure | None:
        """A failure so far that did not end the loop."""
        run = self.known
        report = run.report
        if self.stage == "regeneration" and len(run.attempts) == 1:
            return LoopFailure("regeneration", run.reason or "")
        if report is not None and report.error:
            return LoopFailure("judge", report.error)
        if report is not None and report.claims and report.cs_c is None:
            errors = (pair.error for evidence in report.claims for pair in evidence.labels)
            return LoopFailure(
                "judge", f"no claim could be checked against a document: {next(errors)}"
            )
        least, final = self._context.settings.min_coverage or 0, run.final_report or report
        if final is not None and final.coverage is not None and final.coverage < least:
            labelled = f"only {final.coverage:.0%} of its pairs of claim and document have a label"
            return LoopFailure("judge", f"{labelled}, and --min-coverage wants {least:.0%}")
        return None
