"""Scoring one row, and an engine that scores a few of them at a time in this process."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypedDict, cast

from langgraph.runtime import Runtime

from conflictscore.errors import (
    BudgetError,
    ConfigurationError,
    ConflictScoreError,
    ContextWindowError,
    InputError,
)
from conflictscore.models.clients import for_purpose
from conflictscore.nodes.decompose import decompose
from conflictscore.nodes.label import label
from conflictscore.nodes.receive import receive
from conflictscore.nodes.record import record
from conflictscore.nodes.score import score
from conflictscore.nodes.state import RagState, RunContext, timed
from conflictscore.records import ConflictReport, Usage
from conflictscore.scoring_files.rows import Row, task_of
from conflictscore.threads import together

__all__ = [
    "Ended",
    "Engine",
    "LocalEngine",
    "Outcome",
    "Result",
    "failed_result",
    "flawed",
    "rows_at_a_time",
    "score_answer",
    "score_row",
    "why_unscored",
]

_LOCAL_ROWS, _WORKER_ROWS, _ROWS = 1, 4, 16


class Outcome(TypedDict):
    """What is added to a row, as plain JSON.

    It depends on the row and the settings alone, and not on how often the run was stopped: so it
    says nothing of calls and caches.
    """

    row: int
    error: str | None
    """Why the row has no scores; None where it has."""
    report: dict[str, Any] | None
    """The scores with every label, as ``conflictscore score --json`` gives them."""
    notes: list[str]


@dataclass(frozen=True, slots=True)
class Result:
    """The result of scoring a row.

    Attributes:
        outcome: What is added to the row.
        usage: What it cost now.
        tried: Whether a model was asked; false where the row itself has a fault.
    """

    outcome: Outcome
    usage: Usage = field(default_factory=Usage)
    tried: bool = True


Ended = Callable[[Row, Result], None]


class Engine(Protocol):
    """Scores rows, in whatever order."""

    async def run(self, rows: Iterator[Row], ended: Ended) -> None:
        """Score all rows.

        Args:
            rows: Taken one by one, and only as many as are in flight: there may be millions.
            ended: To be called once for each row, as soon as its result is there, in the thread
                of the caller.

        Raises:
            ConfigurationError: A setting is wrong, so that no row can be scored.
            BudgetError: The budget is used up.
        """


class LocalEngine:
    """Scores a few rows at a time in this process."""

    def __init__(self, context: RunContext, concurrency: int) -> None:
        """Take what rows are scored with.

        Args:
            context: The collaborators.
            concurrency: Rows at a time, at least 1.
        """
        self._context = context
        self._concurrency = concurrency

    async def run(self, rows: Iterator[Row], ended: Ended) -> None:
        """Score all rows; see :class:`Engine`."""

        async def work() -> None:
            for row in rows:
                ended(row, await score_row(self._context, row))
                await asyncio.sleep(0)  # cached replies alone would never let Ctrl-C in

        async with together() as start:
            for _ in range(self._concurrency):
                start(work)


def rows_at_a_time(context: RunContext, *, worker: bool = False) -> int:
    """How many rows are scored at a time unless the user says: one by a model on this machine.

    As many as there may be calls in flight, so that a labeler in this process always has a row
    whose claims are there; fewer by one worker of many, whose batches are made of them.
    """
    if context.decomposer.is_local:
        return _LOCAL_ROWS
    return _WORKER_ROWS if worker else _ROWS


async def score_row(context: RunContext, row: Row) -> Result:
    """Score a row; a failure of the row stands in its outcome.

    Raises:
        ConfigurationError: A setting is wrong, so that no row can be scored.
        BudgetError: The budget is used up.
    """
    try:
        task = task_of(row)
    except InputError as fault:
        return failed_result(row, str(fault), tried=False)
    documents = cast("list[dict[str, Any]]", task.documents)
    ended = await score_answer(context, {"answer": task.answer, "documents": documents})
    return failed_result(row, ended) if isinstance(ended, str) else _result(row, ended)


async def score_answer(context: RunContext, state: RagState) -> RagState | str:
    """Score an answer: the scoring graph's last state, or why the answer has no scores.

    Args:
        context: The collaborators.
        state: The answer and its documents, as ``ScorerInput`` has them.

    Raises:
        ConfigurationError: A setting is wrong, so that nothing can be scored.
        BudgetError: The budget is used up.
    """
    try:
        return await _scored(context, state)
    except (ConfigurationError, BudgetError) as stop:
        if not isinstance(stop, ContextWindowError):
            raise
        return str(stop)
    except Exception as failure:  # noqa: BLE001 - a plugged-in part may raise anything
        text = " ".join(str(failure).split())
        named = isinstance(failure, ConflictScoreError)
        return text if named else f"{type(failure).__name__}: {text}"


def failed_result(row: Row, reason: str, *, tried: bool = True) -> Result:
    """The result of a row that has no scores."""
    return Result(Outcome(row=row.number, error=reason, report=None, notes=[]), tried=tried)


def flawed(outcome: Mapping[str, Any]) -> bool:
    """Whether a row failed, or has a pair without a verdict."""
    report = outcome["report"]
    return outcome["error"] is not None or (report or {}).get("coverage") not in (None, 1)


async def _scored(context: RunContext, state: RagState) -> RagState:
    """The scoring graph's nodes one after the other.

    Without LangGraph around them, which takes longer than all that they do beside calling models.
    """
    runtime = Runtime(context=context)
    for node in (receive, decompose, label, score, record):
        started = time.perf_counter()
        with for_purpose(step=node.__name__):
            update = await node(state, runtime)
        timings = timed(state, node.__name__, time.perf_counter() - started)
        state = cast("RagState", {**state, **update, "timings": timings})
    return state


def _result(row: Row, state: RagState) -> Result:
    report = state["report"]
    pairs = [pair for claim in report["claims"] for pair in claim["labels"]]
    for pair in pairs:
        del pair["cached"]
    why = why_unscored(ConflictReport.model_validate(state["attempts"][0]["report"]))
    outcome = Outcome(row=row.number, error=why, report=report, notes=state["notes"])
    return Result(outcome, Usage.model_validate(state["usage"]))


def why_unscored(report: ConflictReport) -> str | None:
    """Why an answer has no scores although the run ended; None where it has."""
    if report.error is None and report.coverage == 0:
        pair = report.claims[0].labels[0]
        return f"no claim could be labelled against any document: {pair.error}"
    return report.error
