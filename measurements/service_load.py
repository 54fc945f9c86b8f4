"""Measures the time and CPU that the service adds to a call of its upstream, by mode.

A simulated upstream in its own process takes 200 ms per call. The service runs in separate
processes. The service searches ten documents and finds six claims in each answer; one of the claims
has evidence on both sides. The documents mention the subjects of all claims. With --off-subject, no
document mentions the subject of five claims, so the labeler ``per-document`` makes two calls per
document instead of one. "added s" is the time beyond that of a direct call. For streamed answers,
"added s" is the time to the first word.

Each client sends requests for --seconds, but at least one request. The upstream and the clients run
on the same processors as the service. With many clients, the upstream and the clients account for
most of the time in a row.
"""

import asyncio
import itertools
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Literal

import click
import httpx2
import numpy as np

_QUESTION = "In which year was the lamp of the lighthouse first lit?"
_REQUEST = {"model": "simulated", "messages": [{"role": "user", "content": _QUESTION}]}
_ADDRESS = re.compile(r"http://\S+")
_WORD = re.compile(rb'"delta": ?{"content": ?"[^"]')
_STOP_SECONDS = 60  # a process must end within this time after it is asked to
_DOCUMENTS = 10  # the default number of documents of a question
_ON_SUBJECT = " They also wrote of its tower and of each step."
_WARM_UP = 4
"""Number of requests before the first row, which load all that a request needs."""
_ROW = "{:<10} {:>8} {:>7} {:>8} {:>7} {:>7} {:>7} {:>6} {:>12}"
_COLUMNS = (
    *("", "labeler", "clients", "requests", "p50 s", "p95 s", "added s", "req/s"),
    "CPU ms, each",
)


_CASES: dict[str, tuple[str, ...]] = {
    "annotate": ("--mode=annotate",),
    "correct": ("--mode=correct",),
    "streamed": ("--mode=correct",),
}


@contextmanager
def started(arguments: Sequence[str], stream: Literal["stdout", "stderr"]) -> Iterator[str]:
    """Start a Python process that serves requests, and yield the address that it prints.

    Raises:
        RuntimeError: The process ended without printing an address.
    """
    out, err = (subprocess.PIPE if name == stream else None for name in ("stdout", "stderr"))
    command = [sys.executable, *arguments]
    process = subprocess.Popen(command, text=True, stdout=out, stderr=err)  # noqa: S603 - our own
    try:
        for line in getattr(process, stream):
            if address := _ADDRESS.search(line):
                yield address[0]
                return
        raise RuntimeError(f"{process.args!r} did not start")
    finally:
        process.terminate()
        process.communicate(timeout=_STOP_SECONDS)


@asynccontextmanager
async def connected(address: str) -> AsyncIterator[httpx2.AsyncClient]:
    """Yield a client with an unlimited number of connections."""
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx2.AsyncClient(
        base_url=address, limits=limits, timeout=600, trust_env=False
    ) as http:
        yield http


async def send(
    http: httpx2.AsyncClient,
    requests: int | None,
    clients: int,
    *,
    seconds: float = math.inf,
    stream: bool = False,
) -> list[float]:
    """Send requests one after another from each client, and return the seconds that each took.

    ``requests`` is the total number of requests; None for as many as the time allows. After
    ``seconds``, no client starts another request, but each client sends at least one.
    """
    left = itertools.count() if requests is None else iter(range(requests))
    ends = time.perf_counter() + seconds
    took: list[float] = []

    async def one_client() -> None:
        for _ in left:
            took.append(await _request(http, stream=stream))
            if time.perf_counter() > ends:
                break

    await asyncio.gather(*(one_client() for _ in range(clients)))
    return took


async def _request(http: httpx2.AsyncClient, *, stream: bool) -> float:
    begun, first_word, received = time.perf_counter(), None, b""
    body = {**_REQUEST, "stream": stream}
    async with http.stream("POST", "/v1/chat/completions", json=body) as reply:
        reply.raise_for_status()
        async for piece in reply.aiter_raw():
            received += piece
            if stream and first_word is None and _WORD.search(received):
                first_word = time.perf_counter() - begun
    return time.perf_counter() - begun if first_word is None else first_word


@click.command(help=__doc__)
@click.option("--case", "names", multiple=True, type=click.Choice([*_CASES]), default=[*_CASES])
@click.option("--labeler", "labelers", multiple=True, default=["json"], show_default=True)
@click.option("--clients", multiple=True, type=int, default=[1, 8, 32], show_default=True)
@click.option("--seconds", default=8.0, show_default=True, help="Duration of each row.")
@click.option(
    "--off-subject", is_flag=True, help="Documents that mention one claim's subject only."
)
def main(
    names: Sequence[str],
    labelers: Sequence[str],
    clients: Sequence[int],
    seconds: float,
    off_subject: bool,
) -> None:
    """See the module."""
    simulated = ["-m", "measurements.simulated_upstream"]
    with tempfile.TemporaryDirectory() as folder, started(simulated, "stdout") as upstream:
        for n in range(1, _DOCUMENTS + 1):
            text = f"Ledger number {n}. What the keepers of the lighthouse wrote of its lamp, {n}."
            text += "" if off_subject else _ON_SUBJECT
            (Path(folder) / f"ledger-{n}.md").write_text(text, "utf-8")
        serve = ["-m", "conflictscore", "serve", "--port=0", f"--docs={folder}", "--no-cache"]
        serve += [f"--base-url={upstream}", "--model=simulated"]
        serve.append(f"--max-concurrent={max(32, *clients)}")  # so that no client is refused
        click.echo(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        click.echo(_ROW.format(*_COLUMNS))
        direct = upstream.removesuffix("/v1")
        alone = {n: asyncio.run(_measured(direct, n, seconds)) for n in clients}
        for name, labeler in itertools.product(names, labelers):
            with started([*serve, *_CASES[name], f"--labeler={labeler}"], "stderr") as service:
                for n in clients:
                    row = _measured(service, n, seconds, name, labeler, alone[n])
                    asyncio.run(row)


async def _measured(
    address: str,
    clients: int,
    seconds: float,
    name: str = "direct",
    labeler: str = "-",
    alone: float | None = None,
) -> float:
    """Measure and print a row; return the median seconds of a request."""
    stream = name == "streamed"
    async with connected(address) as http:
        before = [0.0, 0.0]
        if alone is not None:
            await send(http, _WARM_UP, _WARM_UP, stream=stream)
            before = await _counted(http, _WARM_UP)
        begun = time.perf_counter()
        took = await send(http, None, clients, seconds=seconds, stream=stream)
        ended = time.perf_counter() - begun
        after = before if alone is None else await _counted(http, before[0] + len(took))
    middle = statistics.median(took)
    figures = f"{middle:.3f}", f"{np.percentile(took, 95):.3f}"
    added = "-" if alone is None else f"{middle - alone:.3f}"
    cpu = f"{(after[1] - before[1]) / len(took) * 1e3:.1f}"
    pace = f"{len(took) / ended:.1f}"
    click.echo(_ROW.format(name, labeler, clients, len(took), *figures, added, pace, cpu))
    return middle


async def _counted(http: httpx2.AsyncClient, runs: float) -> list[float]:
    """Wait until the service has finished this many runs; return its runs and CPU seconds."""
    while True:
        lines = (await http.get("/metrics")).text.splitlines()
        found = [
            sum(float(line.rpartition(" ")[2]) for line in lines if re.match(rf"{name}[ {{]", line))
            for name in ("conflictscore_runs_total", "process_cpu_seconds_total")
        ]
        if found[0] >= runs:
            return found
        await asyncio.sleep(0.5)


if __name__ == "__main__":
    main()
