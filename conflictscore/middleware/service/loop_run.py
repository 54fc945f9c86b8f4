"""One run of the loop, with the moment from which its answer is final."""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Literal, NamedTuple, cast

from langchain_core.callbacks import BaseCallbackHandler

from conflictscore.graph.self_correction import SelfCorrectionGraph
from conflictscore.middleware.service.refusals import plain_reason
from conflictscore.nodes.state import RagInput, RunContext, run_of
from conflictscore.records import Run

__all__ = ["Event", "LoopFailure", "LoopRun"]

Event = Mapping[str, Any]
Stage = Literal["search", "answer", "judge", "regeneration"]


class LoopFailure(NamedTuple):
    """What failed on the way to a final answer."""

    stage: Stage
    reason: str
    error: Exception | None = None
    """What ended the loop; None where it went to its end."""


class LoopRun:
    """The loop at work on one question.

    Its answer is final before all is done: once the loop has decided not to look again, and once
    the last answer that it may give is there. What comes after are that answer's scores and the
    reason for a change, and neither changes a word of it.

    Attributes:
        standing: Whether the last answer so far is final.
        stage: What the loop is doing.

    Args:
        graph: The loop.
        start: The question, and what comes with it.
        context: What it works with.
        account: Told of every call that is answered.
        hear: Told of every step.
        stands: Called once the answer is final.
    """

    def __init__(
        self,
        graph: SelfCorrectionGraph,
        start: RagInput,
        context: RunContext,
        *,
        account: BaseCallbackHandler,
        hear: Callable[[Event], None] = lambda event: None,
        stands: "Callable[[LoopRun], None] | None" = None,
    ) -> None:
        self.standing = False
        self.stage: Stage = "search"
        self._graph, self._start, self._context = graph, start, context
        self._account, self._hear, self._stands = account, hear, stands
        self._state: Mapping[str, Any] = start
        self._known: tuple[Mapping[str, Any], Run] | None = None
        self._last = False

    @property
    def known(self) -> Run:
        """What is known of the run by now."""
        if self._known is None or self._known[0] is not self._state:
            self._known = self._state, run_of(self._state)
        return self._known[1]

    async def go(self) -> LoopFailure | None:
        """Run to the end; what failed, or None where the answer was checked."""
        events = cast(
            "AsyncIterator[tuple[str, dict[str, Any]]]",
            self._graph.astream(
                self._start,
                {"callbacks": [self._account]},
                context=self._context,
                stream_mode=["custom", "values"],
            ),
        )
        try:
            async for kind, item in events:
                if kind == "custom":
                    self._heard(item)
                    self._hear(item)
                else:
                    self._state = item
                    if self._last and not self.standing:
                        self.standing = True
                        if self._stands is not None:
                            self._stands(self)
        except Exception as error:  # noqa: BLE001 - a retriever may raise anything
            return LoopFailure(self.stage, plain_reason(error), error)
        return self.failure()

    def _heard(self, event: Event) -> None:
        match event["event"]:
            case "documents":
                self.stage = "answer"
            case "answer":
                self.stage = "judge"
                if event["round"] and event["round"] >= self._context.max_rounds:
                    self._last = True
            case "decision" if event["decision"] == "regenerate":
                self.stage = "regeneration"
            case "decision":
                self._last = event["decision"] != "look_further"

    def failure(self) -> LoopFailure | None:
        """What failed so far without an error that ended the loop."""
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
        least, stands = self._context.min_coverage or 0, run.final_report or report
        if stands is not None and stands.coverage is not None and stands.coverage < least:
            labelled = f"only {stands.coverage:.0%} of its pairs of claim and document have a label"
            return LoopFailure("judge", f"{labelled}, and --min-coverage wants {least:.0%}")
        return None
