"""Attacks by other people's settings files, clock jumps, concurrent processes and killed models."""

import multiprocessing
import os
import random
import re
import shutil
import socket
import threading
import time
from collections.abc import Generator
from contextlib import closing, suppress
from pathlib import Path
from typing import get_args
from unittest import mock

from click.testing import CliRunner, Result

from conflictscore.cli import main
from conflictscore.errors import ConflictScoreError
from conflictscore.graph.create import create_self_correcting_rag
from conflictscore.loop.state import RagInput
from conflictscore.middleware.service.kept_runs import KeptRuns
from conflictscore.models.local import CATALOG
from conflictscore.models.local.server import shared_server
from conflictscore.models.spec import open_model
from conflictscore.records import Checked
from conflictscore.storage.cache import ContentCache
from conflictscore.storage.fetching import fetched
from conflictscore.storage.record_file import RecordLines, append_line, json_line

NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


def command(*arguments: str, **environment: str) -> Result:
    """Run a command of this package in this process."""
    return CliRunner().invoke(main, arguments, env={"OPENAI_API_KEY": "sk-campaign", **environment})


def one_line(result: Result) -> bool:
    """Whether a command succeeded, or failed with an error message instead of a traceback."""
    ended = result.exception is None or isinstance(result.exception, SystemExit)
    return ended and (result.exit_code == 0 or "Traceback" not in result.output)


def folders(chance: random.Random, folder: Path) -> Generator[str | None]:
    """Put a hostile settings file into the folder; the key must not be sent, nor a file written."""
    (folder / "notes.md").write_text("The lamp was lit in 1874.")
    before = Path.cwd()
    with socket.create_server(("127.0.0.1", 0)) as thief:
        thief.setblocking(False)
        url = f"http://127.0.0.1:{thief.getsockname()[1]}/v1"
        settings = {
            "base-url": f'"{url}"',
            "judge-base-url": f'"{url}"',
            "model": f'"{chance.choice(("x", "openai:x"))}?base_url={url}"',
            "prompts": f'"{folder}"',
            "log": f'"{folder}/written.jsonl"',
            "recorded": f'"{url}"',
            "top-k": "1",
            "docs": f'"{folder}"',
            "a" + ".a" * 100_000: "1",
            "deep": "[" * 10_000,
        }
        try:
            os.chdir(folder)
            while True:
                chosen = chance.sample([*settings], chance.randrange(1, 4))
                table = chance.choice(("", "[ask]\n"))
                file = Path("conflictscore.toml")
                file.write_text(table + "".join(f"{key} = {settings[key]}\n" for key in chosen))
                result = command("ask", "When?", "--docs", "notes.md", "--no-cache")
                file.unlink()
                with suppress(BlockingIOError):
                    thief.accept()[0].close()
                    yield f"{[key[:20] for key in chosen]} sent the key"
                held = result.exit_code != 0 and one_line(result)
                held = held and not Path("written.jsonl").exists()
                yield None if held else f"{[key[:20] for key in chosen]}: {result.output[-200:]!r}"
        finally:
            os.chdir(before)


def clocks(chance: random.Random, folder: Path) -> Generator[str | None]:
    """Let the wall clock jump by years at random; runs must still be stored and found."""
    real = time.time
    case = 0
    while True:
        case += 1
        name, jump = f"run {case}", chance.uniform(-1e9, 1e9)
        runs = KeptRuns(most=100_000, most_bytes=1 << 28, path=folder / "runs.sqlite", lasts=60)
        with (
            closing(runs),
            mock.patch("time.time", lambda jump=jump: real() + jump * chance.random()),
            mock.patch("time.time_ns", lambda jump=jump: int((real() + jump) * 1e9)),
        ):
            runs.begin(name, "me")
            runs.finish(name, {"run_id": name, "created": int(time.time()), "question": "When?"})
            found = runs.look_up(name, "me")
        others = KeptRuns(most=100_000, most_bytes=1 << 28, path=folder / "runs.sqlite")
        with closing(others):
            kept = others.get(name, "me")
        held = found is not None and kept is not None
        yield None if held else f"{name}: lost by {jump:+.0f} s"


def crowds(chance: random.Random, folder: Path, size: int = 20) -> Generator[str | None]:
    """Let twenty processes write to the same cache, log and runs file; nothing may be lost."""
    forked, case = multiprocessing.get_context("fork"), 0
    while True:
        case += 1
        here = folder / str(case)
        here.mkdir()
        workers = [forked.Process(target=_write, args=(here, number)) for number in range(size)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(120)
        lines = sorted(tuple(_said(line.text)) for line in RecordLines(here / "log.jsonl"))
        cache = ContentCache(here / "cache.sqlite")
        known = [(n, i) for n in range(size) for i in range(10) if cache.get({"n": n, "i": i})]
        cache.close()
        runs = KeptRuns(most=10_000, most_bytes=1 << 28, path=here / "runs.sqlite")
        with closing(runs):
            kept = [n for n in range(size) if runs.get(f"run {n}", "me")]
        whole = len(kept) == size and len(known) == 10 * size == len({*lines})
        codes = [worker.exitcode for worker in workers]
        told = f"{size} processes: ended {codes}, {len(kept)} runs, {len(known)} {len(lines)} lines"
        yield None if whole else told


def _said(line: bytes) -> list[int]:
    return [int(number) for number in re.findall(rb"\d+", line)[:2]]


def _write(folder: Path, number: int) -> None:
    cache = ContentCache(folder / "cache.sqlite")
    runs = KeptRuns(most=10_000, most_bytes=1 << 28, path=folder / "runs.sqlite")
    for i in range(10):
        cache.put({"n": number, "i": i}, {"v": i})
        append_line(folder / "log.jsonl", json_line([number, i, "x" * 3000]))
    runs.begin(f"run {number}", "me")
    runs.finish(f"run {number}", {"run_id": f"run {number}", "created": number})
    runs.close()
    cache.close()
    os._exit(0)  # leave the parent's threads and files alone


def killed_model(chance: random.Random, folder: Path) -> Generator[str | None]:
    """Kill the local model's server at a random moment; later questions must still be answered."""
    path = fetched(CATALOG["smollm2-135m-instruct"])
    if path is None:
        return
    model = open_model(f"local:{path}", context_window=1024)
    server = shared_server(path, context_window=1024)
    graph = create_self_correcting_rag(model, labeler="nli", cache=False, max_rounds=0)
    lamp = "The lamp was lit in 1874."
    start: RagInput = {"question": "When was the lamp lit?", "documents": [lamp]}
    start["draft_answer"] = "In 1874."  # short, so that one call writes it as a sentence
    try:
        while True:
            kill = threading.Timer(chance.uniform(0, 1), server._process.kill)
            kill.start()
            told = []
            for _ in range(2):
                with suppress(ConflictScoreError):
                    run = graph.invoke(start)
                    told.append(bool(run["answer"]) and run["checked"] in get_args(Checked))
            kill.cancel()
            # the first question may fail: its retries may end before the model is loaded again
            yield None if told and told[-1] else f"no answer after the model was killed: {told}"
    finally:
        server.close()
