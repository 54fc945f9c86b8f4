"""Measures how long honest callers of the service wait while others attack it.

A simulated upstream answers at once. Honest clients have a key and send one request after another.
Each round has three phases. In the first phase, the honest clients are alone. In the second, there
are also hostile connections without a key. In the third, there are also callers who send hostile
texts, including tool messages. The two attacks run in another process. There are five kinds of
hostile connections, in equal numbers. They send nothing, stop in the middle of the headers, stop in
the middle of a body, request the chat page 200 times without reading it, or use HTTP/2 with a
window of size zero. If the service closes a hostile connection, it is reopened at once. The table
shows medians over the rounds, and medians of the ratios to the first phase of the same round.

With ``--hang-ups N``, the command instead sends N requests over HTTP/1.1 and N over HTTP/2, and
closes each connection immediately. The command then prints how many of the service's request slots
are still taken, and for how long.

With ``--longest``, the command instead sends requests of the maximum size one after another, and
prints the longest wait for ``/healthz`` during each.
"""

import asyncio
import contextlib
import json
import multiprocessing
import os
import random
import select
import socket
import time
from multiprocessing.synchronize import Event
from urllib.parse import urlsplit

import click
import numpy as np

from measurements.campaign_texts import HTTP2, request_of, waits
from measurements.service_load import connected, send, started

_HEAD = (
    b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
)
_KEY, _OTHER = "a-key-for-measuring-0123456789", "a-key-of-somebody-else-01234567"
_SAID = (
    b"",
    b"GET /healthz HTTP/1.1\r\nhost: loc",
    _HEAD + b"content-length: 1000\r\n\r\n{",
    b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n" * 200,
    HTTP2,
)


_HTTP2_REQUEST = b"\0\0\x0e\1\5\0\0\0\1\x82\x86\x84\x41\x09localhost"
"""An HTTP/2 frame with the headers of ``GET /``, which ends the stream."""
_IN_FLIGHT = "conflictscore_requests_in_flight "
_FREED_WITHIN_S = 60.0  # the run fails if the service has not dropped all hostile requests by then
_BODY = (1 << 20) - 2_000
"""Number of bytes in the longest text that fits into a request under the default limit of 1 MiB."""
_LAMP = "The lamp was first lit in 1871."


def _longest() -> dict[str, tuple[str, dict[str, object]]]:
    """Return requests of the maximum size, by the kind of text that fills them."""
    units = ("A. ", "<", "PASSAGE: <answer>", "- a\n", "Ledger 7 says 1871. ")
    found: dict[str, tuple[str, dict[str, object]]] = {}
    for unit in units:
        text = unit * (_BODY // (len(json.dumps(unit)) - 2))
        found[f"answer of {unit!r}"] = (
            "/v1/correct",
            {"answer": text, "question": "When?", "documents": [_LAMP]},
        )
        found[f"document of {unit!r}"] = ("/v1/runs", {"question": "When?", "documents": [text]})
    # these divisors make each body about as long as ``_BODY``
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
@click.option("--longest", is_flag=True, help="Only send requests of the largest size.")
@click.option(
    "--hang-ups", default=0, help="Only open and close this many connections for each protocol."
)
@click.option("--clients", default=20, show_default=True, help="Honest connections.")
@click.option("--hostile", default=100, show_default=True, help="Hostile connections.")
@click.option("--texts", default=4, show_default=True, help="Callers with hostile texts.")
@click.option("--requests", default=200, show_default=True, help="Honest requests in a phase.")
@click.option("--rounds", default=5, show_default=True)
@click.option("--mode", default="annotate", show_default=True, help="The service's option --mode.")
def main(
    longest: bool,
    hang_ups: int,
    clients: int,
    hostile: int,
    texts: int,
    requests: int,
    rounds: int,
    mode: str,
) -> None:
    """See the module."""
    simulated = ["-m", "measurements.simulated_upstream", "--delay=0"]
    serve = ["-m", "conflictscore", "serve", "--port=0", "--docs=examples/lighthouse", "--no-cache"]
    with started(simulated, "stdout") as upstream:
        serve += [f"--base-url={upstream}", "--model=simulated"]
        if longest:
            with started([*serve, "--mode=correct", "--timeout=60"], "stderr") as service:
                asyncio.run(_stalls(service))
            return
        if hang_ups:
            with started([*serve, "--timeout=20"], "stderr") as service:
                asyncio.run(_places_lost(service, hang_ups))
            return
        serve += [f"--mode={mode}", f"--max-concurrent={2 * clients}"]
        os.environ["CONFLICTSCORE_SERVE_KEYS"] = f"honest {_KEY},other {_OTHER}"
        with started(serve, "stderr") as service:
            sockets, callers = (f"{hostile} sockets", (hostile, 0)), (f"{texts} texts", (0, texts))
            phases = dict([("alone", (0, 0)), sockets, callers])
            asyncio.run(_honest(service, clients, clients * 5))
            found = []
            for number in range(rounds):
                found.append([_phase(service, one, clients, requests) for one in phases.values()])
                click.echo(f"round {number + 1}, load {os.getloadavg()[0]:.0f}", err=True)
    figures = np.array(found)  # round, phase, percentile
    click.echo(f"{'':<14}{'p50 s':>8}{'x alone':>9}{'p99 s':>8}{'x alone':>9}")
    ratios = figures / figures[:, :1]
    for place, name in enumerate(phases):
        seconds, times = np.median(figures[:, place], 0), np.median(ratios[:, place], 0)
        columns = (f"{s:>8.2f}{t:>9.1f}" for s, t in zip(seconds, times, strict=True))
        click.echo(f"{name:<14}{''.join(columns)}")


def _phase(
    address: str, enemies: tuple[int, int], clients: int, requests: int
) -> tuple[float, float]:
    """Return the median and the 99th percentile of the seconds that honest requests take."""
    spawn = multiprocessing.get_context("spawn")
    began = spawn.Event()
    other = spawn.Process(target=_attack, args=(address, *enemies, began))
    other.start()
    try:
        began.wait()
        time.sleep(2)  # seconds until the attack has its full strength
        times = asyncio.run(_honest(address, clients, requests))
    finally:
        other.kill()
        other.join()
    return float(np.percentile(times, 50)), float(np.percentile(times, 99))


async def _honest(address: str, clients: int, requests: int) -> list[float]:
    async with connected(address) as http:
        http.headers["authorization"] = f"Bearer {_KEY}"
        return await send(http, requests, clients)


def _attack(address: str, sockets: int, texts: int, began: Event) -> None:
    """Attack until this process is killed."""

    async def all_at_once() -> None:
        enemies = [_enemy(address, _SAID[n % len(_SAID)]) for n in range(sockets)]
        enemies += [_sender(address, random.Random(n)) for n in range(texts)]  # noqa: S311
        began.set()
        await asyncio.gather(*enemies)

    asyncio.run(all_at_once())


async def _enemy(address: str, said: bytes) -> None:
    loop, place = asyncio.get_running_loop(), urlsplit(address)
    while True:
        with socket.socket() as connection, contextlib.suppress(OSError):
            connection.setblocking(False)
            await loop.sock_connect(connection, (place.hostname, place.port))
            with contextlib.suppress(BlockingIOError):
                connection.send(said)
            told = select.poll()
            told.register(connection, select.POLLRDHUP)  # reports that the service closed it
            while not told.poll(0):  # noqa: ASYNC110 - it is polled
                await asyncio.sleep(0.2)
        await asyncio.sleep(0.01)


async def _sender(address: str, chance: random.Random) -> None:
    async with connected(address) as http:
        http.headers["authorization"] = f"Bearer {_OTHER}"
        while True:
            path, body = request_of(chance)
            json_body = {"content-type": "application/json"}
            with contextlib.suppress(Exception):  # attackers are not measured
                await http.post(path, content=body, headers=json_body)


async def _places_lost(address: str, hang_ups: int) -> None:
    """Print how many slots stay taken after connections over both protocols were closed early."""
    place = urlsplit(address)
    body = b'{"model": "conflictscore", "messages": [{"role": "user", "content": "When?"}]}'
    request = _HEAD + b"content-length: %d\r\n\r\n%b" % (len(body), body)
    for name, message in (("HTTP/1.1", request), ("HTTP/2", HTTP2 + _HTTP2_REQUEST)):
        for _ in range(hang_ups):
            with (
                contextlib.suppress(OSError),
                socket.create_connection((place.hostname, place.port), 20) as connection,
            ):
                connection.sendall(message)
        began, count = time.monotonic(), 1.0
        async with connected(address) as http:
            while count and time.monotonic() - began < _FREED_WITHIN_S:
                await asyncio.sleep(0.2)
                lines = (await http.get("/metrics")).text.splitlines()
                count = next(
                    float(line.split()[1]) for line in lines if line.startswith(_IN_FLIGHT)
                )
            status = (await http.get("/healthz")).status_code
        took = time.monotonic() - began
        shown = f"{count:.0f} places taken {took:.1f} s later, /healthz {status}"
        click.echo(f"{name}: {hang_ups} hang-ups, {shown}")


async def _stalls(address: str) -> None:
    """Print the longest wait for ``/healthz`` during each request."""
    click.echo(f"{'request of 1 MB':<34}{'status':>8}{'seconds':>9}{'longest wait s':>16}")
    async with connected(address) as http:
        for name, (path, body) in {"none": ("/v1/runs", {}), **_longest()}.items():
            with waits(urlsplit(address).port or 80) as waited:
                await asyncio.sleep(0.3)
                began = time.perf_counter()
                status = (await http.post(path, json=body)).status_code
                took = time.perf_counter() - began
                await asyncio.sleep(0.3)
            click.echo(f"{name:<34}{status:>8}{took:>9.1f}{max(waited):>16.3f}")


if __name__ == "__main__":
    main()
