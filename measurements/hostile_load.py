"""Speed, waiting times and memory of the service while half of its connections are hostile.

A simulated upstream answers at once. Honest clients, who have a key, ask one request after the
other, first alone and then beside as many hostile connections, which have none: a quarter each say
nothing, stop in the middle of a head, stop in the middle of a body, and ask for the chat page 200
times and read none. Whatever the service closes is opened again at once.
"""

import asyncio
import contextlib
import itertools
import json
import os
import random
import select
import socket
import time
from urllib.parse import urlsplit

import click
import numpy as np

from measurements.campaign_texts import request_of
from measurements.service_load import connected, metric, send, started

__all__ = ["main"]

_ROW = "{:<22} {:>8} {:>9} {:>8} {:>8} {:>14} {:>8}"
_HEAD = (
    b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
)
_KEY, _OTHER = "a-key-for-measuring-0123456789", "a-key-of-somebody-else-01234567"
_SAID = (
    b"",
    b"GET /healthz HTTP/1.1\r\nhost: loc",
    _HEAD + b"content-length: 1000\r\n\r\n{",
    b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n" * 200,
)


_BODY = (1 << 20) - 2_000
"""Bytes of the longest request, by the default limit."""
_LAMP = "The lamp was first lit in 1871."


def _longest() -> dict[str, tuple[str, dict[str, object]]]:
    """Requests of the largest size, by what fills them."""
    units = ("A. ", "<", "PASSAGE: <answer>", "- a\n", "Ledger 7 says 1871. ")
    found: dict[str, tuple[str, dict[str, object]]] = {}
    for unit in units:
        text = unit * (_BODY // (len(json.dumps(unit)) - 2))
        found[f"answer of {unit!r}"] = (
            "/v1/correct",
            {"answer": text, "question": "When?", "documents": [_LAMP]},
        )
        found[f"document of {unit!r}"] = ("/v1/runs", {"question": "When?", "documents": [text]})
    short = [f"Ledger number {n}. {_LAMP * (_BODY // 36_000)}" for n in range(1000)]
    found[f"{len(short):,} documents"] = ("/v1/runs", {"question": "When?", "documents": short})
    turns = [{"role": "user", "content": "A. " * 1000}, {"role": "assistant", "content": _LAMP}]
    found["a conversation"] = (
        "/v1/chat/completions",
        {
            "model": "conflictscore",
            "documents": [_LAMP],
            "messages": [*turns * (_BODY // 3200), {"role": "user", "content": "When was it lit?"}],
        },
    )
    return found


@click.command(help=__doc__)
@click.option("--longest", is_flag=True, help="Send requests of the largest size.")
@click.option("--clients", default=250, show_default=True, help="Honest connections.")
@click.option("--hostile", default=250, show_default=True, help="Hostile connections.")
@click.option("--texts", default=4, show_default=True, help="Callers with hostile texts.")
@click.option("--requests", default=1500, show_default=True, help="Of the honest, in all.")
@click.option("--mode", default="observe", show_default=True, help="The service's own option.")
def main(longest: bool, clients: int, hostile: int, texts: int, requests: int, mode: str) -> None:
    """See the module."""
    simulated = ["-m", "measurements.simulated_upstream", "--delay=0"]
    with started(simulated, "stdout") as upstream:
        serve = ["-m", "conflictscore", "serve", "--port=0", "--docs=examples/lighthouse"]
        serve += [f"--base-url={upstream}", "--model=simulated", "--no-cache", f"--mode={mode}"]
        serve += [f"--max-concurrent={clients}"]
        if longest:
            with started([*serve[:-2], "--mode=correct", "--timeout=60"], "stderr") as service:
                asyncio.run(_stalls(service))
            return
        click.echo(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        columns = ("requests/s", "p50 s", "p99 s", "resident MiB", "opened")
        click.echo(_ROW.format("", "clients", *columns))
        os.environ["CONFLICTSCORE_SERVE_KEYS"] = f"honest {_KEY},other {_OTHER}"
        for sockets, senders in ((0, 0), (hostile, 0), (0, texts)):
            with started(serve, "stderr") as service:
                asyncio.run(_measure(service, clients, (sockets, senders), requests))


async def _stalls(address: str) -> None:
    """Ask for ``/healthz`` all the time, and print the longest wait beside each request."""
    waited: list[float] = []

    async def ask() -> None:
        async with connected(address) as http:
            while True:
                began = time.perf_counter()
                await http.get("/healthz")
                waited.append(time.perf_counter() - began)
                await asyncio.sleep(0.005)

    asking = asyncio.create_task(ask())
    click.echo(f"{'request of 1 MB':<34}{'status':>8}{'seconds':>9}{'longest wait s':>16}")
    async with connected(address) as http:
        for name, (path, body) in {"none": ("/v1/runs", {}), **_longest()}.items():
            await asyncio.sleep(0.3)
            waited.clear()
            began = time.perf_counter()
            status = (await http.post(path, json=body)).status_code
            took = time.perf_counter() - began
            await asyncio.sleep(0.3)
            click.echo(f"{name:<34}{status:>8}{took:>9.1f}{max(waited):>16.3f}")
    asking.cancel()


async def _measure(address: str, clients: int, enemies: tuple[int, int], requests: int) -> None:
    opened = itertools.count()
    place = urlsplit(address)

    async def enemy(said: bytes) -> None:
        loop = asyncio.get_running_loop()
        while True:
            next(opened)
            with socket.socket() as connection, contextlib.suppress(OSError):
                connection.setblocking(False)
                await loop.sock_connect(connection, (place.hostname, place.port))
                with contextlib.suppress(BlockingIOError):
                    connection.send(said)
                told = select.poll()
                told.register(connection, select.POLLRDHUP)  # whether it was closed
                while not told.poll(0):  # noqa: ASYNC110 - it is polled
                    await asyncio.sleep(0.2)
            await asyncio.sleep(0.01)

    async def sender(chance: random.Random) -> None:
        async with connected(address) as http:
            http.headers["authorization"] = f"Bearer {_OTHER}"
            while True:
                path, body = request_of(chance)
                next(opened)
                json_body = {"content-type": "application/json"}
                with contextlib.suppress(Exception):  # it is not the one that is measured
                    await http.post(path, content=body, headers=json_body)

    hostile, texts = enemies
    tasks = [asyncio.create_task(enemy(_SAID[n % len(_SAID)])) for n in range(hostile)]
    tasks += [asyncio.create_task(sender(random.Random(n))) for n in range(texts)]  # noqa: S311
    async with connected(address) as http:
        http.headers["authorization"] = f"Bearer {_KEY}"
        await send(http, clients, clients)
        began = time.perf_counter()
        times = [took.whole for took in await send(http, requests, clients)]
        seconds = time.perf_counter() - began
        resident = await metric(http, "process_resident_memory_bytes")
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    click.echo(
        _ROW.format(
            f"{hostile} sockets, {texts} texts",
            clients,
            f"{requests / seconds:.1f}",
            f"{np.percentile(times, 50):.2f}",
            f"{np.percentile(times, 99):.2f}",
            f"{resident / (1 << 20):.0f}",
            next(opened),
        )
    )


if __name__ == "__main__":
    main()
