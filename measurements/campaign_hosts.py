"""Attacks on MCP over HTTP, killed commands, and hostile text on pages in a browser."""

import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Timer
from typing import Any, cast
from urllib.parse import urlsplit

import httpx2
from fastapi import FastAPI
from selenium.webdriver.common.keys import Keys

from conflictscore.graph.create import run_context
from conflictscore.middleware.service import ServiceSettings
from conflictscore.middleware.service.admission import Access
from conflictscore.reviewing import add_runs_page
from measurements.campaign_service import response_to, with_odd_values
from measurements.campaign_texts import slow_text
from tests.benchmarks.harness.quiz import RIGHT, WRONG, Quiz
from tests.benchmarks.truthfulqa.files import keepers, lamps_csv
from tests.browser import Reader, browser, severe
from tests.fakes.openai_server import ChatRequest, OpenAIServer
from tests.fakes.search_server import Received, SearchServer
from tests.middleware.service.serving import ChatWorld, listening, serving
from tests.retrieval.recording.searching import answer as search_reply
from tests.retrieval.recording.searching import questions
from tests.talking import Shelf
from tests.world import DISAGREEING, World

Case = str | None

HAS_BROWSER = bool(shutil.which("chromium") and shutil.which("chromedriver"))
_ROWS = 8  # rows in the file that the killed commands process
_SLOW_S = 0.02
"""Delay of each reply, so that commands are often killed during a call."""
_IDLE_S, _MOST_S = 240.0, 900.0
"""A command hangs if it uses no processor time for the first number of seconds, or if it takes
longer than the second. On a busy machine, a command that works may take several minutes."""
_MOST_CPU_S = 120  # a command that uses more processor time is ended; it needs a few seconds
_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")
_REFUSED = frozenset({200, 202, 400, 404, 405, 406, 408, 413, 415, 429})
_OUR_FILES = re.compile(rb"conflictscore/|site-packages")
_LISTING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
_ACCEPTS = {"accept": "application/json, text/event-stream"}


def mcp_over_http(chance: random.Random, folder: Path) -> Generator[Case]:
    """Send random requests to the MCP server; an honest client must still get an answer."""
    from conflictscore.middleware.mcp_server import http_app, mcp_server

    with OpenAIServer(World()) as upstream:
        context = run_context("scripted", Shelf(), base_url=upstream.base_url, cache=False)
        app = http_app(mcp_server(lambda: context, Shelf()), Access(ServiceSettings()))
        with listening(cast("FastAPI", app), idle=1.0) as (address, _, _):
            port = urlsplit(address).port or 0
            while True:
                method = chance.choice(("POST", "POST", "POST", "GET", "DELETE"))
                body = json.dumps(with_odd_values(chance, _tool_call(chance))).encode()
                if chance.random() < 0.2:
                    body = body[: chance.randrange(len(body))] + chance.randbytes(3)
                status, reply = response_to(port, method, "/mcp", body, _ACCEPTS)
                honest, listed = response_to(
                    port, "POST", "/mcp", json.dumps(_LISTING).encode(), _ACCEPTS
                )
                held = (
                    status in _REFUSED
                    and b"Traceback" not in reply
                    and not _OUR_FILES.search(reply)
                )
                held = held and honest == 200 and b'"correct"' in listed
                yield None if held else f"{method} {body[:200]!r}: {status} {reply[:200]!r}"


def _tool_call(chance: random.Random) -> dict[str, Any]:
    """Return a call of one of the tools, with hostile texts in some of its arguments."""

    def text(usual: str) -> str:
        return slow_text(chance, 20_000) if chance.random() < 0.3 else usual

    arguments: dict[str, Any] = {"question": text("When was the lamp lit?")}
    tool = chance.choice(("score", "correct", "ask", "no such tool"))
    if tool != "ask":
        documents = [{"text": text("The lamp was lit in 1874."), "title": text("Log")}]
        arguments |= {"answer": text("It was lit in 1871."), "documents": documents}
    parameters = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters}


def killed_commands(chance: random.Random, folder: Path) -> Generator[Case]:
    """Kill a command at a random moment; when it is run again, it must finish as usual."""
    kinds = [_killed_serve, _killed_record, _killed_score_file, _killed_bench]
    chance.shuffle(kinds)  # on a busy machine, there is only time for one kind
    case = 0
    while True:
        here = folder / str(case)
        here.mkdir()
        yield kinds[case % len(kinds)](chance, here)
        case += 1


def _killed_and_resumed(
    chance: random.Random, folder: Path, arguments: Sequence[str], seen: Callable[[], int]
) -> int:
    """Kill a command after some requests, run it again, and return the second exit code."""
    command = [sys.executable, "-m", "conflictscore", *arguments]
    goal = chance.randrange(1, 2 * _ROWS)
    with subprocess.Popen(command, **_quiet_in(folder)) as process:  # noqa: S603 - our own
        while process.poll() is None and seen() < goal:
            time.sleep(0.005)
        process.kill()
    with subprocess.Popen(command, **_quiet_in(folder)) as process:  # noqa: S603 - our own
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (_MOST_CPU_S, _MOST_CPU_S))
        used = 0
        began = since = time.monotonic()
        while process.poll() is None:
            if (now_used := _cpu_ticks(process.pid)) > used:
                used, since = now_used, time.monotonic()
            now = time.monotonic()
            if now - since > _IDLE_S or now - began > _MOST_S:
                process.kill()
                raise TimeoutError(f"{arguments[0]} hung: {used} ticks in {now - began:.0f} s")
            time.sleep(0.05)
    return process.returncode


def _cpu_ticks(pid: int) -> int:
    """Return the processor time of a process so far, in clock ticks; 0 if it has ended."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])  # in user mode and in the kernel
    return 0


def _quiet_in(folder: Path) -> dict[str, Any]:
    paths = {"PYTHONPATH": str(Path(__file__).parents[1]), "PYTHONDONTWRITEBYTECODE": "1"}
    private = {"OPENAI_API_KEY": "sk-campaign", "CONFLICTSCORE_CACHE_DIR": str(folder / "cache")}
    env = {**os.environ, **paths, **private}
    return {"cwd": folder, "env": env, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def _killed_record(chance: random.Random, folder: Path) -> Case:
    (folder / "q.txt").write_text("\n".join(questions(2 * _ROWS)))

    def reply(request: Received) -> Any:
        time.sleep(_SLOW_S)
        return search_reply(request)

    with SearchServer(reply) as server:
        arguments = ["record", "--questions", "q.txt", "--out", "r.jsonl"]
        arguments += ["--search", f"searxng:{server.endpoint}"]
        code = _killed_and_resumed(chance, folder, arguments, lambda: len(server.requests))
    lines = [json.loads(line) for line in (folder / "r.jsonl").read_text().splitlines()]
    whole = {line["question"] for line in lines} == {*questions(2 * _ROWS)}
    held = code == 0 and whole and len(lines) == 2 * _ROWS
    return None if held else f"record: exit code {code}, {len(lines)} lines"


def _killed_score_file(chance: random.Random, folder: Path) -> Case:
    rows = [
        {"id": n, "answer": f"The lamp {n} was lit in 1871.", "documents": DISAGREEING}
        for n in range(_ROWS)
    ]
    (folder / "in.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with OpenAIServer(_slowly(World())) as server:
        arguments = ["score-file", "in.jsonl", "--out", "out.jsonl", "--labeler", "json"]
        arguments += ["--model", "scripted", "--base-url", server.base_url]
        code = _killed_and_resumed(chance, folder, arguments, lambda: len(server.requests))
    scored = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    whole = [row["id"] for row in scored] == [*range(_ROWS)]
    held = code == 0 and whole and all(row["conflictscore"]["report"] for row in scored)
    return None if held else f"score-file: exit code {code}, {len(scored)} rows"


def _killed_bench(chance: random.Random, folder: Path) -> Case:
    lamps_csv(folder / "TruthfulQA.csv", 4)
    pages = "".join(f"{json.dumps({'text': text})}\n" for text in keepers(4))
    (folder / "pages.jsonl").write_text(pages)
    with OpenAIServer(_slowly(Quiz(first={1: RIGHT}, second={1: WRONG}))) as server:
        arguments = ["bench", "truthfulqa", "--data", "TruthfulQA.csv", "--docs", "pages.jsonl"]
        arguments += ["--top-k", "3", "--labeler", "choice", "--out", "run"]
        arguments += ["--model", "scripted", "--base-url", server.base_url]
        code = _killed_and_resumed(chance, folder, arguments, lambda: len(server.requests))
    figures = folder / "run" / "figures.json"
    held = code == 0 and figures.is_file()
    return None if held else f"bench: exit code {code}, figures {figures.is_file()}"


def _slowly(world: Callable[[ChatRequest], Any]) -> Callable[[ChatRequest], Any]:
    def reply(request: ChatRequest) -> Any:
        time.sleep(_SLOW_S)
        return world(request)

    return reply


def _killed_serve(chance: random.Random, folder: Path) -> Case:
    """Kill the service during a run; this run, and an earlier one with its review, must survive."""
    (folder / "notes.md").write_text("The lamp was lit in 1874.")
    with OpenAIServer(_slowly(ChatWorld())) as server:
        serve = ["serve", "--port=0", "--docs=notes.md", "--runs-file=runs.sqlite", "--no-cache"]
        serve += ["--model=scripted", f"--base-url={server.base_url}"]
        with _serving(folder, serve) as (process, http):
            body = {"model": "conflictscore", "messages": [{"role": "user", "content": "When?"}]}
            first = http.post("/v1/chat/completions", json=body).json()["conflictscore"]["run_id"]
            verdicts = http.get(f"/v1/runs/{first}/reviews").json()["verdicts"]
            review = {"reviewer": "Ada", "verdict": verdicts[0]}
            review_status = http.post(f"/v1/runs/{first}/reviews", json=review).status_code
            killer = Timer(chance.uniform(0.05, 0.5), process.kill)
            last = _begin_run(http, killer)
            killer.join()
            process.wait()
        with _serving(folder, serve) as (_, http):
            statuses = [http.get(f"/v1/runs/{run_id}").status_code for run_id in (first, last)]
            count = http.get("/v1/reviews").json()["reviewed"]
    held = statuses == [200, 200] and (review_status, count) == (201, 1)
    return None if held else f"serve: runs {statuses}, review {review_status}, {count} reviewed"


@contextmanager
def _serving(
    folder: Path, arguments: Sequence[str]
) -> Iterator[tuple["subprocess.Popen[str]", httpx2.Client]]:
    """Start the service as a process, and yield the process and a client for it."""
    options = {**_quiet_in(folder), "stderr": subprocess.PIPE, "text": True}
    command = [sys.executable, "-m", "conflictscore", *arguments]
    with subprocess.Popen(command, **options) as process:  # noqa: S603 - our own
        try:
            lines = process.stderr or ()
            address = next(match[0] for line in lines if (match := _ADDRESS.search(line)))
            with httpx2.Client(base_url=address, trust_env=False, timeout=60) as http:
                yield process, http
        finally:
            process.kill()


def _begin_run(http: httpx2.Client, killer: Timer) -> str:
    """Start a run, then start the timer that kills the service; return the run's id."""
    run_id = ""
    question = {"question": "When was the lamp lit?"}
    with suppress(httpx2.HTTPError), http.stream("POST", "/v1/runs", json=question) as reply:
        run_id = reply.headers["x-conflictscore-run-id"]
        killer.start()
        for _ in reply.iter_raw():
            pass
    return run_id


_PWN = "window.__pwned = true"
_MARKUP = (
    f'<img src=x onerror="{_PWN}">',
    f"<script>{_PWN}</script>",
    f"<svg/onload='{_PWN}'>",
    f"[a](javascript:{_PWN.replace(' ', '')})",
    f"![a](x){{onerror={_PWN}}}",
    "<!--",
    "</textarea>",
    f"<iframe srcdoc='<script>parent.{_PWN}</script>'>",
    f'"><img src=x onerror="{_PWN}">',
    "\u202e",
    f"<a href='https://evil.test/' onmouseover='{_PWN}'>a</a>",
    "<base href=https://evil.test/>",
    "<meta http-equiv=refresh content='0;url=https://evil.test/'>",
    "<style>*{display:none}</style>",
)
_ELSEWHERE = (
    "performance.getEntriesByType('resource').filter("
    "(e) => !e.name.startsWith(location.origin) && !e.name.startsWith('data:')).length"
)


def pages(chance: random.Random, folder: Path) -> Generator[Case]:
    """Put hostile text into questions, answers and documents; both pages must show it as text."""
    world = ChatWorld()
    with (
        browser() as driver,
        OpenAIServer(world) as upstream,
        serving(upstream, found=_hostile_documents(chance)) as served,
    ):
        add_runs_page(served.app)
        reader = Reader(driver)
        while True:
            bait = " ".join(chance.sample(_MARKUP, 3))
            world.plain = world.answer = f"It was lit in 1871. {bait}"
            world.regenerated = f"It was lit in 1874. {bait}"
            asked_for = f"When? {bait}".replace("\u202e", "")
            served.ask(asked_for)
            failure = ""
            for page in ("/", "/runs"):
                reader.open(f"{served.address}{page}")
                if page == "/":
                    reader.sees("body", "Shelf")  # by now the page's script has run
                    field = reader.all("textarea")[0]
                    field.send_keys("When was the lamp first lit?", Keys.ENTER)
                    reader.answered()
                else:
                    reader.sees("body", "When?")
                    reader.all("main a, main button, li")[0].click()
                    time.sleep(0.3)
                failure = failure or _harm(reader, page)
            yield f"{bait!r}: {failure}" if failure else None


def _hostile_documents(chance: random.Random) -> list[dict[str, str]]:
    return [
        {**document, "text": f"{document['text']} {' '.join(chance.sample(_MARKUP, 3))}"}
        for document in DISAGREEING
    ]


def _harm(reader: Reader, page: str) -> str:
    """Return what hostile text has done to a page; empty if it has done nothing."""
    if reader.does("window.__pwned === true"):
        return f"{page} ran a script"
    if reader.does(_ELSEWHERE):
        return f"{page} loaded something from elsewhere"
    if not reader.does("location.host").startswith("127.0.0.1"):
        return f"{page} went elsewhere"
    if complaints := severe(reader.driver):
        return f"{page}: {complaints[0][:200]}"
    return ""
