"""What the service adds to a call of its upstream: time and CPU by mode, and memory over time.

A simulated upstream in a process of its own takes 200 ms a call. The service, in another process,
searches ten documents and finds six claims in each answer, one of them with evidence on both sides.
Its critical path is the search and as many calls as the mode needs one after the other: one to
observe, three to annotate (generate, decompose, one label), four to correct (and regenerate).
"""

import asyncio
import os
import statistics
import tempfile
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import click
import httpx2
import numpy as np

from measurements.service_load import (
    all_finished,
    connected,
    metric,
    send,
    started,
)

__all__ = ["main"]

_ROW = "{:<24} {:>7} {:>7} {:>7} {:>6} {:>7} {:>6} {:>12} {:>12} {:>8}"
_COLUMNS = (
    "",
    "clients",
    "p50 s",
    "p95 s",
    "x path",
    "added s",
    "req/s",
    "CPU ms, each",
    "first byte",
    "unscored",
)
_MIB = 1 << 20
_WARM_UP = 3
_EARLY, _SOAK_CLIENTS = 1000, 8


class _Case(NamedTuple):
    name: str
    options: tuple[str, ...]
    calls: int
    """Calls on the critical path."""
    stream: bool = False


_CASES = (
    _Case("observe", ("--mode=observe",), 1),
    _Case("annotate", ("--mode=annotate",), 3),
    _Case("correct", ("--mode=correct",), 4),
    _Case("correct --answer-early", ("--mode=correct", "--answer-early"), 4),
    _Case("correct, streamed", ("--mode=correct",), 4, stream=True),
)


@click.command(help=__doc__)
@click.option("--delay", default=0.2, show_default=True, help="Seconds of an upstream call.")
@click.option("--documents", default=10, show_default=True)
@click.option("--claims", default=6, show_default=True)
@click.option("--clients", "levels", multiple=True, type=int, default=(1, 8, 32), show_default=True)
@click.option("--rounds", default=4, show_default=True, help="Requests of each client.")
@click.option("--max-calls", default=64, show_default=True, help="The service's own option.")
@click.option("--soak", type=int, metavar="N", help="Send N requests without delay instead.")
def main(
    delay: float,
    documents: int,
    claims: int,
    levels: tuple[int, ...],
    rounds: int,
    max_calls: int,
    soak: int | None,
) -> None:
    """See the module."""
    delay = 0.0 if soak else delay
    simulated = ["-m", "measurements.simulated_upstream"]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        _write_documents(Path(folder), documents)
        upstream = stack.enter_context(
            started([*simulated, f"--claims={claims}", f"--delay={delay}"], "stdout")
        )
        serve = ["-m", "conflictscore", "serve", "--port=0", f"--docs={folder}", "--no-cache"]
        serve += [f"--base-url={upstream}", "--model=simulated", f"--max-calls={max_calls}"]
        click.echo(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        if soak:
            for case in _CASES[:3]:
                with started([*serve, *case.options], "stderr") as service:
                    asyncio.run(_soak(case, service, soak))
            return
        click.echo(_ROW.format(*_COLUMNS))
        direct = upstream.removesuffix("/v1")
        alone = {
            clients: asyncio.run(_measure(_Case("direct", (), 1), direct, clients, rounds, delay))
            for clients in levels
        }
        for case in _CASES:
            with started([*serve, *case.options], "stderr") as service:
                for clients in levels:
                    asyncio.run(
                        _measure(case, service, clients, rounds, delay, alone=alone[clients])
                    )


async def _measure(
    case: _Case,
    address: str,
    clients: int,
    rounds: int,
    delay: float,
    *,
    alone: float | None = None,
) -> float:
    """Measure a case and print its row; the median seconds of a request."""
    # enough for a 95th percentile with one client, too
    requests = max(20, clients * rounds)
    is_service = alone is not None
    async with connected(address) as http:
        earlier = await metric(http, "conflictscore_runs_total") if is_service else 0
        await send(http, _WARM_UP, 1, stream=case.stream)
        before = await _counted(http, earlier + _WARM_UP) if is_service else _Counted()
        begun = perf_counter()
        times = await send(http, requests, clients, stream=case.stream)
        seconds = perf_counter() - begun
        after = await _counted(http, before.runs + requests) if is_service else _Counted()
    whole = [took.first_word if case.stream else took.whole for took in times]
    middle = statistics.median(whole)
    cpu = (after.cpu_seconds - before.cpu_seconds) / requests
    first_bytes = [took.first_byte for took in times]
    click.echo(
        _ROW.format(
            case.name,
            clients,
            f"{middle:.3f}",
            f"{np.percentile(whole, 95):.3f}",
            f"{middle / (case.calls * delay):.2f}",
            f"{middle - alone:.3f}" if alone is not None else "-",
            f"{requests / seconds:.1f}",
            f"{cpu * 1e3:.1f}" if is_service else "-",
            f"{statistics.median(first_bytes) * 1e3:.1f} ms" if case.stream else "-",
            f"{after.dropped - before.dropped:.0f}" if is_service else "-",
        )
    )
    return middle


class _Counted(NamedTuple):
    """What the service has counted up to a moment at which it is idle."""

    runs: float = 0
    cpu_seconds: float = 0
    dropped: float = 0


async def _counted(http: httpx2.AsyncClient, runs: float) -> _Counted:
    await all_finished(http, runs)
    return _Counted(
        runs,
        await metric(http, "process_cpu_seconds_total"),
        await metric(http, "conflictscore_observed_dropped_total"),
    )


async def _soak(case: _Case, address: str, requests: int) -> None:
    async with connected(address) as http:
        await send(http, _EARLY, _SOAK_CLIENTS)
        await all_finished(http, _EARLY)
        early = await metric(http, "process_resident_memory_bytes")
        begun = perf_counter()
        await send(http, requests - _EARLY, _SOAK_CLIENTS)
        seconds = perf_counter() - begun
        await all_finished(http, requests)
        late = await metric(http, "process_resident_memory_bytes")
        dropped = await metric(http, "conflictscore_observed_dropped_total")
    click.echo(
        f"{case.name:<10} resident {early / _MIB:.0f} MiB after {_EARLY:,} requests,"
        f" {late / _MIB:.0f} MiB after {requests:,} ({(requests - _EARLY) / seconds:.1f} a second;"
        f" {dropped:.0f} unscored)"
    )


def _write_documents(folder: Path, number: int) -> None:
    for n in range(1, number + 1):
        text = (
            f"Ledger number {n}. This is what the keepers of the lighthouse wrote down in the year"
            f" that its lamp was first lit, in volume {n} of their own books."
        )
        (folder / f"ledger-{n}.md").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
