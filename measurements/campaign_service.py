"""Attacks on the service by hostile connections, host names, requests and texts."""

import asyncio
import http.client
import json
import random
import re
import socket
import subprocess
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from conflictscore.graph.create import run_context
from conflictscore.middleware.service import ServiceSettings, create_app
from conflictscore.models.spec import open_model
from conflictscore.storage.cache import ContentCache
from measurements.campaign_machine import NGINX, command, one_line
from measurements.campaign_texts import HTTP2, request_of, waits
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply, completion
from tests.middleware.service.serving import listening

Case = str | None

_HOSTILE = 120  # concurrent hostile connections
_REPLY_S, _HONEST_REPLY_S = 2.0, 20.0
"""Seconds to wait for a reply through nginx, for hostile and for honest requests. There is a limit
because nginx keeps some connections open after the reply."""
_LONGEST_WAIT_S = 5.0
"""Maximum seconds for ``/healthz`` while the service handles a request with a megabyte of hostile
text."""
_HOST = re.compile(r"(?i)(localhost|\[::1\]|127(?:\.\d{1,3}){3})(:\d{1,5})?")
_SMUGGLED = (
    b"POST /v1/models HTTP/1.1\r\nhost: x.test\r\ncontent-length: 5\r\ntransfer-encoding: chunked"
    b"\r\n\r\n0\r\n\r\nGET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\nhost: x.test\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd",
    b"GET /v1/models HTTP/1.1\r\nhost : x.test\r\n\r\n",
    b"GET http://evil.test/v1/models HTTP/1.1\r\nhost: localhost\r\n\r\n",
    b"GET /v1/models HTTP/1.1\r\nhost: x.test\r\nx: y\r\n z: folded\r\n\r\n",
    b"POST /v1/runs HTTP/1.1\r\nhost: x.test\r\ntransfer-encoding: xchunked\r\n\r\n0\r\n\r\n",
    b"GET /v1/models HTTP/1.1\r\nhost: x.test\r\n" + b"a: b\r\n" * 5_000 + b"\r\n",
)
_HONEST = b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
_ODD: tuple[Any, ...] = (
    None, True, 0, -1, 10**30, 1e308, "", "\ud800", "\x00", "<|im_end|>", "x" * 5000, [], {},
    [[[]]], {"role": "user"}, float("nan"),
)  # fmt: skip
_EXPECTED = frozenset({200, 400, 404, 413, 415, 422, 429, 502, 503, 504})


def floods(chance: random.Random, folder: Path) -> Generator[Case]:
    """Open many hostile connections; an honest caller must still get an answer."""
    kinds: dict[str, bytes] = {
        "silent": b"",
        "half a head": b"GET /healthz HTTP/1.1\r\nhost: loc",
        "a body that never comes": (
            b"POST /v1/runs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            b"content-length: 1000\r\n\r\n{"
        ),
        "replies that are never read": b"GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n" * 50,
        "HTTP/2 with no window": HTTP2,
        "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
        "an endless head": b"GET / HTTP/1.1\r\nx: " + b"y" * 70_000,
    }
    with _service(chance, folder) as port:
        while True:
            kind = chance.choice([*kinds])
            with ExitStack() as opened:
                for _ in range(_HOSTILE):
                    with suppress(OSError):
                        connection = socket.create_connection(("127.0.0.1", port), 5)
                        opened.enter_context(connection)
                        connection.settimeout(1)
                        connection.sendall(kinds[kind])
                statuses = [
                    response_to(port, "GET", path)[0] for path in ("/healthz", "/v1/models")
                ]
            yield None if statuses == [200, 200] else f"{_HOSTILE} x {kind}: {statuses}"


def tricks(chance: random.Random, folder: Path) -> Generator[Case]:
    """Try host names that resemble this machine's, and fetch its address in disguise."""
    with (
        _service(chance, folder) as port,
        socket.create_server(("127.0.0.1", 0)) as inside,
    ):
        inside.setblocking(False)
        while True:
            host = _name(chance)
            status = _raw_status(port, host)
            local = _HOST.fullmatch(host) is not None
            held = status == 200 if local and _in_range(host) else status in (400, 403)
            yield None if held else f"Host {host!r}: {status}"
            url = f"http://{_inside(chance)}:{inside.getsockname()[1]}/"
            reached = _fetched(url) or _knocked_at(inside)
            yield f"fetched {url!r}" if reached else None


def _knocked_at(listener: socket.socket) -> bool:
    """Whether a client has connected to a non-blocking listener."""
    try:
        listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def fuzz(chance: random.Random, folder: Path) -> Generator[Case]:
    """Send random requests and upstream replies; nothing may crash, and errors must be JSON."""
    document = {"text": "The lamp was lit in 1874.", "title": "Log"}
    whole = {
        "/v1/chat/completions": {
            "model": "conflictscore",
            "messages": [{"role": "user", "content": "When was the lamp lit?"}],
            "temperature": 0.0,
            "stream": False,
        },
        "/v1/runs": {"question": "When?", "history": [], "documents": [document]},
    }
    with _service(chance, folder) as port:
        while True:
            path = chance.choice([*whole])
            body = json.dumps(with_odd_values(chance, whole[path])).encode()
            if chance.random() < 0.2:
                body = body[: chance.randrange(len(body))] + chance.randbytes(3)
            status, said = response_to(port, "POST", path, body)
            shaped = status == 200 or b'"error"' in said
            yield None if status in _EXPECTED and shaped else f"{path} {body[:200]!r}: {status}"


def long_texts(chance: random.Random, folder: Path) -> Generator[Case]:
    """Send long hostile texts in every field; other callers must not have to wait long."""
    with _service(chance, folder) as port:
        while True:
            path, body = request_of(chance)
            with waits(port) as took:
                status, said = response_to(port, "POST", path, body)
            # the service need not read a body that it refuses, so the client may fail to send it
            refused = status == 0 and len(body) > ServiceSettings().max_body
            held = (refused or status in _EXPECTED) and max(took) < _LONGEST_WAIT_S
            told = f"{path} {body[:150]!r}: {status}, {max(took):.1f} s, {said!r:.80}"
            yield None if held else told


def homes(chance: random.Random, folder: Path) -> Generator[Case]:
    """Make home, cache or log unwritable; there must still be an answer or a one-line error."""
    (folder / "notes.md").write_text("The lamp was lit in 1874.")
    (folder / "file").write_text("")
    places = [f"{folder}/file/below", "/proc/1/nothing", "/dev/null/cache", f"{folder}/{'x' * 300}"]
    names = ("CONFLICTSCORE_CACHE_DIR", "HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "TMPDIR")
    with _upstream(chance) as upstream:
        while True:
            where = {name: chance.choice(places) for name in chance.sample(names, 2)}
            more = chance.choice(([], ["--log", f"{chance.choice(places)}/log.jsonl"]))
            asked = ("ask", "When?", "--docs", str(folder / "notes.md"), "--model", "scripted")
            result = command(*asked, "--base-url", upstream.base_url, *more, **where)
            held = one_line(result) and result.exit_code in (0, 1, 2)
            yield None if held else f"{where} {more}: {result.exception!r} {result.output[-200:]!r}"


def with_nginx(chance: random.Random, folder: Path) -> Generator[Case]:
    """Send smuggled, malformed and honest requests through nginx, configured as deployed."""
    place = folder / "socket"
    ours = (Path(__file__).parents[1] / "deploy" / "nginx.conf").read_text()
    ours = ours.replace("listen 8080", f"listen unix:{place}")
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "".join(f"{kind}_temp_path {folder}/{kind}; " for kind in kinds)
    settings = folder / "nginx.conf"
    nginx = [str(NGINX), "-e", f"{folder}/error.log", "-c", str(settings)]
    with _service(chance, folder) as port:
        ours = ours.replace("conflictscore:8400", f"127.0.0.1:{port}")
        settings.write_text(
            f"daemon off; pid {folder}/pid; error_log {folder}/error.log; events {{}}\n"
            f"http {{ access_log off; {paths}\n{ours} }}\n"
        )
        proxy = subprocess.Popen(nginx, stderr=subprocess.DEVNULL)  # noqa: S603 - our own
        try:
            while not _accepts(place):
                time.sleep(0.02)
            while True:
                said = _through(place, chance.choice(_SMUGGLED), _REPLY_S)
                honest = _through(place, _HONEST, _HONEST_REPLY_S)
                answers = re.findall(rb"HTTP/1\.1 (\d{3})", said)
                bad = b"process_resident" in said or b"evil.test" in said or len(answers) > 1
                held = not bad and honest.startswith(b"HTTP/1.1 200")
                yield None if held else f"through nginx: {said[:200]!r}, {honest[:40]!r}"
        finally:
            proxy.terminate()
            proxy.wait(20)


def _accepts(place: Path) -> bool:
    """Whether a server listens on a socket; the socket's file exists a moment earlier."""
    with socket.socket(socket.AF_UNIX) as connection:
        return connection.connect_ex(str(place)) == 0


def _through(place: Path, request: bytes, seconds: float) -> bytes:
    said = b""
    with socket.socket(socket.AF_UNIX) as connection, suppress(OSError):
        connection.settimeout(seconds)
        connection.connect(str(place))
        connection.sendall(request)
        while piece := connection.recv(65536):
            said += piece
    return said


@contextmanager
def _service(chance: random.Random, folder: Path) -> Iterator[int]:
    """Start the service without keys, and yield its port on the loopback interface."""
    with _upstream(chance) as upstream:
        url, cache = upstream.base_url, ContentCache(folder / "replies.sqlite")
        context = run_context(open_model("scripted", base_url=url), base_url=url, cache=cache)
        policy = ServiceSettings(mode="correct", first_answer="upstream", timeout=10)
        with listening(create_app(context, policy), idle=1.0) as (address, _, _):
            yield urlsplit(address).port or 0


def _upstream(chance: random.Random) -> OpenAIServer:
    """Return an upstream that damages about half of its replies."""
    chance = random.Random(chance.random())  # noqa: S311 - a thread's own

    def answer(request: ChatRequest) -> Reply | Fault:
        reply = Reply("It was lit in 1871.")
        if chance.random() < 0.5:
            return reply
        return Fault(
            200, body=json.dumps(with_odd_values(chance, completion(request, reply))).encode()
        )

    return OpenAIServer(answer)


def response_to(
    port: int,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> tuple[int, bytes]:
    """Return the status and the body of a response; the status is 0 if the connection failed."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, path, body, {"content-type": "application/json", **headers})
        reply = connection.getresponse()
        return reply.status, reply.read()
    except (OSError, http.client.HTTPException) as error:
        return 0, repr(error).encode()
    finally:
        connection.close()


def _raw_status(port: int, host: str) -> int:
    request = f"GET /v1/models HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        connection.sendall(request.encode("latin-1", "replace"))
        return int((connection.makefile("rb").readline().split() or [b"", b"0"])[1])


def _name(chance: random.Random) -> str:
    """Return a host name that is this machine's or resembles it."""
    good = ["localhost", "127.0.0.1", "[::1]", "127.3.2.1", "LOCALHOST"]
    marks = ["", "@", "/", "#", "?", "\\", ".", ",", " ", ":", "%00", ":80", ":80@", "]", "[", "_"]
    names = [*good, "evil.test", "10.0.0.1", "[::ffff:127.0.0.1]", "0x7f.1", "2130706433", ""]
    parts = [chance.choice(names) + chance.choice(marks) for _ in range(chance.randrange(1, 3))]
    return ("".join(parts) if chance.random() < 0.8 else chance.choice(good)).strip()


def _in_range(host: str) -> bool:
    numbers = [int(n) for n in re.findall(r"\d+", host.partition("]")[0].rsplit(":", 1)[0])]
    return all(n <= 255 and str(n) in host for n in numbers)


def _inside(chance: random.Random) -> str:
    """Return the loopback address in one of its many spellings."""
    parts = [127, chance.randrange(256), chance.randrange(256), chance.randrange(1, 255)]
    number = int.from_bytes(bytes(parts))
    shapes: list[Callable[[int], str]] = [str, hex, "0{:o}".format, "0x0{:x}".format]
    dotted = ".".join(chance.choice(shapes)(part) for part in parts)
    mapped = f"[::ffff:{'.'.join(map(str, parts))}]"
    forms = [dotted, dotted + ".", chance.choice(shapes)(number), mapped, "[::1]", "localhost"]
    form = chance.choice(forms)
    if chance.random() < 0.3:
        form = "".join(chr(ord(c) + 0xFEE0) if c.isdigit() else c for c in form)
    return chance.choice(["", "public.test@", "a:b@"]) + form


def _fetched(url: str) -> bool:
    from conflictscore.retrieval.pages.fetch import PageFetcher
    from conflictscore.retrieval.pages.page import FetchSettings, UnreadableError

    async def fetch() -> bool:
        async with PageFetcher(FetchSettings(timeout=2.0)) as fetcher:
            try:
                await fetcher.fetch(url)
            except UnreadableError:
                return False
        return True

    return asyncio.run(fetch())


def with_odd_values(chance: random.Random, value: Any) -> Any:
    """Return the value with some of its parts replaced by odd values."""
    if chance.random() < 0.1:
        return chance.choice(_ODD)
    if isinstance(value, dict):
        changed = {name: with_odd_values(chance, inner) for name, inner in value.items()}
        if chance.random() < 0.1:
            changed[chance.choice(["n", "tools", "stop", "stream", "x", "logprobs"])] = (
                chance.choice(_ODD)
            )
        return changed
    if isinstance(value, list):
        return [with_odd_values(chance, inner) for inner in value] * chance.choice([1, 1, 1, 2])
    return value
