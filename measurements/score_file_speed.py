"""How fast files are scored where judging takes no time, in how much memory, and what kills cost.

A judge in the process draws verdicts from digests, so that what is measured is all that is around
it: reading, the steps of scoring, the cache of verdicts, writing. Every file is scored by a process
of its own. With --kills, one is killed by SIGKILL at random moments and started again until it
ends: its output must be that of a run in one go, and no pair may be judged twice but the one that
each kill interrupts.
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
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import click

from conflictscore.scoring_files.engine import Engine, LocalEngine
from conflictscore.scoring_files.ray_engine import RayEngine
from conflictscore.scoring_files.scoring import ascore_file, open_source
from measurements.instant_judge import instant_context

__all__ = ["main"]

_DOCUMENTS = 3
_CONCURRENCY = 4
_KILLED_ROWS = 1000
_POLL_SECONDS = 0.01
_MIB = 1 << 20
_TITLE = (
    f"{'engine':<8} {'rows':>9} {'seconds':>9} {'rows/s':>8} {'peak MiB':>9} {'output MiB':>11}"
)


@click.command(help=__doc__)
@click.option("--rows", multiple=True, type=int, default=[1000], show_default=True)
@click.option(
    "--engine",
    "engines",
    multiple=True,
    type=click.Choice(["local", "ray"]),
    default=["local"],
    show_default=True,
)
@click.option("--workers", default=2, show_default=True, help="Of Ray.")
@click.option("--kills", default=0, show_default=True, help=f"On {_KILLED_ROWS:,} rows.")
@click.option("--seed", default=0, show_default=True, help="Of the moments of the kills.")
def main(
    rows: tuple[int, ...], engines: tuple[str, ...], workers: int, kills: int, seed: int
) -> None:
    """See the module."""
    click.echo(_TITLE)
    for engine in engines:
        for number in rows:
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                _write_input(folder / "in.jsonl", number)
                took = _scored(folder, engine, workers)
                size = (folder / "out.jsonl").stat().st_size / _MIB
                click.echo(
                    f"{engine:<8} {number:>9,} {took.seconds:>9.1f} {number / took.seconds:>8.0f}"
                    f" {took.peak_bytes / _MIB:>9.0f} {size:>11.1f}"
                )
    if kills:
        click.echo(_killed(kills, seed))


class _Took(NamedTuple):
    seconds: float
    peak_bytes: int


def _scored(folder: Path, engine: str, workers: int) -> _Took:
    """What it takes to score a file: wall time of the run, and peak memory of its process."""
    receiver, sender = multiprocessing.get_context("spawn").Pipe(duplex=False)
    process = multiprocessing.get_context("spawn").Process(
        target=_score, args=(folder, engine, workers, sender)
    )
    process.start()
    sender.close()
    try:
        receiver.recv()
        return _Took(*receiver.recv())
    finally:
        process.join()


def _score(folder: Path, engine: str, workers: int, sender: Connection) -> None:
    context = instant_context(folder / "cache.sqlite", folder / "judged")
    chosen: Engine = LocalEngine(context, _CONCURRENCY)
    if engine == "ray":
        opener = partial(instant_context, folder / "cache.sqlite", folder / "judged")
        chosen = RayEngine(opener, concurrency=_CONCURRENCY, workers=workers)
    sender.send("begun")
    begun = time.perf_counter()
    source = open_source(folder / "in.jsonl")
    asyncio.run(ascore_file(source, folder / "out.jsonl", context, chosen))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    sender.send((time.perf_counter() - begun, peak))


def _killed(kills: int, seed: int) -> str:
    """Score a file under kills, and say what is wrong with the result."""
    draw = random.Random(seed)  # noqa: S311 - a draw, not a secret
    forking = multiprocessing.get_context("forkserver")
    forking.set_forkserver_preload([__name__])
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as many:
        whole, killed = Path(one), Path(many)
        for folder in (whole, killed):
            _write_input(folder / "in.jsonl", _KILLED_ROWS)
        _scored(whole, "local", 1)
        # so far apart, in what is judged, that the last ones fall into the last part of the run
        apart = 1.1 * _size(whole / "judged") / kills
        done = 0
        while done < kills:
            receiver, sender = forking.Pipe(duplex=False)
            process = forking.Process(target=_score, args=(killed, "local", 1, sender))
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
        _scored(killed, "local", 1)
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
            documents = [
                {
                    "text": f"Ledger {number} of lighthouse {row}. " + "The keepers wrote. " * 25,
                    "title": f"Ledger {number}",
                }
                for number in range(_DOCUMENTS)
            ]
            answer = f"The lamp of lighthouse {row} was lit in 1871. Its tower {row} is white."
            file.write(json.dumps({"id": row, "answer": answer, "documents": documents}) + "\n")
        file.flush()
        os.fsync(file.fileno())


if __name__ == "__main__":
    main()
