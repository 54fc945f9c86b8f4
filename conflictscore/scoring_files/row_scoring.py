"""Scores a row, and defines the engine that scores all rows in this process."""

import asyncio
import json
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Protocol, TypedDict

from conflictscore.errors import InputError
from conflictscore.loop.state import RunContext, attempts_of
from conflictscore.models.callbacks import shared_callbacks
from conflictscore.records import Usage
from conflictscore.retrieval.search_notes import collecting
from conflictscore.scoring_files.columns import Columns
from conflictscore.scoring_files.engine import score_answer, unscored_reason
from conflictscore.scoring_files.input_rows import Row, Source, task_of
from conflictscore.threads import each


class Outcome(TypedDict):
    """The field that is added to a scored row, as plain JSON.

    The field leaves out calls and cache hits, so that a run that was stopped and resumed produces
    the same bytes as an uninterrupted run.
    """

    row: int
    error: str | None
    """Why the row has no scores; None if it has scores, or if its answer states nothing."""
    report: dict[str, Any] | None
    """The scores with every label, as in ``conflictscore score --json``."""
    notes: list[str]


@dataclass(frozen=True, slots=True)
class ScoredRow:
    """A finished row, with its cost."""

    outcome: Outcome
    usage: Usage = field(default_factory=Usage)
    was_tried: bool = True
    """Whether a judge was called; False if the row itself is at fault."""


class RowEngine(Protocol):
    """Scores rows in any order, in this process or in others."""

    async def run(
        self, source: Source, ended_rows: Collection[int], take: Callable[[ScoredRow], None]
    ) -> None:
        """Score all rows that are not in ``ended_rows``; ``take`` receives each row as it finishes.

        Raises:
            InputError: The source cannot be read.
            ConfigurationError: A setting is invalid, so nothing can be scored.
            BudgetError: The budget is used up.
        """


class LocalEngine:
    """Scores rows in this process, ``concurrency`` (at least 1) at a time."""

    def __init__(self, context: RunContext, concurrency: int) -> None:
        self._context = context
        self._concurrency = concurrency

    async def run(
        self, source: Source, ended_rows: Collection[int], take: Callable[[ScoredRow], None]
    ) -> None:
        """Score the rows; see :class:`RowEngine`."""

        async def work(row: Row) -> None:
            take(await score_row(self._context, row, source.columns))
            # without this pause, Ctrl-C would have no effect while all replies come from the cache
            await asyncio.sleep(0)

        rows = (row for row in source.rows() if row.number not in ended_rows)
        with shared_callbacks():
            await each(rows, work, self._concurrency)


async def score_row(context: RunContext, row: Row, columns: Columns) -> ScoredRow:
    """Score the answer of a row; if it cannot be scored, the outcome says why.

    A row with a bad cell is not tried, so it does not count towards the consecutive failures that
    end a run.

    Raises:
        ConfigurationError: A setting is invalid, so nothing can be scored.
        BudgetError: The budget is used up.
    """
    try:
        with collecting() as remarks:
            task = task_of(row, columns)
    except InputError as fault:
        return ScoredRow(failed_outcome(row.number, str(fault)), was_tried=False)
    state = await score_answer(context, task)
    if isinstance(state, str):  # the string is the reason why the run failed
        return ScoredRow(failed_outcome(row.number, state))
    scored = attempts_of(state)[0].report  # a scoring run has one attempt
    if scored is None:
        return ScoredRow(failed_outcome(row.number, "it was not scored"))
    report = state["report"]
    for claim in report["claims"]:
        for pair in claim["labels"]:
            del pair["cached"]  # this field differs in a resumed run, which finds more in the cache
    error = unscored_reason(scored)
    outcome = Outcome(row=row.number, error=error, report=report, notes=[*remarks, *state["notes"]])
    return ScoredRow(outcome, Usage.model_validate(state["usage"]))


def failed_outcome(number: int, reason: str) -> Outcome:
    """Return the outcome of a row that has no scores."""
    return Outcome(row=number, error=reason, report=None, notes=[])


def scoring_settings(context: RunContext) -> dict[str, Any]:
    """Return the models, labeler and settings that affect scores, as plain JSON without secrets.

    A run that was started with other settings is not resumed, since its rows would not be
    comparable. Concurrency is left out, since it affects no score.
    """
    model, labeler, prompts = context.decomposer, context.labeler, context.prompts
    settings = context.settings
    fields = {
        "judge": {
            "name": model.name,
            "endpoint": model.endpoint,
            "parameters": model.parameters and dict(model.parameters),
            "context_window": model.context_window,
        },
        "labeler": {"name": labeler.name, "identity": labeler.identity and dict(labeler.identity)},
        "prompts": {"set": prompts.name, "sha256": prompts.sha256},
        "duplicates": settings.duplicates,
        "trust": settings.trust.described if settings.trust else None,
        "max_claims": settings.max_claims,
        "budget_seconds": settings.budget_seconds,
    }
    # the form in which a file returns the fields: lists in place of tuples, for example
    plain: dict[str, Any] = json.loads(json.dumps(fields))
    return plain
