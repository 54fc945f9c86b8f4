"""Measures whether runs of the service are lost when PostgreSQL or the service itself fails.

Clients ask questions while PostgreSQL is stopped for some seconds and started again. The command
then prints how many replies had ``stored: false``, the longest wait for a reply, and how many runs
can be read afterwards. Next, the service is killed while it answers, and started again: the command
prints the state of the interrupted runs. Last, the service gets SIGTERM while its upstream gives no
reply: the command prints how long the service takes to end.

The upstream is scripted. PostgreSQL must be installed.
"""

import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any, NamedTuple

import click
import httpx2

from tests.fakes.openai_server import OpenAIServer
from tests.middleware.service.serving import ChatWorld, asking, until, user
from tests.middleware.service.test_command import Command, served
from tests.postgres_server import PostgresServer, postgres_server

_CLIENTS = 4
_PAUSE_S = 0.3
"""Time between two questions of a client."""
_SETTLED_S = 30.0
"""Time after PostgreSQL's return in which waiting runs must be stored."""
_KEY = {"OPENAI_API_KEY": "sk-of-this-service-0123456789"}


class Answer(NamedTuple):
    """A reply of the service."""

    began: float
    took: float
    status: int
    run_id: str
    stored: bool


def _ask(service: Command, question: str) -> Answer:
    began = time.monotonic()
    with httpx2.Client(base_url=service.address, timeout=120, trust_env=False) as http:
        reply = http.post("/v1/chat/completions", json=asking(messages=user(question)))
    details: dict[str, Any] = reply.json().get("conflictscore") or {}
    run_id = reply.headers.get("x-conflictscore-run-id", "")
    took = time.monotonic() - began
    return Answer(began, took, reply.status_code, run_id, details.get("stored") is not False)


@contextmanager
def _asking(service: Command) -> Any:
    """Ask questions in the background, and yield the list of answers, which grows."""
    answers: list[Answer] = []
    stopped = threading.Event()

    def client(number: int) -> None:
        count = 0
        while not stopped.wait(_PAUSE_S):
            count += 1
            answers.append(_ask(service, f"Question {number}-{count}: when was the lamp lit?"))

    with ThreadPoolExecutor(_CLIENTS) as pool:
        clients = [pool.submit(client, number) for number in range(_CLIENTS)]
        try:
            yield answers
        finally:
            stopped.set()
            for each in clients:
                each.result()


def _statuses(service: Command, run_ids: Sequence[str]) -> list[tuple[int, str]]:
    """Return the HTTP status of each run, and the status that the run reports."""
    replies = [service.http.get(f"/v1/runs/{run_id}") for run_id in run_ids]
    return [(reply.status_code, str(reply.json().get("status"))) for reply in replies]


def _away(service: Command, store: PostgresServer, seconds: float) -> None:
    with _asking(service) as answers:
        until(lambda: len(answers) > _CLIENTS)
        store.stop()
        left = time.monotonic()
        time.sleep(seconds)
        store.start()
        back = time.monotonic()
        time.sleep(2 * _PAUSE_S)
    during = [each for each in answers if left <= each.began <= back]
    marked = sum(not each.stored for each in during)
    longest = max(each.took for each in during)
    replies = Counter(each.status for each in answers)
    click.echo(
        f"away for {back - left:.0f} s: {len(during)} questions, {marked} marked as not stored"
    )
    click.echo(f"  longest wait {longest:.1f} s, statuses of all replies {dict(replies)}")
    readable = 0
    while readable < len(answers) and time.monotonic() < back + _SETTLED_S:
        time.sleep(1)
        states = _statuses(service, [each.run_id for each in answers])
        readable = sum(code == httpx2.codes.OK for code, _ in states)
    settled = time.monotonic() - back
    click.echo(f"  {readable} of {len(answers)} runs can be read {settled:.0f} s after its return")


def _killed(service: Command, world: ChatWorld, again: Callable[[], Any]) -> None:
    """Kill the service during streamed answers, and print the runs' states after a restart."""
    world.gates["Killed"] = gate = threading.Event()
    run_ids: list[str] = []

    def client(number: int) -> None:
        body = asking(messages=user(f"Killed {number}: when was the lamp lit?"), stream=True)
        with httpx2.Client(base_url=service.address, timeout=120, trust_env=False) as http:
            try:
                with http.stream("POST", "/v1/chat/completions", json=body) as reply:
                    run_ids.append(reply.headers["x-conflictscore-run-id"])
                    reply.read()
            except httpx2.HTTPError:
                pass  # the service was killed

    with ThreadPoolExecutor(_CLIENTS) as pool:
        clients = [pool.submit(client, number) for number in range(_CLIENTS)]
        until(lambda: len(run_ids) == _CLIENTS)
        before = Counter(_statuses(service, run_ids))
        service.process.kill()
        service.process.wait()
        gate.set()
        for each in clients:
            each.result()
    world.gates.clear()
    with again() as restarted:
        after = Counter(_statuses(restarted, run_ids))
    click.echo(f"killed with kill -9: runs before {dict(before)}, after the restart {dict(after)}")


def _ended(service: Command, world: ChatWorld) -> None:
    """Send SIGTERM during answers that never come, and print how long the service takes to end."""
    world.gates["Ended"] = gate = threading.Event()

    def client(number: int) -> int:
        try:
            return _ask(service, f"Ended {number}: when was the lamp lit?").status
        except (httpx2.HTTPError, ValueError):
            return 0

    with ThreadPoolExecutor(_CLIENTS) as pool:
        clients = [pool.submit(client, number) for number in range(_CLIENTS)]
        until(lambda: service.metric("conflictscore_requests_in_flight") >= _CLIENTS)
        began = time.monotonic()
        service.process.send_signal(signal.SIGTERM)
        code, _ = service.ended()
        took = time.monotonic() - began
        gate.set()
        statuses = Counter(each.result() for each in clients)
    click.echo(f"SIGTERM: ended after {took:.1f} s with exit code {code}, replies {dict(statuses)}")


@click.command(help=__doc__)
@click.option("--away", default=60.0, show_default=True, help="Seconds without PostgreSQL.")
@click.option("--timeout", default=30, show_default=True, help="The service's option --timeout.")
def main(away: float, timeout: int) -> None:
    """See the module."""
    world = ChatWorld()
    with postgres_server() as store, OpenAIServer(world) as upstream:
        options = ["--store", store.url, "--mode", "annotate", "--timeout", str(timeout)]

        def start() -> Any:
            return served(upstream, *options, env=_KEY)

        with start() as service:
            _away(service, store, away)
            _killed(service, world, start)
        with start() as service, closing(service):
            _ended(service, world)


if __name__ == "__main__":
    main()
