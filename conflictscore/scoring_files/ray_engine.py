"""Scores rows on the workers of a Ray cluster, with Ray Data. Needs the extra ``[ray]``.

A single Ray Data task reads the input on the caller's machine, with the same reader as a local run.
Ray's own readers would change rows, since they add missing fields and fix a type for each column.
Actors hold the models and the labeler, and score blocks of rows. Ray restarts a dead actor and
assigns its block to it again. Results stream back to the caller, whose journal makes a run
resumable.

Limits without a stated reason were chosen by hand.
"""

import asyncio
import json
import logging
import os
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from functools import partial
from itertools import islice
from typing import Any, Final

from conflictscore.errors import ConfigurationError, ConflictScoreError, install_hint
from conflictscore.loop.state import RunContext
from conflictscore.models.callbacks import shared_callbacks
from conflictscore.records import Usage
from conflictscore.scoring_files.columns import Columns
from conflictscore.scoring_files.input_rows import Row, Source
from conflictscore.scoring_files.row_scoring import (
    Outcome,
    ScoredRow,
    failed_outcome,
    score_row,
    scoring_settings,
)
from conflictscore.storage.manifests import differences
from conflictscore.threads import each, in_thread

ROWS_AT_ONCE: Final = 4
"""Default number of rows scored at a time on each worker. The number is smaller than without Ray
(16), since all workers call the same endpoint.
"""
_BLOCKS_A_WORKER: Final = 8
"""Minimum number of blocks per worker.

If each worker has several blocks, all workers finish at about the same time.
"""
_SMALLEST_BLOCK: Final = 1 << 12  # bytes; for smaller blocks, Ray's overhead would exceed the work
_LARGEST_BLOCK: Final = 1 << 18
"""Maximum size of a block, in bytes. If a worker dies, the rows of its block are scored again."""
_RETRIES: Final = 1
"""Number of times that a block is given to another worker after its worker died.

One row may have killed the worker, so more attempts with the whole block would kill more workers;
:meth:`RayEngine.run` then sends its rows one by one.
"""

_Table = Any
"""A ``pyarrow.Table`` with a JSON text in each row, in the column ``json``."""


class RayEngine:
    """Scores rows on the workers of a Ray cluster.

    The engine joins the cluster at ``RAY_ADDRESS``, or starts a cluster on this machine for the
    duration of the run. Each worker opens its own models, with the keys in the environment of its
    machine, and has its own limit on calls in flight. Verdicts are cached on the machine of the
    worker that produced them.
    """

    def __init__(
        self,
        open_context: Callable[[], RunContext],
        settings: Mapping[str, Any],
        *,
        concurrency: int = ROWS_AT_ONCE,
        workers: int | None = None,
    ) -> None:
        """Check that Ray is installed; nothing is started yet.

        Args:
            open_context: Opens the models and the labeler. This function is pickled, and each
                worker calls it once.
            settings: The :func:`~.row_scoring.scoring_settings` of the run. A worker with other
                settings ends the run.
            concurrency: Number of rows scored at a time on each worker, at least 1.
            workers: Number of workers; None for one per processor of the cluster.

        Raises:
            ConfigurationError: Ray is not installed.
        """
        _ray()
        self._open_context = open_context
        self._settings = settings
        self._concurrency = concurrency
        self._workers = workers

    async def run(
        self, source: Source, ended_rows: Collection[int], take: Callable[[ScoredRow], None]
    ) -> None:
        """Score the rows; see :class:`~.row_scoring.RowEngine`.

        If the workers that scored a block died, the rows of the block are scored again, each in a
        block of its own. Single rows are sent again until no more of them get scores. So a row
        fails only if the workers also die when they score this row alone.
        """
        rows_so_far = {*ended_rows}

        async def score_missing(block_bytes: int | None) -> None:
            blocks = self._blocks(source, rows_so_far, block_bytes)
            while (texts := await in_thread(lambda: next(blocks, None))) is not None:
                for text in texts:
                    fields = json.loads(text)
                    if "stop" in fields:
                        raise ConfigurationError(f"on a Ray worker: {fields['stop']}")
                    rows_so_far.add(fields["outcome"]["row"])
                    take(_scored_row(fields))

        with redirect_stdout(sys.stderr), _cluster(self._workers):  # Ray prints reports on stdout
            share = source.path.stat().st_size // (_BLOCKS_A_WORKER * self._worker_count())
            await score_missing(max(_SMALLEST_BLOCK, min(share, _LARGEST_BLOCK)))
            count_before = -1  # so that single rows are tried at least once
            while count_before < len(rows_so_far) < source.total:
                count_before = len(rows_so_far)
                await score_missing(None)
        for row in source.rows():
            if row.number not in rows_so_far:
                reason = "no worker returned its scores: each died, or failed for an unknown reason"
                take(ScoredRow(failed_outcome(row.number, reason)))

    def _worker_count(self) -> int:
        return self._workers or max(1, int(_ray().cluster_resources().get("CPU", 1)))

    def _blocks(
        self, source: Source, ended_rows: Collection[int], block_bytes: int | None
    ) -> Iterator[list[str]]:
        """Yield the results of unfinished rows, one list per block, as workers finish them.

        If ``block_bytes`` is None, each row is a block, and a worker is given the next row only
        when it has finished the last one. So if a row kills its worker, no other row is affected.
        """
        ray = _ray()
        # a copy, since other code in this process may use Ray with its own settings
        context = ray.data.DataContext.get_current().copy()
        context.enable_progress_bars = False
        context.print_on_execution_start = False
        context.target_max_block_size = block_bytes or 1  # one byte: each row becomes a block
        context.max_errored_blocks = -1  # the rows of such blocks are scored again
        with ray.data.DataContext.current(context):
            dataset = ray.data.read_datasource(
                # rows per table: several, unless each row must be a block of its own
                _row_source(source, frozenset(ended_rows), 16 if block_bytes else 1),
                override_num_blocks=1,
                num_cpus=0,  # the reader only waits for the workers
                label_selector={"ray.io/node-id": ray.get_runtime_context().get_node_id()},
            ).map_batches(
                BlockScorer,
                fn_constructor_args=(
                    self._open_context,
                    self._settings,
                    source.columns,
                    self._concurrency,
                ),
                batch_size=None,
                batch_format="pyarrow",
                compute=ray.data.ActorPoolStrategy(
                    size=self._worker_count(),
                    max_tasks_in_flight_per_actor=None if block_bytes else 1,
                ),
                num_cpus=1,
                max_task_retries=_RETRIES,
            )
            try:
                for block in dataset.iter_batches(batch_size=None, batch_format="pyarrow"):
                    yield block["json"].to_pylist()
            except ray.exceptions.RayError as error:
                raise ConfigurationError(
                    f"Ray cannot score ({_last_line(error)}); each machine of the cluster needs"
                    " conflictscore of this version, with the same extras"
                ) from None


class BlockScorer:
    """An actor that opens models and labeler once, and scores one block after another."""

    def __init__(
        self,
        open_context: Callable[[], RunContext],
        settings: Mapping[str, Any],
        columns: Columns,
        concurrency: int,
    ) -> None:
        """Open the models; any error is returned with each block, so the caller can end the run."""
        self._columns, self._concurrency = columns, concurrency
        self._loop = asyncio.Runner()
        self._stop: str | None = None
        try:
            self._context = open_context()
            if changes := differences(settings, scoring_settings(self._context)):
                self._stop = f"its settings differ: {'; '.join(changes)}"
        # This machine may lack a package or a key. Any other error is a bug and ends the actor; the
        # run then ends with the last line of that error.
        except (ConflictScoreError, ImportError) as error:
            self._stop = str(error)
        else:
            if self._context.cache is not None:  # a kill must lose no verdict
                self._context.cache.write_at_once()

    def __call__(self, block: _Table) -> _Table:
        """Score the rows of a block; both tables hold JSON texts."""
        rows = [json.loads(text) for text in block["json"].to_pylist()]
        if stop := self._stop or next((row["stop"] for row in rows if "stop" in row), None):
            return _table([{"stop": stop}])
        row_fields: list[dict[str, Any]] = []

        async def work(row: Mapping[str, Any]) -> None:
            scored_row = await score_row(self._context, Row(**row), self._columns)
            row_fields.append(
                {
                    "outcome": scored_row.outcome,
                    "usage": scored_row.usage.to_json(),
                    "was_tried": scored_row.was_tried,
                }
            )

        async def work_on_all() -> None:
            with shared_callbacks():
                await each(rows, work, self._concurrency)

        try:
            self._loop.run(work_on_all())
        except ConflictScoreError as error:  # not every exception survives pickling
            row_fields.append({"stop": str(error)})
        return _table(row_fields)


def _scored_row(fields: Mapping[str, Any]) -> ScoredRow:
    outcome: Outcome = fields["outcome"]
    usage = Usage.model_validate(fields["usage"])
    return ScoredRow(outcome, usage, was_tried=fields["was_tried"])


def _table(json_rows: list[dict[str, Any]]) -> _Table:
    import pyarrow

    return pyarrow.table({"json": [json.dumps(fields) for fields in json_rows]})


def _row_source(source: Source, ended_rows: frozenset[int], rows_a_table: int) -> Any:
    """Return a Ray Data source that yields the unfinished rows from a single task."""
    from ray.data import Datasource, ReadTask
    from ray.data.block import BlockMetadata

    class Rows(Datasource):  # type: ignore[misc] # mypy sees Ray's class as Any
        """The rows of one input."""

        def estimate_inmemory_data_size(self) -> int:
            return source.path.stat().st_size

        def get_read_tasks(self, *_: object, **__: object) -> list[Any]:
            count = source.total - len(ended_rows)
            metadata = BlockMetadata(count, self.estimate_inmemory_data_size(), None, None)
            return [ReadTask(partial(_row_tables, source, ended_rows, rows_a_table), metadata)]

    return Rows()


def _row_tables(source: Source, ended_rows: frozenset[int], rows_a_table: int) -> Iterator[_Table]:
    """Yield tables of a few rows each, which Ray splits or joins into blocks."""
    rows = (row for row in source.rows() if row.number not in ended_rows)
    try:
        while few := list(islice(rows, rows_a_table)):
            yield _table(
                [
                    {"number": row.number, "fields": dict(row.fields), "fault": row.fault}
                    for row in few
                ]
            )
    except ConflictScoreError as error:  # Ray would treat it as the death of a worker
        yield _table([{"stop": str(error)}])


@contextmanager
def _cluster(workers: int | None) -> Iterator[None]:
    """Connect to the caller's cluster, to ``RAY_ADDRESS``, or to a new cluster on this machine."""
    ray = _ray()
    if ray.is_initialized():
        yield
        return
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if os.environ.get("RAY_ADDRESS"):
            ray.init(**quiet)
        else:
            # a scoring run should send no statistics to Ray's makers, unless the user wants that
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            ray.init("local", num_cpus=workers, include_dashboard=False, **quiet)
    except Exception as error:  # noqa: BLE001 - Ray raises bare exceptions if nothing starts
        raise ConfigurationError(
            f"Ray cannot be used here ({_last_line(error)}); check RAY_ADDRESS, or use --engine"
            " local"
        ) from None
    try:
        yield
    finally:
        ray.shutdown()


def _ray() -> Any:
    try:
        import ray
        import ray.data
        import ray.exceptions
    except ImportError:
        raise ConfigurationError(
            f"--engine ray needs Ray: {install_hint('ray')}, or use --engine local"
        ) from None
    # failures are in the output, and a warning about few blocks for many workers is not an error
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", module=r"ray\.data")
    # Ray 2.64 deprecates max_task_retries, which limits the attempts at a row that kills its worker
    warnings.filterwarnings("ignore", message="`ray_remote_args` is deprecated")
    return ray


def _last_line(error: object) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1].strip() if lines else type(error).__name__
