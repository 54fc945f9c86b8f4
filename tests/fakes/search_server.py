"""A loopback HTTP server that speaks a search provider's JSON, with results set by a test.

A handler, a function from the request to the reply, makes it a certain provider.
"""

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True, slots=True)
class Received:
    """One request: ``headers`` has lower-case names, ``at`` is when it came (monotonic seconds)."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    at: float

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters of the query and of a form; for repeated names, the last one counts."""
        is_form = "form-urlencoded" in self.headers.get("content-type", "")
        parts = [urlsplit(self.target).query, self.body.decode() if is_form else ""]
        given = parse_qs("&".join(filter(None, parts)), keep_blank_values=True)
        return {name: values[-1] for name, values in given.items()}

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def quoted(self) -> str:
        """The whole request as one text, with secrets, as a careless proxy would quote it."""
        return f"{self.method} {self.target} {dict(self.headers)} {self.body.decode()}"


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply, besides Content-Length."""

    status: int = 200  # 0 ends the connection without a reply
    body: bytes = b""  # {quoted} stands for the request
    headers: Mapping[str, str] = field(default_factory=dict)
    hang: bool = False  # until the server closes, or well after a client's own limit of a second
    drip: float = 0.0  # seconds between single bytes of the body


Handler = Callable[[Received], Reply]

DISCONNECT = Reply(0)
HANG = Reply(0, hang=True)


def json_reply(content: Any, status: int = 200, **headers: str) -> Reply:
    """A JSON document; an underscore in a header's name stands for a hyphen."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(
        status, json.dumps(content).encode(), {"Content-Type": "application/json", **named}
    )


def html_reply(text: str, status: int = 200) -> Reply:
    """A web page."""
    return Reply(status, text.encode(), {"Content-Type": "text/html; charset=utf-8"})


class SearchServer:
    """Serves its handler's replies; the first requests get the ``faults``, one each."""

    def __init__(
        self, handler: Handler, *, faults: Sequence[Reply] = (), always: Reply | None = None
    ) -> None:
        self._handler, self._faults, self._always = handler, list(faults), always
        self._requests: list[Received] = []
        self._lock, self.closing = threading.Lock(), threading.Event()
        self._http = _Http(self)
        self.endpoint = f"http://127.0.0.1:{self._http.server_port}"

    @property
    def requests(self) -> list[Received]:
        """The requests so far, including failed ones, in order of arrival; a copy."""
        with self._lock:
            return list(self._requests)

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()

    def answer(self, request: Received) -> Reply:
        with self._lock:
            self._requests.append(request)
            fault = self._faults.pop(0) if self._faults else self._always
        return self._handler(request) if fault is None else fault


class _Http(ThreadingHTTPServer):
    request_queue_size = 128

    def __init__(self, fake: SearchServer) -> None:
        self.fake = fake
        super().__init__(("127.0.0.1", 0), _Connection)


class _Connection(BaseHTTPRequestHandler):
    server: _Http

    def handle(self) -> None:
        with suppress(ConnectionError):  # a client that went away is no failure of the server
            super().handle()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
        """Keeps the test's output clean."""

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers.get("content-length", 0)))
        request = Received(self.command, self.path, headers, body, time.monotonic())
        reply = self.server.fake.answer(request)
        if reply.hang:
            self.server.fake.closing.wait(30)
        if reply.status:
            self._send(reply, json.dumps(request.quoted)[1:-1].encode())

    do_POST = do_PATCH = do_GET  # noqa: N815 - the base class looks for these names

    def _send(self, reply: Reply, quoted: bytes) -> None:
        body = reply.body.replace(b"{quoted}", quoted)
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if not reply.drip:
            self.wfile.write(body)
            return
        for byte in body:
            self.wfile.write(bytes([byte]))
            if self.server.fake.closing.wait(reply.drip):
                return


Found = Sequence[Mapping[str, Any]]

ENGINE = "projects/p1/locations/global/collections/default_collection/engines/e1"
"""The engine of ``vertex``."""


def serper(results: Found = (), *, api_key: str | None = None, page: int = 10) -> Handler:
    """Speaks as google.serper.dev; ``results`` are entries of ``organic``."""

    def handle(request: Received) -> Reply:
        if (request.method, request.path) != ("POST", "/search"):
            return json_reply({"message": "Not Found", "statusCode": 404}, 404)
        if api_key is not None and request.headers.get("x-api-key") != api_key:
            return serper_error(403, "Unauthorized.")
        asked = request.json
        first = (asked["page"] - 1) * asked["num"]
        organic = [dict(item) for item in results[first : first + min(page, asked["num"])]]
        return json_reply(
            {
                "searchParameters": {**asked, "type": "search", "engine": "google"},
                "organic": organic,
                "credits": 1,
            }
        )

    return handle


def serper_error(status: int, message: str, **headers: str) -> Reply:
    return json_reply({"message": message, "statusCode": status}, status, **headers)


def searxng(
    results: Found = (),
    *,
    page: int = 10,
    silent: Sequence[tuple[str, str]] = (),
    formats: Sequence[str] = ("html", "json"),
    login: str | None = None,
) -> Handler:
    """Speaks as a SearXNG server, with ``search.formats`` of its settings.

    ``silent`` names engines that do not answer, with the reasons. ``login`` is the Authorization
    header that a proxy in front of the server requires.
    """

    def handle(request: Received) -> Reply:
        if request.path != "/search":
            return html_reply("<h1>Not Found</h1>", 404)
        if login is not None and request.headers.get("authorization") != login:
            return html_reply("<h1>Unauthorized</h1>", 401)
        asked = request.parameters
        if asked.get("format", "html") not in formats:
            return html_reply("<h1>Forbidden</h1>", 403)
        if not asked.get("q"):
            return json_reply({"error": "No query"}, 400)
        first = (int(asked.get("pageno", "1")) - 1) * page
        return json_reply(
            {
                "query": asked["q"],
                "number_of_results": 0,
                "results": [dict(item) for item in results[first : first + page]],
                "answers": [],
                "corrections": [],
                "infoboxes": [],
                "suggestions": [],
                "unresponsive_engines": [list(pair) for pair in silent],
            }
        )

    return handle


def vertex(pages: Found = (), *, api_key: str | None = None) -> Handler:
    """Speaks as ``searchLite`` of discoveryengine.googleapis.com, of ``derivedStructData``."""

    def handle(request: Received) -> Reply:
        config, _, method = request.path.removeprefix("/v1/").rpartition(":")
        if (request.method, method) != ("POST", "searchLite"):
            return html_reply("<p>The requested URL was not found on this server.</p>", 404)
        if api_key is not None and request.headers.get("x-goog-api-key") != api_key:
            return vertex_error(400, "INVALID_ARGUMENT", "API key not valid.")
        if config.rpartition("/servingConfigs/")[0] != ENGINE:
            return vertex_error(404, "NOT_FOUND", f"Engine {config} does not exist.")
        asked = request.json
        first, size = asked.get("offset", 0), min(asked.get("pageSize", 10), 25)
        reply: dict[str, Any] = {
            "totalSize": len(pages),
            "attributionToken": "t1",
            "summary": {},
        }
        if found := pages[first : first + size]:  # left out if the list is empty
            reply["results"] = [
                {"id": str(n), "document": {"id": str(n), "derivedStructData": dict(page)}}
                for n, page in enumerate(found, first)
            ]
        if len(pages) > first + size:
            reply["nextPageToken"] = "n1"
        return json_reply(reply)

    return handle


def vertex_error(status: int, name: str, message: str, **headers: str) -> Reply:
    return json_reply(
        {"error": {"code": status, "message": message, "status": name}}, status, **headers
    )
