"""Scores rows on a Ray cluster. Needs the extra ``[ray]``.

Rows go out in batches as Ray tasks, which Ray starts on free processors and restarts if a worker or
its machine dies. Results come back to the one process that writes.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Any
from uuid import uuid4

from conflictscore.errors import ConfigurationError, ConflictScoreError, InputError, install_hint
from conflictscore.nodes.state import RunContext
from conflictscore.scoring_files.engine import LocalEngine, OnResult, Result, failed_result
from conflictscore.scoring_files.rows import ADDED, Row
from conflictscore.threads import together

__all__ = ["RayEngine", "score_batch"]

_QUEUED = 2
"""Batches a worker: one is running, and the next is ready when it ends."""
_ROUNDS = 4
"""Rows in a batch for each one scored at a time. More would mean longer waits for the slowest row
and more rows to score again when a worker dies."""
_RETRIES = 1
"""If a worker dies, each row of its batch is scored alone, with so many retries."""

_opened: dict[str, RunContext] = {}
"""In a worker: the context of the current run, by the run's name."""


class RayEngine:
    """Scores batches of rows on the workers of a Ray cluster.

    Joins the cluster at ``RAY_ADDRESS``, or starts one on this machine for the duration of the run.
    Each worker opens its own models, with the keys in its own machine's environment, and has its
    own limit on calls in flight. Verdicts are cached on the machine where they were judged.
    """

    def __init__(
        self, open_context: Callable[[], RunContext], *, concurrency: int, workers: int | None
    ) -> None:
        """Check that Ray is installed; nothing is started yet.

        Args:
            open_context: Opens models and labeler; it is pickled, and called once in each worker.
            concurrency: Rows at a time on each worker, at least 1.
            workers: Number of workers; None for one per processor of the cluster.

        Raises:
            ConfigurationError: Ray is not installed.
        """
        self._ray = _ray()
        self._open_context = open_context
        self._concurrency = concurrency
        self._workers = workers

    async def run(self, rows: Iterator[Row], on_result: OnResult) -> None:
        """Score all rows; see :class:`~.engine.Engine`."""
        with redirect_stdout(sys.stderr):  # Ray reports dead workers on stdout
            await self._run(rows, on_result)

    async def _run(self, rows: Iterator[Row], on_result: OnResult) -> None:
        ray, own = self._ray, not self._ray.is_initialized()
        if own:
            _connect(ray, self._workers)
        try:
            workers = self._workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
            opener, name = ray.put(self._open_context), uuid4().hex
            batches = ray.remote(num_cpus=1, max_retries=0)(score_batch)
            alone = ray.remote(num_cpus=1, max_retries=_RETRIES)(score_batch)

            def start(batch: list[Row]) -> Any:
                sent = [_scored_fields(row) for row in batch]
                task = alone if len(batch) == 1 else batches
                return task.remote(name, opener, sent, self._concurrency)

            async def feed() -> None:
                while batch := list(islice(rows, self._concurrency * _ROUNDS)):
                    results = await self._scored(start, batch)
                    for row, result in zip(batch, results, strict=True):
                        on_result(row, result)

            async with together() as start_feed:
                for _ in range(workers * _QUEUED):
                    start_feed(feed)
        finally:
            if own:
                ray.shutdown()

    async def _scored(self, start: Callable[[list[Row]], Any], batch: list[Row]) -> list[Result]:
        errors = self._ray.exceptions
        try:
            results: list[Result] | str = await start(batch)
        except errors.RayTaskError as error:
            raise ConfigurationError(
                f"a Ray worker cannot score: {_first_line(error.cause)}; each machine of the"
                " cluster needs conflictscore of this version, with the same extras"
            ) from None
        except errors.RayError as error:
            if len(batch) > 1:  # one of the rows may be what kills it, and the others need not fail
                return [(await self._scored(start, [row]))[0] for row in batch]
            return [failed_result(batch[0], f"the worker died each time: {_first_line(error)}")]
        if isinstance(results, str):
            raise ConfigurationError(f"on a Ray worker: {results}")
        return results


def score_batch(
    run: str, open_context: Callable[[], RunContext], batch: list[Row], concurrency: int
) -> list[Result] | str:
    """Score rows in a worker, with models that stay open between batches.

    Args:
        run: Name of the run.
        open_context: Opens models and labeler; called for the first batch of a run.
        batch: The rows.
        concurrency: Rows at a time.

    Returns:
        One result a row, in order; or the reason why no row can be scored, as a string, since not
        every exception survives pickling.
    """
    results: dict[int, Result] = {}
    try:
        if run not in _opened:
            _opened.clear()
            _opened[run] = open_context()
        engine = LocalEngine(_opened[run], concurrency)
        _loop().run_until_complete(
            engine.run(iter(batch), lambda row, result: results.update({row.number: result}))
        )
    except ConflictScoreError as stop:
        return str(stop)
    return [results[row.number] for row in batch]


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """The event loop that the models' clients belong to."""
    return asyncio.new_event_loop()


def _scored_fields(row: Row) -> Row:
    """The row without the fields that are only carried through and need not travel."""
    try:
        names = row.columns.of([name for name, value in row.fields.items() if value is not None])
    except InputError:
        return row  # the worker refuses it with the same error
    seen = {name: row.fields[name] for name in (*names, ADDED) if name in row.fields}
    return replace(row, fields=seen)


def _connect(ray: Any, workers: int | None) -> None:
    """Join the cluster at ``RAY_ADDRESS``, or start one here without usage statistics."""
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        if os.environ.get("RAY_ADDRESS"):
            ray.init(**quiet)
        else:
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            ray.init("local", num_cpus=workers, include_dashboard=False, **quiet)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ConfigurationError(
            f"Ray cannot be used here ({_first_line(error)}); look at RAY_ADDRESS, or use --engine"
            " local"
        ) from None


def _ray() -> Any:
    try:
        import ray
        import ray.exceptions
    except ImportError:
        raise ConfigurationError(
            f"--engine ray needs Ray: {install_hint('ray')}, or use --engine local"
        ) from None
    return ray


def _first_line(error: object) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
