"""A loopback HTTP server that speaks OpenAI's chat completions, scripted by a test."""

import json
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import urlsplit

_TOKEN = re.compile("[\U0001f000-\U0001faff]|[^\\s\U0001f000-\U0001faff]+")


@dataclass(frozen=True)
class ChatRequest:
    """A client's request; ``headers`` has lower-case names, ``raw`` is the unchanged body."""

    body: dict[str, Any]
    headers: dict[str, str] = field(repr=False)
    raw: bytes = field(default=b"", repr=False)
    path: str = ""

    @property
    def model(self) -> str:
        return str(self.body["model"])

    @property
    def messages(self) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = self.body["messages"]
        return messages

    @property
    def prompt(self) -> str:
        """Text of the last user message; empty if there is none."""
        said = [_text(message) for message in self.messages if message["role"] == "user"]
        return said[-1] if said else ""


@dataclass(frozen=True)
class Reply:
    """A model's reply; if token counts are not given, they are estimated as one per word."""

    text: str = ""
    finish_reason: str = "stop"
    logprobs: Mapping[str, float] | None = None
    """Token -> logprob at the first position, sent only to a request that asks for logprobs."""
    refusal: str | None = None
    tool_calls: Sequence[Mapping[str, Any]] = ()
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    """Input tokens from the prompt cache; None for a provider that does not report them."""


@dataclass(frozen=True)
class Fault:
    """A failure: an HTTP status with OpenAI's error body, a broken body, or no reply at all."""

    status: int = 500
    retry_after: str | None = None
    message: str = "the server failed, as it was told to"
    code: str | None = None
    should_retry: bool | None = None
    """Sent as ``x-should-retry``, which OpenAI's client follows before it looks at the status."""
    body: bytes | None = None
    silence: float | None = None
    """Seconds without a byte before the connection is closed."""
    announced: int | None = None
    """The ``content-length`` to send, if it is to be wrong."""

    @classmethod
    def hang(cls, seconds: float) -> "Fault":
        """Send nothing for this long, or until the server closes, then drop the connection."""
        return cls(silence=seconds)

    @classmethod
    def drop(cls) -> "Fault":
        """Close the connection without a reply."""
        return cls(silence=0)

    @classmethod
    def raw(cls, body: bytes, status: int = 200) -> "Fault":
        """Send this body, labelled as JSON whatever it is."""
        return cls(status, body=body)


Outcome = Reply | str | Fault
Handler = Callable[[ChatRequest], Outcome]


def then(*steps: Outcome | Handler) -> Handler:
    """Give one request to each step in order, and all later ones to the last step."""
    first, lock = iter(steps[:-1]), threading.Lock()

    def answer(request: ChatRequest) -> Outcome:
        with lock:
            step = next(first, steps[-1])
        return step(request) if callable(step) else step

    return answer


def from_cache(handler: Handler, tokens: int) -> Handler:
    """Give the same replies, with this many of their input tokens from the prompt cache."""

    def answer(request: ChatRequest) -> Outcome:
        said = handler(request)
        reply = Reply(said) if isinstance(said, str) else said
        return replace(reply, cached_tokens=tokens) if isinstance(reply, Reply) else reply

    return answer


def script(*replies: Outcome) -> Handler:
    """Give these replies in order; further requests are answered with HTTP 500."""

    def exhausted(request: ChatRequest) -> Outcome:
        raise AssertionError(f"script exhausted: no reply left for {request.prompt[:200]!r}")

    return then(*replies, exhausted)


class OpenAIServer:
    """Serves ``/v1/chat/completions`` and ``/v1/models`` on a free loopback port.

    Args:
        handler: Called once per request, in that request's thread. If it raises, an HTTP 500 is
            sent that asks the client not to retry.
        api_key: If set, any other bearer token gets a 401.
        models: The models served; any other gets a 404. If empty, every model is served.
        tls: Serve HTTPS with this certificate for 127.0.0.1.
    """

    def __init__(
        self,
        handler: Handler,
        *,
        api_key: str | None = None,
        models: Sequence[str] = (),
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.models = tuple(models)
        self.in_flight_peak = 0
        self._handler, self._api_key = handler, api_key
        self._requests: list[ChatRequest] = []
        self._connections: set[socket.socket] = set()
        self._in_flight = 0
        self._lock, self._closing = threading.Lock(), threading.Event()
        self._http = _Http(self)
        if tls is not None:
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True)
        self.address = f"{'https' if tls else 'http'}://127.0.0.1:{self._http.server_port}"
        self.base_url = f"{self.address}/v1"

    @property
    def requests(self) -> list[ChatRequest]:
        """The chat requests so far, including failed ones, in order of arrival; a copy."""
        with self._lock:
            return list(self._requests)

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *raised: object) -> None:
        with self._lock:
            self._closing.set()
            for connection in self._connections:
                _hang_up(connection)
        self._http.shutdown()
        self._http.server_close()

    def connected(self, connection: socket.socket) -> None:
        with self._lock:
            self._connections.add(connection)
            if self._closing.is_set():
                _hang_up(connection)

    def disconnected(self, connection: socket.socket) -> None:
        with self._lock:
            self._connections.discard(connection)

    def answer(self, request: ChatRequest) -> Reply | Fault:
        """What to send; a hang waits here, so that it counts as in flight."""
        with self._lock:
            self._requests.append(request)
            self._in_flight += 1
            self.in_flight_peak = max(self.in_flight_peak, self._in_flight)
        try:
            refused = self.denied(request.headers) or self._unknown(request.model)
            outcome = refused or self._handler(request)
            if isinstance(outcome, Fault) and outcome.silence:
                self._closing.wait(outcome.silence)
        except Exception as raised:  # noqa: BLE001 - the thread has no caller
            outcome = Fault(message=f"{type(raised).__name__}: {raised}", should_retry=False)
        finally:
            # Before the reply is written, so that a client's next request does not overlap this
            # one.
            with self._lock:
                self._in_flight -= 1
        return Reply(outcome) if isinstance(outcome, str) else outcome

    def denied(self, headers: Mapping[str, str]) -> Fault | None:
        given = headers.get("authorization", "").removeprefix("Bearer ")
        if self._api_key is None or given == self._api_key:
            return None
        # Like a careless server, return the whole key, so that a test sees if it leaks.
        return Fault(401, message=f"Incorrect API key provided: {given}.", code="invalid_api_key")

    def _unknown(self, model: str) -> Fault | None:
        if not self.models or model in self.models:
            return None
        message = f"The model `{model}` does not exist or you do not have access to it."
        return Fault(404, message=message, code="model_not_found")


class _Http(ThreadingHTTPServer):
    request_queue_size = 128

    def __init__(self, fake: OpenAIServer) -> None:
        self.fake = fake
        super().__init__(("127.0.0.1", 0), _Connection)


class _Connection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    server: _Http

    def setup(self) -> None:
        super().setup()
        self.server.fake.connected(self.connection)

    def handle(self) -> None:
        with suppress(ConnectionError):  # a client that went away is no failure of the server
            super().handle()

    def finish(self) -> None:
        self.server.fake.disconnected(self.connection)
        with suppress(ConnectionError):  # closing writes data that the client did not wait for
            super().finish()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
        """Keeps the test's output clean."""

    def do_GET(self) -> None:
        fault = self.server.fake.denied(self._headers())
        if fault is None and self.path != "/v1/models":
            fault = self._no_such_url()
        if fault is not None:
            return self._fail(fault)
        common = {"object": "model", "created": 0, "owned_by": "test"}
        data = [{"id": model, **common} for model in self.server.fake.models]
        return self._send(200, json.dumps({"object": "list", "data": data}).encode())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if urlsplit(self.path).path != "/v1/chat/completions":  # a proxy gets the whole address
            return self._fail(self._no_such_url())
        request = ChatRequest(json.loads(body), self._headers(), body, self.path)
        outcome = self.server.fake.answer(request)
        if isinstance(outcome, Fault):
            return self._fail(outcome)
        if request.body.get("stream"):
            return self._stream(chunks(request, outcome))
        return self._send(200, json.dumps(completion(request, outcome)).encode())

    def _headers(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.headers.items()}

    def _no_such_url(self) -> Fault:
        return Fault(404, message=f"Invalid URL ({self.command} {self.path})")

    def _fail(self, fault: Fault) -> None:
        if fault.silence is not None:
            self.close_connection = True
            return
        headers = {}
        if fault.retry_after is not None:
            headers["retry-after"] = fault.retry_after
        if fault.should_retry is not None:
            headers["x-should-retry"] = str(fault.should_retry).lower()
        if fault.announced is not None:
            headers["content-length"] = str(fault.announced)
            self.close_connection = True
        self._send(fault.status, error(fault) if fault.body is None else fault.body, headers)

    def _send(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        sizes = {"content-type": "application/json", "content-length": str(len(body))}
        self._head(status, {**sizes, **(headers or {})})
        self.wfile.write(body)

    def _stream(self, events: Iterator[dict[str, Any]]) -> None:
        self._head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
        for text in (*map(json.dumps, events), "[DONE]"):
            event = f"data: {text}\n\n".encode()
            self.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def _head(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()


def _hang_up(connection: socket.socket) -> None:
    with suppress(OSError):  # the client may have been faster
        connection.shutdown(socket.SHUT_RDWR)


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content if part["type"] == "text")


def error(fault: Fault) -> bytes:
    kinds = {429: "requests", 500: "server_error", 503: "server_error"}
    kind = kinds.get(fault.status, "invalid_request_error")
    detail = {"message": fault.message, "type": kind, "param": None, "code": fault.code}
    return json.dumps({"error": detail}).encode()


def _tokens(text: str) -> int:
    """One token per emoji and word; more for a word that no tokenizer keeps whole."""
    words = _TOKEN.findall(text)
    return sum(len(word) // 4 if len(word) > 200 else 1 for word in words)


def _usage(request: ChatRequest, reply: Reply) -> dict[str, Any]:
    asked, said = " ".join(map(_text, request.messages)), reply.refusal or reply.text
    read = _tokens(asked) if reply.input_tokens is None else reply.input_tokens
    written = _tokens(said) if reply.output_tokens is None else reply.output_tokens
    usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    if reply.cached_tokens is None:
        return usage
    return {**usage, "prompt_tokens_details": {"cached_tokens": reply.cached_tokens}}


def _logprobs(request: ChatRequest, reply: Reply) -> dict[str, Any] | None:
    if not (request.body.get("logprobs") and reply.logprobs):
        return None
    ranked = [
        {"token": token, "logprob": logprob, "bytes": list(token.encode())}
        for token, logprob in sorted(reply.logprobs.items(), key=lambda item: -item[1])
    ]
    top = ranked[: request.body.get("top_logprobs") or 0]
    return {"content": [{**ranked[0], "top_logprobs": top}], "refusal": None}


def completion(request: ChatRequest, reply: Reply) -> dict[str, Any]:
    said = {"content": None if reply.refusal else reply.text, "refusal": reply.refusal}
    called = {"tool_calls": reply.tool_calls} if reply.tool_calls else {}
    choice = {
        "index": 0,
        "message": {"role": "assistant", **said, **called},
        "logprobs": _logprobs(request, reply),
        "finish_reason": reply.finish_reason,
    }
    common = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0}
    usage = _usage(request, reply)
    return {**common, "model": request.model, "choices": [choice], "usage": usage}


def chunks(request: ChatRequest, reply: Reply) -> Iterator[dict[str, Any]]:
    common = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0}
    common["model"] = request.model

    def chunk(delta: Mapping[str, Any], **rest: Any) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None, **rest}
        return {**common, "choices": [choice]}

    yield chunk({"role": "assistant", "content": ""})
    kind, logprobs = "refusal" if reply.refusal else "content", _logprobs(request, reply)
    for word in re.findall(r"\S+\s*|\s+", reply.refusal or reply.text):
        yield chunk({kind: word}, logprobs=logprobs)
        logprobs = None
    if reply.tool_calls:
        yield chunk({"tool_calls": reply.tool_calls})
    yield chunk({}, finish_reason=reply.finish_reason)
    if (request.body.get("stream_options") or {}).get("include_usage"):
        yield {**common, "choices": [], "usage": _usage(request, reply)}
