"""Measures how fast files are scored if judging takes no time, and how much memory it takes.

By default, a judge in the same process derives verdicts from digests. The measurement therefore
covers everything except judging: reading, the steps of scoring, the verdict cache, and writing.
With --judge json, a simulated endpoint that takes 100 ms per call splits and judges the answers.
With --judge nli, this endpoint splits the answers, and the bundled model judges them in the
process. Afterwards, the model reads the same pairs of texts again, alone. The last column compares
the two times.

With --engine ray, two workers of a Ray cluster on this machine score the file, and --kill kills one
of them after 20 seconds. CPU time and peak memory are those of the process. For Ray, CPU time and
memory are sums over the process and all processes that it started. Shared memory is divided among
the processes that share it. The first process reads and writes the rows, so its own CPU time limits
how fast a cluster can be.

Each file is scored by a separate process on --cores cores. The table shows medians over --rounds.
``tests/scoring_files/test_kills.py`` tests how much work is lost if a process is killed.
"""

import json
import multiprocessing
import os
import resource
import signal
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from importlib import import_module
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any, Literal, NamedTuple, get_args
from unittest.mock import patch

import click

from conflictscore.cli.common import run_async
from conflictscore.graph.create import run_context
from conflictscore.labelers.nli.model import NliModel, TokenPair
from conflictscore.loop.state import RunContext
from conflictscore.models.spec import open_model
from conflictscore.records import Label
from conflictscore.scoring_files.file_run import ascore_file
from conflictscore.scoring_files.input_rows import Source
from conflictscore.scoring_files.ray_engine import RayEngine
from conflictscore.scoring_files.row_scoring import scoring_settings
from conflictscore.storage.cache import ContentCache
from conflictscore.threads import usable_cores
from measurements.service_load import started
from tests.scoring_files.instant_judge import instant_context

_DOCUMENTS = 3  # documents of each row
_WORKERS = 2
"""Number of Ray workers."""
_KILL_AFTER = 20
"""Seconds after which a Ray worker is killed."""
_Judge = Literal["instant", "nli", "json"]
_MIB = 1 << 20
_TITLE = (
    f"{'engine':<6} {'judge':<8} {'cores':>5} {'rows':>9} {'seconds':>9}"
    f" {'CPU s':>7} {'own':>6} {'rows/s':>8} {'peak MiB':>9} {'output MiB':>11} {'x encoder':>10}"
)


@click.command(help=__doc__)
@click.option("--rows", multiple=True, type=int, default=[1000], show_default=True)
@click.option(
    "--judge",
    "judges",
    multiple=True,
    type=click.Choice(get_args(_Judge)),
    default=["instant"],
    show_default=True,
)
@click.option("--cores", multiple=True, type=int, help="Number of cores. Default: all.")
@click.option("--at-once", default=16, show_default=True, help="Rows that are scored concurrently.")
@click.option("--rounds", default=1, show_default=True)
@click.option(
    "--engine",
    "engines",
    multiple=True,
    type=click.Choice(["local", "ray"]),
    default=["local"],
    show_default=True,
)
@click.option("--kill", is_flag=True, help="Kill a Ray worker after 20 seconds.")
def main(
    rows: tuple[int, ...],
    judges: tuple[_Judge, ...],
    cores: tuple[int, ...],
    at_once: int,
    rounds: int,
    engines: tuple[str, ...],
    kill: bool,
) -> None:
    """See the module."""
    click.echo(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    click.echo(_TITLE)
    command = ["-m", "measurements.simulated_upstream", "--delay=0.1"]
    with started(command, "stdout") if {*judges} - {"instant"} else nullcontext("") as upstream:
        for number in rows:
            for judge, few, engine in product(judges, cores or (usable_cores(),), engines):
                _measure(_Way(judge, few, at_once, upstream, engine, kill), number, rounds)


class _Way(NamedTuple):
    """A way to score a file: the judge, the number of cores, and so on."""

    judge: _Judge
    cores: int
    at_once: int
    upstream: str
    engine: str = "local"
    kill: bool = False

    def context(self, folder: Path) -> RunContext:
        """Return the run's context for this way, with a cache in the folder."""
        cache = folder / "cache.sqlite"
        if self.judge == "instant":
            return instant_context(cache)
        store = ContentCache(cache)
        model = open_model("simulated", base_url=self.upstream, cache=store)
        return run_context(model, labeler=self.judge, cache=store)


def _measure(way: _Way, rows: int, rounds: int) -> None:
    """Score this many rows in each round, and print the medians."""
    took = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as name:
            write_input(Path(name) / "in.jsonl", rows)
            took.append(_scored(Path(name), way))
    seconds, cpu, own, peak, size, encoder = map(median, zip(*took, strict=True))
    ratio = f"{seconds / encoder:.2f}" if encoder else ""
    click.echo(
        f"{way.engine:<6} {way.judge:<8} {way.cores:>5} {rows:>9,} {seconds:>9.1f} {cpu:>7.1f}"
        f" {own:>6.1f}"
        f" {rows / seconds:>8.0f} {peak / _MIB:>9.0f} {size / _MIB:>11.1f}"
        f" {ratio:>10}"
    )


_Took = tuple[float, float, float, int, int, float]
"""Seconds, CPU seconds (all processes, first process), peak bytes, output bytes, and the seconds
that the encoder alone needs (0 if no encoder is used in this process)."""


def _scored(folder: Path, way: _Way) -> _Took:
    spawn = multiprocessing.get_context("spawn")
    with spawn.Pool(1) as pool:
        return pool.apply(_score, (folder, way))


def _score(folder: Path, way: _Way) -> _Took:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: way.cores])
    context = way.context(folder)
    begun, worked = time.perf_counter(), time.process_time()
    source = Source(folder / "in.jsonl")
    engine = _on_ray(folder, way, context) if way.engine == "ray" else None
    watched = _WatchedProcesses(way.kill) if engine else None
    encoded = _EncodedPairs()
    # run_async exempts loaded modules from garbage collection, as in the command
    with encoded.recorded():
        run_async(ascore_file(source, folder / "out.jsonl", context, way.at_once, engine=engine))
    seconds, own = time.perf_counter() - begun, time.process_time() - worked
    cpu = own + (watched.worked if watched else 0)
    peak = watched.most if watched else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return seconds, cpu, own, peak, (folder / "out.jsonl").stat().st_size, encoded.seconds()


class _EncodedPairs:
    """The token pairs that the encoder reads in this process while a file is scored."""

    def __init__(self) -> None:
        self._pairs: list[tuple[NliModel, Sequence[TokenPair]]] = []

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Record the pairs of every call of an encoder."""
        logits = NliModel.logits

        def recording(model: NliModel, pairs: Sequence[TokenPair]) -> list[dict[Label, float]]:
            self._pairs.append((model, pairs))
            return logits(model, pairs)

        with patch.object(NliModel, "logits", recording):
            yield

    def seconds(self) -> float:
        """Return the seconds in which the encoder reads the same pairs again, and does no more."""
        begun = time.perf_counter()
        pairs_by_model: dict[NliModel, list[TokenPair]] = {}
        for model, pairs in self._pairs:
            pairs_by_model.setdefault(model, []).extend(pairs)
        for model, all_pairs in pairs_by_model.items():
            model.logits(all_pairs)
        return time.perf_counter() - begun if self._pairs else 0.0


def opened(folder: Path, *settings: Any) -> RunContext:
    """Return the run's context for these settings; Ray workers call this function."""
    return _Way(*settings).context(folder)


def _on_ray(folder: Path, way: _Way, context: RunContext) -> RayEngine:
    # a worker cannot import names from __main__
    module = import_module("measurements.score_file_speed")
    return RayEngine(
        partial(module.opened, folder, *way),
        scoring_settings(context),
        concurrency=way.at_once,
        workers=_WORKERS,
    )


class _WatchedProcesses:
    """Watches this process and its descendants, and kills a worker if requested.

    Attributes:
        most: The peak memory of all these processes together so far, in bytes.
    """

    def __init__(self, kill: bool) -> None:
        self.most, self._kill = 0, kill
        self._worked: dict[int, float] = {}
        threading.Thread(target=self._watch, daemon=True).start()

    @property
    def worked(self) -> float:
        """CPU seconds of the descendants, updated every second."""
        return sum(self._worked.values())

    def _watch(self) -> None:
        begun: float | None = None
        while True:
            below = _below(os.getpid())
            self._worked |= {pid: seconds for pid in below if (seconds := _cpu_seconds(pid))}
            self.most = max(self.most, sum(map(_share_of_memory, [os.getpid(), *below])))
            workers = [pid for pid in below if _is_worker(pid)]
            if begun is None and len(workers) == _WORKERS:
                begun = time.monotonic()
            if self._kill and begun is not None and time.monotonic() - begun > _KILL_AFTER:
                os.kill(workers[0], signal.SIGKILL)
                click.echo("a worker was killed", err=True)
                self._kill = False
            time.sleep(1)


def _below(parent: int) -> list[int]:
    """Return the ids of all descendants of a process."""
    pids: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{parent}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                pids += [child, *_below(child)]
    return pids


def _share_of_memory(pid: int) -> int:
    """Return the bytes of a process, including its portion of shared memory."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def _cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of a process; 0 if it has ended."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0


def _is_worker(pid: int) -> bool:
    with suppress(OSError):
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        return command.startswith(b"ray::MapWorker") and b"__init__" not in command
    return False


def write_input(path: Path, rows: int, first: int = 0) -> None:
    """Write answers of two sentences, each with three documents of 500 characters.

    The rows are numbered from ``first``. The texts of a row contain its number, so all rows differ.
    """
    with path.open("w", encoding="utf-8") as file:
        for row in range(first, first + rows):
            texts = [
                f"Ledger {number} of lighthouse {row}. " + "The keepers wrote. " * 25
                for number in range(_DOCUMENTS)
            ]
            documents = [{"text": text, "title": text[:8]} for text in texts]
            answer = f"The lamp of lighthouse {row} was lit in 1871. Its tower {row} is white."
            file.write(json.dumps({"id": row, "answer": answer, "documents": documents}) + "\n")


if __name__ == "__main__":
    main()
