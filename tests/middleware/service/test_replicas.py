"""Two services on one store, behind the proxy deployed with them; one is killed."""

import re
import shutil
import socket
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import httpx2
import pytest

from conflictscore.storage.postgres import PostgresTables
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply
from tests.middleware.service.serving import asking, until, user
from tests.middleware.service.test_command import ROOT, served
from tests.postgres_server import postgres_server
from tests.world import World

NGINX = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
KEY = "a-key-of-this-deployment-0123456789"
DOOMED, OTHER = "sk-of-the-doomed-0123456789", "sk-of-the-other-0123456789"
"""The keys by which the upstream distinguishes the services."""
QUESTIONS, CLIENTS = 8, 4
AT = 16
"""The call during which the doomed service dies."""
pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed")


def configured(folder: Path, *changes: tuple[str, str]) -> list[str]:
    """The deployed proxy's command line, with its configuration in a folder."""
    ours = (ROOT / "deploy" / "nginx.conf").read_text()
    for what, instead in changes:
        assert what in ours
        ours = ours.replace(what, instead)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "".join(f"{kind}_temp_path {folder}/{kind}; " for kind in kinds)
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log {folder}/error.log; events {{}}\n"
        f"http {{ access_log off; {paths}\n{ours} }}\n"
    )
    return [str(NGINX), "-e", f"{folder}/error.log", "-c", f"{folder}/nginx.conf"]


def listened_on(place: Path) -> bool:
    """Whether somebody accepts connections there; the socket file exists a moment earlier."""
    with socket.socket(socket.AF_UNIX) as asking_for_it:
        return asking_for_it.connect_ex(str(place)) == 0


@contextmanager
def proxied(folder: Path, *services: str) -> Iterator[httpx2.Client]:
    """A client of these services, behind the proxy."""
    folder.mkdir()
    listed = "".join(f"server {address.removeprefix('http://')};" for address in services)
    place = folder / "socket"
    changes = [("listen 8080", f"listen unix:{place}"), ("conflictscore:8400", "ours")]
    changes.append(("server {", f"upstream ours {{ {listed} }}\nserver {{"))
    process = subprocess.Popen(configured(folder, *changes))
    try:
        until(lambda: listened_on(place))
        with httpx2.Client(
            transport=httpx2.HTTPTransport(uds=str(place)),
            base_url="http://service.test",
            headers={"authorization": f"Bearer {KEY}"},
            timeout=60,
        ) as client:
            yield client
    finally:
        process.terminate()
        process.wait(20)


def by(request: ChatRequest) -> str:
    """The key of the service that asks."""
    return request.headers["authorization"].removeprefix("Bearer ")


@dataclass
class Counted(World):
    """Answers each question with its own year; one call of a replica waits for its death."""

    calls: Iterator[int] = field(default_factory=lambda: count(1))
    reached: threading.Event = field(default_factory=threading.Event)
    dead: threading.Event = field(default_factory=threading.Event)

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:
        if by(request) == DOOMED and next(self.calls) == AT:
            self.reached.set()
            self.dead.wait(60)
        said = super().__call__(request)
        asked = re.search(r"Question (\d+)", request.prompt)
        return (
            f"The lamp was lit in {1800 + int(asked[1])}."
            if asked and said == self.answer
            else said
        )


def test_the_proxy_takes_its_configuration(tmp_path: Path) -> None:
    tested = subprocess.run([*configured(tmp_path), "-t"], capture_output=True, text=True)

    assert tested.returncode == 0, tested.stderr


def test_a_service_that_is_killed_loses_no_answer_and_what_it_has_paid_for_is_kept(
    tmp_path: Path,
) -> None:
    world = Counted()
    with ExitStack() as held:
        store, upstream = held.enter_context(postgres_server()), OpenAIServer(world)
        held.enter_context(upstream)
        tables = held.enter_context(closing(PostgresTables(store.url)))
        options = ["--store", store.url, "--mode", "annotate"]

        def start(key: str) -> Any:
            env = {"OPENAI_API_KEY": key, "CONFLICTSCORE_SERVE_KEYS": KEY}
            return held.enter_context(served(upstream, *options, env=env))

        with ThreadPoolExecutor() as pool:
            doomed, other = pool.map(start, (DOOMED, OTHER))
        client = held.enter_context(proxied(tmp_path / "nginx", doomed.address, other.address))

        def ask(number: int) -> httpx2.Response:
            asked = asking(messages=user(f"Question {number}: when was the lamp lit?"))
            return client.post("/v1/chat/completions", json=asked)

        with ThreadPoolExecutor(CLIENTS) as pool:
            replies = [pool.submit(ask, number) for number in range(QUESTIONS)]
            assert world.reached.wait(60)
            doomed.process.kill()
            kept = len(tables.execute("SELECT 1 FROM cache"))
            seen = {request.raw for request in upstream.requests}
            world.dead.set()
            answers = [reply.result() for reply in replies]
        calls = Counter(request.raw for request in upstream.requests)
        # The upstream may read what it had sent a moment after its death.
        seen |= {request.raw for request in upstream.requests if by(request) == DOOMED}
        unkept = len(seen) - kept
        again = ask(0)
        asked = upstream.requests
        code, said = other.end()

    for number, reply in enumerate([*answers, again]):
        assert (reply.status_code, reply.headers["x-conflictscore-checked"]) == (200, "fully")
        assert f"lit in {1800 + number % QUESTIONS}." in reply.text
    assert ({by(request) for request in asked}, code) == ({DOOMED, OTHER}, 0)
    assert max(calls.values()) == 2
    if (
        "cannot be used" not in said
    ):  # a starved store is reported, and verdicts that it does not return are paid again
        # calls in flight, or not yet handed to the store
        assert calls.total() - len(calls) <= unkept
        # the answer is the upstream's own, and requested each time
        assert len(asked) == calls.total() + 1, "what was kept is not asked again"
