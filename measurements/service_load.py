"""Processes that serve, and clients that ask them, for measuring a service from outside."""

import asyncio
import itertools
import math
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Literal, NamedTuple

import httpx2

__all__ = ["Times", "all_finished", "connected", "metric", "running", "send", "started"]

_REQUEST = {
    "model": "simulated",
    "messages": [
        {"role": "user", "content": "In which year was the lamp of the lighthouse first lit?"}
    ],
}
_ADDRESS = re.compile(r"http://\S+")
_WORD = re.compile(rb'"delta": ?{"content": ?"[^"]')
_STOP_SECONDS = 60


class Times(NamedTuple):
    """Seconds of one request."""

    first_byte: float
    first_word: float
    whole: float


@contextmanager
def started(arguments: Sequence[str], stream: Literal["stdout", "stderr"]) -> Iterator[str]:
    """The address of a Python process that serves, as :func:`running` starts it."""
    with running(arguments, stream) as (_, address):
        yield address


@contextmanager
def running(
    arguments: Sequence[str], *streams: Literal["stdout", "stderr"]
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A Python process that prints the address it serves on, and that address.

    Args:
        arguments: Those of Python.
        *streams: What it writes to that is read here; the address stands on the first of them.

    Raises:
        RuntimeError: It ended without one.
    """
    out, err = (subprocess.PIPE if name in streams else None for name in ("stdout", "stderr"))
    command = [sys.executable, *arguments]
    process = subprocess.Popen(command, text=True, stdout=out, stderr=err)  # noqa: S603 - our own
    try:
        yield process, _address_in(process, streams[0])
    finally:
        process.terminate()
        process.communicate(timeout=_STOP_SECONDS)


def _address_in(process: subprocess.Popen[str], stream: str) -> str:
    for line in getattr(process, stream):
        if address := _ADDRESS.search(line):
            return address[0]
    raise RuntimeError(f"{process.args!r} did not start")


@asynccontextmanager
async def connected(address: str) -> AsyncIterator[httpx2.AsyncClient]:
    """A client with as many connections as it needs."""
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
) -> list[Times]:
    """Send so many requests, each client one after the other; None for as many as it can.

    Once so many seconds are up, no client begins another request, but each sends one at least.
    """
    left = itertools.count() if requests is None else iter(range(requests))
    ends = time.perf_counter() + seconds

    async def one_client() -> list[Times]:
        took: list[Times] = []
        for _ in left:
            took.append(await _request(http, stream=stream))
            if time.perf_counter() > ends:
                break
        return took

    took = await asyncio.gather(*(one_client() for _ in range(clients)))
    return [times for times_of_one in took for times in times_of_one]


async def metric(http: httpx2.AsyncClient, name: str) -> float:
    """The value of a metric of the service, over all its labels."""
    reply = await http.get("/metrics")
    lines = [line for line in reply.text.splitlines() if re.match(rf"{name}[ {{]", line)]
    return sum(float(line.rpartition(" ")[2]) for line in lines)


async def all_finished(http: httpx2.AsyncClient, runs: float) -> None:
    """Wait until the service has finished so many runs, those in the background too."""
    while await metric(http, "conflictscore_runs_total") < runs:  # noqa: ASYNC110 - another process
        await asyncio.sleep(0.5)


async def _request(http: httpx2.AsyncClient, *, stream: bool) -> Times:
    begun = time.perf_counter()
    first_byte = first_word = 0.0
    received = b""
    body = {**_REQUEST, "stream": stream}
    async with http.stream("POST", "/v1/chat/completions", json=body) as reply:
        reply.raise_for_status()
        async for piece in reply.aiter_raw():
            now = time.perf_counter() - begun
            first_byte = first_byte or now
            if not first_word:
                received += piece
                first_word = now if not stream or _WORD.search(received) else 0.0
    return Times(first_byte, first_word, time.perf_counter() - begun)
