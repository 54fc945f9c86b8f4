"""Scores one row, or several rows at a time in this process."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict, cast

from conflictscore.errors import (
    BudgetError,
    ConfigurationError,
    ConflictScoreError,
    InputError,
)
from conflictscore.models.clients import for_purpose
from conflictscore.nodes.decompose import decompose
from conflictscore.nodes.label import label
from conflictscore.nodes.receive import receive
from conflictscore.nodes.record import record
from conflictscore.nodes.score import score
from conflictscore.nodes.state import RagState, RunContext, RunRuntime, timed
from conflictscore.records import ConflictReport, Usage
from conflictscore.scoring_files.rows import Row, task_of
from conflictscore.threads import each

__all__ = [
    "OnResult",
    "Outcome",
    "Result",
    "RowScorer",
    "default_concurrency",
    "is_flawed",
    "score_answer",
    "score_row",
    "score_rows",
    "unscored_reason",
]

_LOCAL_ROWS, _ROWS = 1, 16


class Outcome(TypedDict):
    """The field that is added to a row, as plain JSON.

    It leaves out calls and cache hits, so that a run that was stopped and resumed gives the same
    bytes as one that was not.
    """

    row: int
    error: str | None
    """Why the row has no scores; None if it has."""
    report: dict[str, Any] | None
    """The scores with every label, as in ``conflictscore score --json``."""
    notes: list[str]


@dataclass(frozen=True, slots=True)
class Result:
    """The result of scoring a row.

    Attributes:
        outcome: The field that is added to the row.
        usage: Calls and tokens of this session.
        tried: Whether a model was called; false if the row itself is invalid.
    """

    outcome: Outcome
    usage: Usage = field(default_factory=Usage)
    tried: bool = True


OnResult = Callable[[Row, Result], None]
RowScorer = Callable[[Iterator[Row], OnResult], Awaitable[None]]
"""Such as :func:`score_rows` with a context and a concurrency."""


async def score_rows(
    context: RunContext, concurrency: int, rows: Iterator[Row], on_result: OnResult
) -> None:
    """Score rows in any order.

    Args:
        context: Models, labeler and settings.
        concurrency: Rows at a time, at least 1.
        rows: Consumed lazily: there may be millions.
        on_result: Called once a row, as soon as it is scored, in the caller's thread.

    Raises:
        ConfigurationError: A setting is wrong, so no row can be scored.
        BudgetError: The budget is used up.
    """
    if context.cache is not None:  # the loop is this run's own, and a kill must lose nothing
        context.cache.write_at_once()

    async def work(row: Row) -> None:
        on_result(row, await score_row(context, row))
        await asyncio.sleep(0)  # if every reply is cached, nothing else lets Ctrl-C in

    await each(rows, work, concurrency)


def default_concurrency(context: RunContext) -> int:
    """Rows to score at a time unless the user says otherwise: one by a model on this machine.

    As many as there may be calls in flight, so that a labeler in this process never waits for
    claims.
    """
    return _LOCAL_ROWS if context.decomposer.is_local else _ROWS


async def score_row(context: RunContext, row: Row) -> Result:
    """Score a row. If the row fails, its outcome has the error.

    Raises:
        ConfigurationError: A setting is wrong, so no row can be scored.
        BudgetError: The budget is used up.
    """
    try:
        asked = task_of(row)
    except InputError as fault:
        return _failed(row, str(fault), tried=False)
    ended = await score_answer(context, asked)
    return _failed(row, ended) if isinstance(ended, str) else _result(row, ended)


async def score_answer(context: RunContext, state: RagState) -> RagState | str:
    """Score an answer with its documents (``ScorerInput``).

    Returns:
        The scoring graph's final state, or the reason why the answer has no scores.

    Raises:
        ConfigurationError: A setting is wrong, so nothing can be scored.
        BudgetError: The budget is used up.
    """
    runtime = RunRuntime(context)
    try:
        # LangGraph is left out: it takes longer than all that the nodes do beside model calls.
        for node in (receive, decompose, label, score, record):
            started = time.perf_counter()
            with for_purpose(step=node.__name__):
                update = await node(state, runtime)
            timings = timed(state, node.__name__, time.perf_counter() - started)
            state = cast("RagState", {**state, **update, "timings": timings})
    except (ConfigurationError, BudgetError):
        raise
    except Exception as failure:  # noqa: BLE001 - a plugged-in part may raise anything
        text = " ".join(str(failure).split())
        kind = "" if isinstance(failure, ConflictScoreError) else f"{type(failure).__name__}: "
        return kind + text
    return state


def _failed(row: Row, reason: str, *, tried: bool = True) -> Result:
    return Result(Outcome(row=row.number, error=reason, report=None, notes=[]), tried=tried)


def is_flawed(outcome: Mapping[str, Any]) -> bool:
    """Whether a row failed or has an unlabelled pair."""
    report = outcome["report"]
    return outcome["error"] is not None or (report or {}).get("coverage") not in (None, 1)


def _result(row: Row, state: RagState) -> Result:
    report = state["report"]
    pairs = [pair for claim in report["claims"] for pair in claim["labels"]]
    for pair in pairs:
        del pair["cached"]
    error = unscored_reason(ConflictReport.model_validate(state["attempts"][0]["report"]))
    outcome = Outcome(row=row.number, error=error, report=report, notes=state["notes"])
    return Result(outcome, Usage.model_validate(state["usage"]))


def unscored_reason(report: ConflictReport) -> str | None:
    """Why a finished run gave the answer no scores; None if it did."""
    if report.error is None and report.coverage == 0:
        pair = report.claims[0].labels[0]
        return f"no claim could be labelled against any document: {pair.error}"
    return report.error
