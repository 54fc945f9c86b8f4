"""One run of the loop, with the moment from which its answer stands."""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Literal, cast

from conflictscore.graph.self_correction import SelfCorrectionGraph
from conflictscore.nodes.decide import differs
from conflictscore.nodes.state import RagInput, RagState, RunContext, attempts_of
from conflictscore.records import Usage

__all__ = ["Event", "LoopRun", "Stage"]

Event = Mapping[str, Any]
Stage = Literal["search", "answer", "judge", "regeneration"]


class LoopRun:
    """The loop at work on one question.

    Its answer stands before all is done: once the loop has decided not to look again, and once the
    last answer that it may give is there. What comes after are that answer's scores and the reason
    for a change, and neither changes a word of it.

    Attributes:
        state: What is known so far; plain JSON.
        answer: The last answer so far; None where there is none yet.
        first_answer: The first one.
        standing: Whether ``answer`` stands.
        stage: What the loop is doing, to tell what failed.
    """

    def __init__(
        self,
        graph: SelfCorrectionGraph,
        start: RagInput,
        context: RunContext,
        *,
        hear: Callable[[Event], None] = lambda event: None,
        stands: "Callable[[LoopRun], None] | None" = None,
    ) -> None:
        self.state: dict[str, Any] = {}
        self.answer: str | None = None
        self.first_answer: str | None = None
        self.standing = False
        self.stage: Stage = "search"
        self._graph, self._start, self._context = graph, start, context
        self._hear, self._stands = hear, stands
        self._last = False

    async def go(self) -> dict[str, Any]:
        """Run to the end; the final state."""
        events = cast(
            "AsyncIterator[tuple[str, dict[str, Any]]]",
            self._graph.astream(
                self._start, context=self._context, stream_mode=["custom", "values"]
            ),
        )
        async for kind, item in events:
            if kind == "custom":
                self._heard(item)
                self._hear(item)
            else:
                self.state = item
                if self._last and not self.standing:
                    self.standing = True
                    if self._stands is not None:
                        self._stands(self)
        return self.state

    def _heard(self, event: Event) -> None:
        match event["event"]:
            case "documents":
                self.stage = "answer"
            case "answer":
                self.answer, self.stage = event["answer"], "judge"
                if event["round"] == 0:
                    self.first_answer = self.answer
                elif event["round"] >= self._context.max_rounds:
                    self._last = True
            case "decision" if event["decision"] == "regenerate":
                self.stage = "regeneration"
            case "decision":
                self._last = True

    def trouble(self) -> tuple[Stage, str] | None:
        """What failed on the way to an answer that stands, and why; None where it was checked."""
        state = self.so_far()
        report = state["report"]
        if self.stage == "regeneration" and len(state["attempts"]) == 1:
            return "regeneration", state["reason"]
        if report["error"]:
            return "judge", report["error"]
        if report["claims"] and report["cs_c"] is None:
            errors = (pair["error"] for claim in report["claims"] for pair in claim["labels"])
            return "judge", f"no claim could be held against a document: {next(errors)}"
        return None

    def so_far(self) -> dict[str, Any]:
        """The state as if the answer of this moment were the last one."""
        attempts = attempts_of(cast("RagState", self.state))
        first, answer = self.first_answer, self.answer
        report = attempts[0].report if attempts else None
        return {
            **self.state,
            "question": self.state.get("question", self._start["question"]),
            "asked": self.state.get("asked", self._start["question"]),
            "options": self.state.get("options", []),
            "answer": answer,
            "first_answer": first,
            "flipped": first is not None and answer is not None and differs(first, answer),
            "documents": self.state.get("documents", []) if self.stage != "search" else [],
            "report": report.summary() if report else None,
            "attempts": self.state.get("attempts", []),
            "notes": self.state.get("notes", []),
            "usage": self.state.get("usage", Usage().model_dump()),
            "timings": self.state.get("timings", {}),
        }
