"""``conflictscore serve --workers``: several processes on one port."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.fakes.openai_server import OpenAIServer
from tests.middleware.service.serving import ChatWorld, asking, until
from tests.middleware.service.test_command import KEY, serve, served

pytestmark = pytest.mark.skipif(os.name == "nt", reason="it is stopped by signals")

_TELLING = Path(__file__).with_name("telling_workers.py")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--model", "local"], "--model local needs a model in the memory of this machine, and"),
        (["--judge", "local:small.gguf"], "--judge local:small.gguf needs a model in the memory"),
        (["--labeler", "cascade"], "--labeler cascade needs a model"),
        (["--max-calls", "1"], "--max-calls 1 is divided among 2 workers: give at least 2"),
    ],
)
def test_what_cannot_be_divided_is_refused(arguments: list[str], complaint: str) -> None:
    model = [] if "--model" in arguments else ["--model", "openai:m"]
    result = serve("--workers", "2", "--docs", ".", *model, *arguments, OPENAI_API_KEY="k")

    assert result.exit_code == 2
    assert [complaint in line for line in result.stderr.splitlines()] == [True]


def test_two_workers_are_one_service(
    world: ChatWorld, upstream: OpenAIServer, tmp_path: Path
) -> None:
    audit, keys = tmp_path / "audit.jsonl", tmp_path / "keys.txt"
    audit.write_bytes(b'{"half')
    keys.write_text(f"door {KEY} requests=9\n")
    bearer = {"authorization": f"Bearer {KEY}"}
    options = ["--workers", "2", "--audit-log", str(audit), "--key-file", str(keys)]

    with served(upstream, *options, env={"TMPDIR": str(tmp_path)}) as command:

        def get(path: str) -> httpx2.Response:
            with httpx2.Client(base_url=command.address, trust_env=False, timeout=60) as client:
                return client.get(path, headers=bearer)

        def workers() -> set[str]:
            return set(re.findall(r'process_cpu_seconds_total{pid="(\d+)"}', get("/metrics").text))

        def send(body: dict[str, Any]) -> httpx2.Response:
            with httpx2.Client(base_url=command.address, trust_env=False, timeout=60) as client:
                return client.post("/v1/chat/completions", json=body, headers=bearer)

        both = until(lambda: found if len(found := workers()) == 2 else None, 60)
        asked = send(asking())
        run_id = asked.headers["x-conflictscore-run-id"]
        with ThreadPoolExecutor(8) as pool:  # what is admitted counts, even if it is no request
            replies = Counter(reply.status_code for reply in pool.map(send, [{}] * 13))
            runs = [*pool.map(get, [f"/v1/runs/{run_id}"] * 8)]
        counted = get("/metrics").text.splitlines()
        [shared] = tmp_path.glob("conflictscore-*")
        os.kill(int(killed := both.pop()), signal.SIGKILL)
        until(lambda: killed not in workers(), 60)
        keys.write_text(f"door {KEY} requests=10\n")
        gone_on = [send({}).status_code for _ in range(2)]
        code, said = command.end()

    assert "1 key, 2 workers; Ctrl-C stops it" in command.line
    assert replies == {400: 8, 429: 5}
    assert {run.json()["answer"] for run in runs} == {"It was lit in 1874."}
    assert 'conflictscore_runs_total{status="corrected"} 1.0' in counted
    routes = 'conflictscore_requests_total{{mode="correct",route="{}",status="{}"}} {}'
    assert routes.format("/v1/chat/completions", 400, 8.0) in counted
    assert routes.format("/v1/runs/{run_id}", 200, 8.0) in counted
    assert gone_on == [400, 429]
    assert re.search(r"worker \d+ ended \(signal 9\); another takes its place\n", said)
    assert (code, said.splitlines()[-1]) == (0, "stopped")
    [line] = audit.read_text().splitlines()
    assert json.loads(line)["run_id"] == run_id
    assert not shared.exists()


@contextmanager
def telling(folder: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Two workers that tell their numbers, and their port; it is 0 where there are none."""
    env = {**os.environ, "TMPDIR": str(folder)}
    command = [sys.executable, str(_TELLING)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder, env=env) as run:
        try:
            assert run.stdout is not None
            yield run, int(run.stdout.readline())
        finally:
            run.kill()


def told(port: int) -> int:
    """The number of the worker that answers."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        return int(connection.recv(100))


def all_told(port: int, wanted: Callable[[set[int]], bool]) -> set[int]:
    """The numbers of the two workers, once they are as wanted; each connection is answered."""
    told_so: set[int] = until(
        lambda: found if wanted(found := {told(port) for _ in range(8)}) else None, 60
    )
    return told_so


def test_workers_are_replaced_renewed_and_stopped(tmp_path: Path) -> None:
    with telling(tmp_path) as (run, port):
        first = all_told(port, lambda found: len(found) == 2)
        killed = min(first)
        os.kill(killed, signal.SIGKILL)
        second = all_told(port, lambda found: len(found) == 2 and killed not in found)
        run.send_signal(signal.SIGHUP)
        third = all_told(port, lambda found: len(found) == 2 and not found & second)
        (tmp_path / "broken").touch()
        run.send_signal(signal.SIGHUP)
        said = [run.stdout.readline() for _ in range(2)] if run.stdout else []
        same = all_told(port, lambda found: len(found) == 2)
        run.send_signal(signal.SIGTERM)
        code = run.wait(60)

    assert first - second == {killed}
    assert said[0] == f"worker {killed} ended (signal 9); another takes its place\n"
    assert re.match(r"the new worker \d+ ended \(exit code 2\); those of before go on", said[1])
    assert (same, code) == (third, 0)
    assert [*tmp_path.iterdir()] == [tmp_path / "broken"]


def test_workers_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    with telling(tmp_path) as (run, port):
        both = all_told(port, lambda found: len(found) == 2)
        run.kill()
        until(lambda: not any(map(alive, both)))


def test_a_first_worker_that_cannot_serve_ends_it_all(tmp_path: Path) -> None:
    (tmp_path / "broken").touch()
    with telling(tmp_path) as (run, _):
        assert run.wait(60) == 2


def alive(number: int) -> bool:
    """Whether a process runs."""
    with suppress(ProcessLookupError):
        os.kill(number, 0)
        return True
    return False
