"""How fast files are scored where judging takes no time, in how much memory, and what kills cost.

A judge in the process draws verdicts from digests, so that what is measured is all that is around
it: reading, the steps of scoring, the cache of verdicts, writing. Otherwise a simulated endpoint
that takes 100 ms a call takes answers apart, and judges them too with --judge json; with --judge
nli the bundled model judges in the process.

Every file is scored by a process of its own, on as many cores as --cores says; medians of --rounds
are shown. With --kills, one is killed by SIGKILL at random moments and started again until it ends:
its output must be that of a run in one go, and no pair may be judged twice but the one that each
kill interrupts.
"""

import asyncio
import json
import multiprocessing
import os
import random
import resource
import tempfile
import time
from collections import Counter
from contextlib import nullcontext
from functools import partial
from itertools import product
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Literal, NamedTuple, get_args

import click

from conflictscore.graph.create import run_context
from conflictscore.models.spec import open_model
from conflictscore.nodes.state import RunContext
from conflictscore.scoring_files.engine import score_rows
from conflictscore.scoring_files.file_run import ascore_file, open_source
from conflictscore.storage.cache import ContentCache
from conflictscore.threads import usable_cores
from measurements.service_load import started
from tests.scoring_files.instant_judge import instant_context

__all__ = ["main"]

_DOCUMENTS = 3
_Judge = Literal["instant", "nli", "json"]
_KILLED_ROWS = 1000
_POLL_SECONDS = 0.01
_MIB = 1 << 20
_TITLE = (
    f"{'judge':<8} {'cores':>5} {'rows':>9} {'seconds':>9}"
    f" {'CPU s':>7} {'rows/s':>8} {'peak MiB':>9} {'output MiB':>11}"
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
@click.option("--cores", multiple=True, type=int, help="Default: all of them.")
@click.option("--at-once", default=4, show_default=True, help="Rows.")
@click.option("--rounds", default=1, show_default=True)
@click.option("--kills", default=0, show_default=True, help=f"On {_KILLED_ROWS:,} rows.")
def main(
    rows: tuple[int, ...],
    judges: tuple[_Judge, ...],
    cores: tuple[int, ...],
    at_once: int,
    rounds: int,
    kills: int,
) -> None:
    """See the module."""
    click.echo(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    click.echo(_TITLE)
    command = ["-m", "measurements.simulated_upstream", "--delay=0.1"]
    with started(command, "stdout") if {*judges} - {"instant"} else nullcontext("") as upstream:
        for number in rows:
            for judge, few in product(judges, cores or (usable_cores(),)):
                _measure(_Way(judge, few, at_once, upstream), number, rounds)
    if kills:
        click.echo(_killed(kills))


class _Took(NamedTuple):
    seconds: float
    cpu_seconds: float
    peak_bytes: int
    output_bytes: int


class _Way(NamedTuple):
    """How a file is scored."""

    judge: _Judge = "instant"
    cores: int = 1 << 10
    at_once: int = 4
    upstream: str = ""

    def context(self, folder: Path) -> RunContext:
        """The judge and its cache, in a folder."""
        cache = folder / "cache.sqlite"
        if self.judge == "instant":
            return instant_context(cache, folder / "judged")
        store = ContentCache(cache)
        model = open_model("simulated", base_url=self.upstream, cache=store)
        return run_context(model, labeler=self.judge, cache=store)


def _measure(way: _Way, rows: int, rounds: int) -> None:
    """Score so many rows, and print the medians."""
    took = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as name:
            _write_input(Path(name) / "in.jsonl", rows)
            took.append(_scored(Path(name), way))
    seconds, cpu, peak, size = map(median, zip(*took, strict=True))
    click.echo(
        f"{way.judge:<8} {way.cores:>5} {rows:>9,} {seconds:>9.1f} {cpu:>7.1f}"
        f" {rows / seconds:>8.0f} {peak / _MIB:>9.0f} {size / _MIB:>11.1f}"
    )


def _scored(folder: Path, way: _Way) -> _Took:
    """Cost of scoring a file: time of the run, and peak memory of its process."""
    receiver, sender = multiprocessing.get_context("spawn").Pipe(duplex=False)
    process = multiprocessing.get_context("spawn").Process(
        target=_score, args=(folder, way, sender)
    )
    process.start()
    sender.close()
    try:
        receiver.recv()
        return _Took(*receiver.recv())
    finally:
        process.join()


def _score(folder: Path, way: _Way, sender: Connection) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: way.cores])
    context = way.context(folder)
    scorer = partial(score_rows, context, way.at_once)
    sender.send("begun")
    begun, worked = time.perf_counter(), time.process_time()
    source = open_source(folder / "in.jsonl")
    asyncio.run(ascore_file(source, folder / "out.jsonl", context, scorer))
    seconds, cpu = time.perf_counter() - begun, time.process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    sender.send((seconds, cpu, peak, (folder / "out.jsonl").stat().st_size))


def _killed(kills: int) -> str:
    """Score a file under kills, and say what is wrong with the result."""
    draw = random.Random(0)  # noqa: S311 - moments of kills, no secret
    forking = multiprocessing.get_context("forkserver")
    forking.set_forkserver_preload([__name__])
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as many:
        whole, killed = Path(one), Path(many)
        for folder in (whole, killed):
            _write_input(folder / "in.jsonl", _KILLED_ROWS)
        _scored(whole, _Way())
        # so far apart, in what is judged, that the last ones fall into the last part of the run
        apart = 1.1 * _size(whole / "judged") / kills
        done = 0
        while done < kills:
            receiver, sender = forking.Pipe(duplex=False)
            process = forking.Process(target=_score, args=(killed, _Way(), sender))
            process.start()
            receiver.recv()
            goal = _size(killed / "judged") + draw.uniform(0, apart)
            while process.is_alive() and _size(killed / "judged") < goal:
                time.sleep(_POLL_SECONDS)
            process.join(draw.uniform(0, _POLL_SECONDS))
            if process.exitcode is not None:
                break
            process.kill()
            process.join()
            done += 1
        rows = _lines_in(killed / "out.jsonl")
        _scored(killed, _Way())
        same = (whole / "out.jsonl").read_bytes() == (killed / "out.jsonl").read_bytes()
        interrupted, twice = _judged_twice(killed / "judged")
    return (
        f"{done} kills, the last with {rows:,} of {_KILLED_ROWS:,} rows written: output"
        f" {'the same' if same else 'NOT THE SAME'}; pairs judged twice: {twice}, and"
        f" {interrupted} that a kill interrupted before its verdict was kept"
    )


def _judged_twice(log: Path) -> tuple[int, int]:
    """Pairs judged more than once: those that were the last of a process, and the others."""
    judged = [line.split() for line in log.read_text("ascii").splitlines()]
    last = dict(judged)
    counts = Counter(pair for _, pair in judged)
    again = {pair for pair, count in counts.items() if count > 1}
    interrupted = again & set(last.values())
    return len(interrupted), len(again - interrupted)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _lines_in(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _write_input(path: Path, rows: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        for row in range(rows):
            texts = [
                f"Ledger {number} of lighthouse {row}. " + "The keepers wrote. " * 25
                for number in range(_DOCUMENTS)
            ]
            documents = [{"text": text, "title": text[:8]} for text in texts]
            answer = f"The lamp of lighthouse {row} was lit in 1871. Its tower {row} is white."
            file.write(json.dumps({"id": row, "answer": answer, "documents": documents}) + "\n")


if __name__ == "__main__":
    main()
