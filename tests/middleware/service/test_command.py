"""``conflictscore serve`` as a process: how it starts, what it refuses, and how it ends."""

import os
import re
import runpy
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner, Result

from conflictscore.cli import main
from conflictscore.middleware.service.kept_runs import KeptRuns, RunFilter
from tests.fakes.openai_server import Fault, OpenAIServer
from tests.middleware.service.serving import (
    QUESTION,
    UPSTREAM_KEY,
    ChatWorld,
    Clients,
    HasAddress,
    listening,
    until,
)
from tests.world import PAPER_OPTIONS

ROOT = Path(__file__).parents[3]
DOCS = str(ROOT / "examples" / "lighthouse")
KEY = "key-number-one-0123456789"


@dataclass
class Command(Clients):
    """A running command, and its output when it started to listen."""

    process: subprocess.Popen[str]
    line: str

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> tuple[int, str]:
        _, said = self.process.communicate(timeout=100)
        return self.process.returncode, said


@contextmanager
def served(
    upstream: HasAddress, *arguments: str, env: Mapping[str, str] | None = None
) -> Iterator[Command]:
    models = ["--docs", DOCS, "--model", "scripted", "--base-url", upstream.base_url]
    models += [] if "--store" in arguments else ["--no-cache"]
    with started(*models, *PAPER_OPTIONS, *arguments, env=env) as command:
        yield command


@contextmanager
def started(*arguments: str, env: Mapping[str, str] | None = None) -> Iterator[Command]:
    process = subprocess.Popen(
        [sys.executable, "-m", "conflictscore", "serve", "--port", "0", *arguments],
        env={**os.environ, **(env or {})},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        said = iter(process.stderr.readline, "")
        line = next((line for line in said if "in front of" in line), "it ended")
        address = re.search(r"http://\S+", line)
        assert address is not None, line + process.stderr.read()
        command = Command(address[0], process, line)
        yield command
        command.close()
    finally:
        process.kill()
        process.wait()


def serve(*arguments: str, **env: str) -> Result:
    return CliRunner(env=env).invoke(main, ["serve", *arguments])


def test_it_says_where_it_listens_takes_the_port_and_serves_openais_client(
    world: ChatWorld,
    upstream: OpenAIServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    world.standalone = "Who says that it was lit in another year?"

    with served(upstream) as command:
        port = command.address.rpartition(":")[2]
        taken = serve("--docs", DOCS, "--model", "openai:m", "--port", port, OPENAI_API_KEY="k")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{command.address}/v1")
        runpy.run_path(str(ROOT / "examples" / "openai_client.py"), run_name="__main__")
        health = command.http.get("/healthz")
        code, said = command.end(signal.SIGINT)

    assert re.match(r"http://127\.0\.0\.1:\d+ in front of scripted at http://", command.line)
    assert "mode correct, no key needed" in command.line
    assert taken.exit_code == 2
    assert f"--port {port}: cannot listen there" in taken.stderr
    assert capsys.readouterr().out.splitlines() == [
        "It was lit in 1874.",
        "corrected: 7 documents, CS-C 1.0",
        "It was lit in 1874.",
    ]
    assert world.asked["contextualize"] == 1
    assert (health.json(), code, said) == ({"status": "ok"}, 0, "stopped\n")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--host", "0.0.0.0"], "give --key-file FILE, or --no-auth"),
        (["--host", "lighthouse.test"], "give --key-file FILE, or --no-auth"),
        (["--key-file", "missing.txt"], "--key-file missing.txt: cannot be read (No such file"),
        (["--key-file", "empty.txt"], "the file contains no key"),
        (["--key-file", "short.txt"], "line 1 is not a bearer key"),
        (["--runs-file", "no/such/folder/runs"], "cannot be used"),
        (["--base-url", "http://127.0.0.1:1/v1"], "--base-url needs --model"),
        (["--docs"], "requires an argument"),
    ],
)
def test_bad_options_are_refused_in_one_line(
    arguments: list[str], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.txt").write_text("# no key yet\n\n")
    (tmp_path / "short.txt").write_text("secret\n")
    model = [] if "--base-url" in arguments else ["--model", "openai:gpt-4.1-mini"]

    result = serve("--docs", DOCS, *model, *arguments, OPENAI_API_KEY=UPSTREAM_KEY)

    assert result.exit_code == 2
    [line] = result.stderr.splitlines()
    assert complaint in line
    assert "secret" not in line


def test_a_running_request_is_finished_first(world: ChatWorld, upstream: OpenAIServer) -> None:
    gate = world.gates["Documents that were found"] = threading.Event()
    replies: list[httpx2.Response] = []

    with served(upstream) as command:
        asking = threading.Thread(target=lambda: replies.append(command.ask()))
        asking.start()
        until(lambda: upstream.requests)
        command.process.send_signal(signal.SIGTERM)
        until(lambda: refuses(command))
        gate.set()
        asking.join(100)
        code, _ = command.ended()

    assert code == 0
    assert replies[0].json()["choices"][0]["message"]["content"] == "It was lit in 1874."


def test_runs_outlast_a_restart_for_their_key(upstream: OpenAIServer, tmp_path: Path) -> None:
    file = ["--runs-file", str(tmp_path / "runs.sqlite")]
    keys = {"CONFLICTSCORE_SERVE_KEYS": f"{KEY}, another-key-0123456789"}

    with served(upstream, *file, env=keys) as command:
        command.key = KEY
        run_id = command.ask().headers["x-conflictscore-run-id"]
        code, _ = command.end()
    with served(upstream, *file, env=keys) as command:
        without = command.http.get(f"/v1/runs/{run_id}").status_code
        command.key = KEY
        run = command.http.get(f"/v1/runs/{run_id}").json()

    assert (code, without) == (0, 401)
    assert (run["status"], run["question"]) == ("corrected", QUESTION)


def test_a_second_signal_ends_running_requests_and_records_them_as_unfinished(
    world: ChatWorld, upstream: OpenAIServer, tmp_path: Path
) -> None:
    world.broken["decompose"] = Fault.hang(600)  # longer than the test waits for the exit
    file = ["--runs-file", str(tmp_path / "runs.sqlite")]

    with served(upstream, *file) as command:
        asking = threading.Thread(target=suppressed, args=[command.ask])
        asking.start()
        until(lambda: len(upstream.requests) == 2)
        command.process.send_signal(signal.SIGINT)
        until(lambda: refuses(command))
        code, _ = command.end(signal.SIGINT)
        asking.join(30)
    runs = KeptRuns(most=9, most_bytes=1 << 20, path=tmp_path / "runs.sqlite")
    _, listed = runs.listed(RunFilter())
    runs.close()

    assert (code, [run.status for run in listed]) == (0, ["unfinished"])


def suppressed(work: Callable[[], object]) -> None:
    """Call a function that may fail because the service is stopping."""
    with suppress(httpx2.HTTPError):
        work()


def refuses(command: Command) -> bool:
    """Whether new connections are refused."""
    try:
        command.http.get("/healthz")
    except httpx2.TransportError:
        return True
    return False


def test_a_fastapi_app_looks_again(
    world: ChatWorld, upstream: OpenAIServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    world.plain, world.regenerated = "It was lit in 1874.", "It was lit in 1871."
    monkeypatch.setenv("OPENAI_BASE_URL", upstream.base_url)
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path))
    example = runpy.run_path(str(ROOT / "examples" / "fastapi_app.py"))

    with (
        listening(example["app"]) as (address, _, _),
        httpx2.Client(base_url=address, trust_env=False, timeout=60) as client,
    ):
        run = client.get("/ask", params={"question": QUESTION}).json()
        nothing = client.get("/ask", params={"question": " "})

    assert run["first_answer"] == "It was lit in 1874."
    assert run["answer"] == "It was lit in 1871."
    assert run["report"]["cs_c"] == 1.0
    assert nothing.status_code == 400


@pytest.mark.timeout(400)
def test_the_embedded_model_can_be_the_upstream(smollm2_path: Path, tmp_path: Path) -> None:
    (tmp_path / "log.md").write_text("The lamp of the tower was first lit in 1874.")
    models = ["--model", f"local:{smollm2_path}", "--max-claims", "1", "--no-cache"]
    with started("--docs", str(tmp_path), *models) as running:
        # the longer the answer, the longer this small model rambles when it splits it
        reply = running.ask(max_tokens=12, stop=[","])
        models = [model["id"] for model in running.http.get("/v1/models").json()["data"]]
        run = running.http.get(f"/v1/runs/{reply.headers['x-conflictscore-run-id']}").json()
        code, _ = running.end()

    assert reply.status_code == 200
    assert reply.json()["choices"][0]["message"]["content"]
    assert run["status"] in {"scored", "partly-scored", "kept", "corrected", "passed-through"}
    assert f"local:{smollm2_path.name}" in models
    assert code == 0
