"""Where rows are scored: in this process, or wherever another engine takes them."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Protocol

from conflictscore.nodes.state import RunContext
from conflictscore.scoring_files.result import Result, score_row
from conflictscore.scoring_files.rows import Row
from conflictscore.threads import together

__all__ = ["Ended", "Engine", "LocalEngine"]

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
                await asyncio.sleep(0)  # kept replies alone would never let Ctrl-C in

        async with together() as start:
            for _ in range(self._concurrency):
                start(work)
