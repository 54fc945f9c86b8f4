"""Overhead of the service on a call of its upstream: time and CPU by mode.

A simulated upstream in a process of its own takes 200 ms a call. The service, in processes of its
own, searches ten documents and finds six claims in each answer, one of them with evidence on both
sides. Its critical path is the search and as many calls as the mode needs one after the other: one
to observe, three to annotate (generate, decompose, one label), six to correct (and revise,
decompose, label).

Clients send for --seconds, one request each at least, so that a row has
few requests where there are few clients or they wait long; the table says how many. The upstream
and the clients need the same processors, and at many clients that is most of what a row shows.
"""

import asyncio
import itertools
import os
import statistics
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import click
import httpx2
import numpy as np

from measurements.service_load import all_finished, connected, metric, send, started

__all__ = ["main"]

_ROW = "{:<10} {:>8} {:>7} {:>8} {:>7} {:>7} {:>6} {:>7} {:>6} {:>12} {:>10} {:>8}"
_COLUMNS = (
    "",
    "labeler",
    "clients",
    "requests",
    "p50 s",
    "p95 s",
    "x path",
    "added s",
    "req/s",
    "CPU ms, each",
    "first byte",
    "unscored",
)
_WARM_UP = 4
"""Requests before the first row: they load what a request needs."""


class _Case(NamedTuple):
    options: tuple[str, ...]
    calls: int
    """Calls on the critical path, labels aside."""
    labels: int = 0
    """How often it labels."""
    stream: bool = False


_CASES = {
    "observe": _Case(("--mode=observe",), 1),
    "annotate": _Case(("--mode=annotate",), 2, 1),
    "correct": _Case(("--mode=correct",), 4, 2),
    "early": _Case(("--mode=correct", "--answer-early"), 4, 2),
    "streamed": _Case(("--mode=correct",), 4, 2, stream=True),
}
_DIRECT = _Case((), 1)


@click.command(help=__doc__)
@click.option("--delay", default=0.2, show_default=True, help="Seconds of an upstream call.")
@click.option("--documents", default=10, show_default=True)
@click.option("--claims", default=6, show_default=True)
@click.option("--case", "names", multiple=True, type=click.Choice([*_CASES]), default=[*_CASES])
@click.option("--labeler", "labelers", multiple=True, default=["json"], show_default=True)
@click.option("--clients", multiple=True, type=int, default=[1, 8, 32], show_default=True)
@click.option("--seconds", default=8.0, show_default=True, help="For each row.")
def main(
    delay: float,
    documents: int,
    claims: int,
    names: Sequence[str],
    labelers: Sequence[str],
    clients: Sequence[int],
    seconds: float,
) -> None:
    """See the module."""
    simulated = ["-m", "measurements.simulated_upstream"]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        _write_documents(Path(folder), documents)
        upstream = stack.enter_context(
            started([*simulated, f"--claims={claims}", f"--delay={delay}"], "stdout")
        )
        serve = ["-m", "conflictscore", "serve", "--port=0", f"--docs={folder}", "--no-cache"]
        serve += [f"--base-url={upstream}", "--model=simulated"]
        serve.append(f"--max-concurrent={max(32, *clients)}")  # nobody is to be turned away
        click.echo(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        click.echo(_ROW.format(*_COLUMNS))
        direct = upstream.removesuffix("/v1")
        row = _Row("direct", _DIRECT, "-", False, seconds, delay)
        alone = {number: asyncio.run(_measure(row, direct, number)) for number in clients}
        for name, labeler in itertools.product(names, labelers):
            case = _CASES[name]
            options = [*case.options, f"--labeler={labeler}"]
            with started([*serve, *options], "stderr") as service:
                row = _Row(name, case, labeler, True, seconds, delay)
                for level in clients:
                    asyncio.run(_measure(row, service, level, alone=alone[level]))


class _Row(NamedTuple):
    """Subject of a row of the table, without the number of clients."""

    name: str
    case: _Case
    labeler: str
    serves: bool
    """False for the upstream itself."""
    seconds: float
    delay: float

    @property
    def path(self) -> float:
        """Seconds of the critical path."""
        return (self.case.calls + self.case.labels) * self.delay


async def _measure(row: _Row, address: str, clients: int, *, alone: float | None = None) -> float:
    """Measure a row and print it; the median seconds of a request."""
    stream, warm_up = row.case.stream, _WARM_UP
    async with connected(address) as http:
        before = _Counted()
        if row.serves:
            earlier = await metric(http, "conflictscore_runs_total")
            await send(http, warm_up, warm_up, stream=stream)
            before = await _counted(http, earlier + warm_up)
        begun = perf_counter()
        times = await send(http, None, clients, seconds=row.seconds, stream=stream)
        seconds = perf_counter() - begun
        requests = len(times)
        after = await _counted(http, before.runs + requests) if row.serves else _Counted()
    whole = [took.first_word if stream else took.whole for took in times]
    middle = statistics.median(whole)
    cpu = (after.cpu_seconds - before.cpu_seconds) / requests
    first_bytes = [took.first_byte for took in times]
    click.echo(
        _ROW.format(
            row.name,
            row.labeler,
            clients,
            requests,
            f"{middle:.3f}",
            f"{np.percentile(whole, 95):.3f}",
            f"{middle / row.path:.2f}" if row.delay else "-",
            f"{middle - alone:.3f}" if alone is not None else "-",
            f"{requests / seconds:.1f}",
            f"{cpu * 1e3:.1f}" if row.serves else "-",
            f"{statistics.median(first_bytes) * 1e3:.1f} ms" if stream else "-",
            f"{after.dropped - before.dropped:.0f}" if row.serves else "-",
        )
    )
    return middle


class _Counted(NamedTuple):
    """Counts of the service at a moment when it is idle."""

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


def _write_documents(folder: Path, number: int) -> None:
    for n in range(1, number + 1):
        text = (
            f"Ledger number {n}. This is what the keepers of the lighthouse wrote down in the year"
            f" that its lamp was first lit, in volume {n} of their own books."
        )
        (folder / f"ledger-{n}.md").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
