"""A loopback HTTP server that speaks Google's Custom Search JSON API, told by a test what to find.

```python
with GoogleSearchServer([result("https://a.example/sky", "The sky", "It is blue.")]) as server:
    GoogleRetriever(api_key="any", engine_id="any", endpoint=server.endpoint).invoke("sky")
```
"""

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

__all__ = [
    "ACCESS_DENIED",
    "DAILY_QUOTA",
    "DISCONNECT",
    "HANG",
    "INVALID_KEY",
    "NOT_JSON",
    "SERVER_ERROR",
    "GoogleSearchServer",
    "SearchFault",
    "SearchRequest",
    "rate_limit",
    "result",
]

Result = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SearchFault:
    """A reply that is not a list of results.

    Attributes:
        status: The HTTP status; 0 ends the connection without a reply.
        message: The error's message. ``{url}`` in it stands for the request's address with the
            key in it, as a careless proxy would quote it.
        reason: Google's name for the cause.
        retry_after: The Retry-After header.
        body: Sent instead of Google's error object.
        hang: Whether the reply waits until the server closes.
    """

    status: int
    message: str = "{url}"
    reason: str = "backendError"
    retry_after: str | None = None
    body: bytes | None = None
    hang: bool = False


INVALID_KEY = SearchFault(400, "API key not valid. Pass a valid API key. {url}", "badRequest")
ACCESS_DENIED = SearchFault(
    403, "This project does not have the access to Custom Search JSON API. {url}", "forbidden"
)
DAILY_QUOTA = SearchFault(
    429,
    "Quota exceeded for metric 'Queries' and limit 'Queries per day'. {url}",
    "rateLimitExceeded",
)
SERVER_ERROR = SearchFault(503, "The service is currently unavailable. {url}")
NOT_JSON = SearchFault(200, body=b'{"items": [{"title": "cut off')
DISCONNECT = SearchFault(0)
HANG = SearchFault(0, hang=True)


def rate_limit(retry_after: str | None = None) -> SearchFault:
    """A 429 for too many requests a minute."""
    message = "Quota exceeded for metric 'Queries' and limit 'Queries per minute'. {url}"
    return SearchFault(429, message, "rateLimitExceeded", retry_after)


def result(link: str, title: str, snippet: str, **fields: Any) -> dict[str, Any]:
    """One entry of ``items`` with the fields that Google always sends."""
    site = urlsplit(link).hostname or ""
    common = {"kind": "customsearch#result", "displayLink": site, "htmlTitle": title}
    return {**common, "title": title, "link": link, "snippet": snippet, **fields}


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What a client asked for.

    Attributes:
        parameters: Every parameter, as sent.
        at: When it came, in seconds of the monotonic clock.
    """

    parameters: Mapping[str, str]
    at: float

    @property
    def query(self) -> str:
        return self.parameters.get("q", "")

    @property
    def num(self) -> int:
        return int(self.parameters.get("num", "10"))

    @property
    def start(self) -> int:
        return int(self.parameters.get("start", "1"))


class GoogleSearchServer:
    """Serves ``/customsearch/v1`` on a free loopback port.

    Args:
        results: All there is to find, or a function from a question to that.
        api_key: Where given, any other key gets ``INVALID_KEY``.
        faults: What the first requests get, one each; the later ones get results.
        always: What every request gets that finds no fault left.
    """

    def __init__(
        self,
        results: Sequence[Result] | Callable[[str], Sequence[Result]] = (),
        *,
        api_key: str | None = None,
        faults: Sequence[SearchFault] = (),
        always: SearchFault | None = None,
    ) -> None:
        self._results, self._api_key, self._always = results, api_key, always
        self._faults = list(faults)
        self._requests: list[SearchRequest] = []
        self._lock, self.closing = threading.Lock(), threading.Event()
        self._http = _Http(self)
        self.endpoint = f"http://127.0.0.1:{self._http.server_port}"

    @property
    def requests(self) -> list[SearchRequest]:
        """The searches so far, failed ones too, in the order they came; a copy."""
        with self._lock:
            return list(self._requests)

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()

    def answer(self, parameters: Mapping[str, str]) -> dict[str, Any] | SearchFault:
        request = SearchRequest(parameters, time.monotonic())
        with self._lock:
            self._requests.append(request)
            fault = self._faults.pop(0) if self._faults else self._always
        if fault is not None:
            return fault
        if self._api_key is not None and parameters.get("key") != self._api_key:
            return INVALID_KEY
        if not 1 <= request.num <= 10 or request.start + request.num > 101 or request.start < 1:
            return SearchFault(400, "Request contains an invalid argument.", "badRequest")
        return self._page(request)

    def _page(self, request: SearchRequest) -> dict[str, Any]:
        found = self._results(request.query) if callable(self._results) else self._results
        first = request.start - 1
        items = [dict(item) for item in found[first : first + request.num]]
        reply: dict[str, Any] = {
            "kind": "customsearch#search",
            "searchInformation": {"totalResults": str(len(found))},
        }
        if items:  # Google leaves the key out where there is nothing to list
            reply["items"] = items
        return reply


class _Http(ThreadingHTTPServer):
    request_queue_size = 128

    def __init__(self, fake: GoogleSearchServer) -> None:
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
        self._reply("")

    def do_POST(self) -> None:
        # A question too long for an address comes in the body, as a GET in disguise.
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self._reply(body if self.headers["X-HTTP-Method-Override"] == "GET" else "")

    def _reply(self, form: str) -> None:
        address = urlsplit(self.path)
        if address.path != "/customsearch/v1":
            return self._send(404, b"<html>no such page</html>")
        given = parse_qs("&".join(filter(None, (address.query, form))), keep_blank_values=True)
        outcome = self.server.fake.answer({name: values[-1] for name, values in given.items()})
        if isinstance(outcome, SearchFault):
            return self._fail(outcome)
        return self._send(200, json.dumps(outcome).encode())

    def _fail(self, fault: SearchFault) -> None:
        if fault.hang:
            self.server.fake.closing.wait()
        if not fault.status:
            return
        message = fault.message.replace("{url}", self.path)
        cause = {"message": message, "domain": "global", "reason": fault.reason}
        error = {"code": fault.status, "message": message, "errors": [cause]}
        body = json.dumps({"error": error}).encode() if fault.body is None else fault.body
        self._send(fault.status, body, fault.retry_after)

    def _send(self, status: int, body: bytes, retry_after: str | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=UTF-8")
        self.send_header("Content-Length", str(len(body)))
        if retry_after is not None:
            self.send_header("Retry-After", retry_after)
        self.end_headers()
        self.wfile.write(body)
