"""A service on a loopback port, in front of a scripted upstream, as clients see it."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import httpx2
import openai
from fastapi import FastAPI
from langchain_core.retrievers import BaseRetriever
from langchain_openai.chat_models.base import BaseChatOpenAI

from conflictscore.graph.create import run_context
from conflictscore.graph.keywords import Model
from conflictscore.loop.state import RunContext
from conflictscore.middleware.service import ServiceSettings, create_app
from conflictscore.middleware.service.http_server import Server, open_listener
from conflictscore.middleware.service.service import Service
from conflictscore.models.spec import open_model
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply
from tests.talking import Shelf
from tests.world import DISAGREEING, PAPER, World

QUESTION = "When was the lamp lit?"
AGREEING = [
    {"text": "The lamp was lit in 1871.", "title": "Gazette", "url": "https://gazette.test/a"},
    {"text": "In 1871 the lamp was lit.", "title": "Log", "url": "https://log.test/b"},
]
TOOL: Any = {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}
CALL: dict[str, Any] = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "look_up", "arguments": '{"what": "the lamp"}'},
}
PICTURE = {"type": "image_url", "image_url": {"url": "https://picture.test/lamp.png"}}
DETAILED = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10, "details": {"a": 1}}
UPSTREAM_KEY = "sk-of-this-service-0123456789"
"""The key that the scripted upstream requires, and that nobody else may see."""


class HasAddress(Protocol):
    """An upstream."""

    base_url: str


@dataclass
class ChatWorld(World):
    """The scripted model as a chatbot: it also rewrites questions, and answers plain requests."""

    standalone: str = QUESTION
    plain: str | Reply | Fault | Callable[[ChatRequest], str | Reply | Fault] = (
        "It was lit in 1871."
    )
    """Its reply to a request that is not one of the loop's prompts."""
    handed_on: list[ChatRequest] = field(default_factory=list)
    """Those requests."""
    gates: dict[str, threading.Event] = field(default_factory=dict)
    """Prompts with these words wait for a gate to open."""

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:
        prompt = request.prompt
        for words, gate in self.gates.items():
            if words in prompt:
                gate.wait(100)
        if prompt.startswith("A user goes on with a conversation."):
            self.asked["contextualize"] += 1
            return self.standalone
        ours = ("<document ", "<claim>", "<answer>")
        if any(mark in prompt for mark in ours):
            last = {"role": "user", "content": prompt}
            return super().__call__(replace(request, body={**request.body, "messages": [last]}))
        self.handed_on.append(request)
        return self.plain(request) if callable(self.plain) else self.plain


def user(text: Any = QUESTION) -> Any:
    """A conversation of one message."""
    return [{"role": "user", "content": text}]


def asking(**more: Any) -> dict[str, Any]:
    """The body of a request for a chat completion."""
    return {"model": "conflictscore", "messages": user(), **more}


def completion_with(message: Mapping[str, Any], finish: str = "stop") -> Fault:
    """An upstream's reply with a given message."""
    body = {
        "id": "chatcmpl-upstream",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [
            {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
        ],
        "usage": DETAILED,
        "x_upstream": "kept",
    }
    return Fault.raw(json.dumps(body).encode())


@dataclass
class Clients:
    """The clients of a running service."""

    address: str
    key: str | None = field(default=None, kw_only=True)
    clients: list[Any] = field(default_factory=list, kw_only=True)

    @property
    def http(self) -> httpx2.Client:
        """A bare HTTP client with the service's key."""
        headers = {"authorization": f"Bearer {self.key}"} if self.key else {}
        client = httpx2.Client(base_url=self.address, headers=headers, timeout=300, trust_env=False)
        self.clients.append(client)
        return client

    @property
    def openai(self) -> openai.OpenAI:
        """OpenAI's own client."""
        client = openai.OpenAI(
            base_url=f"{self.address}/v1", api_key=self.key or "none", max_retries=0, timeout=110
        )
        self.clients.append(client)
        return client

    def ask(self, content: Any = QUESTION, **more: Any) -> httpx2.Response:
        """A plain chat completion."""
        messages = content if isinstance(content, list) else user(content)
        return self.http.post("/v1/chat/completions", json=asking(messages=messages, **more))

    def run(self, response: httpx2.Response) -> dict[str, Any]:
        """The run of a response, once it has finished."""
        run_id = response.headers["x-conflictscore-run-id"]

        def finished() -> Any:
            found = self.http.get(f"/v1/runs/{run_id}")
            return found.json() if found.status_code == 200 else None

        run: dict[str, Any] = until(finished)
        return run

    def metric(self, line: str) -> float:
        """The value of a metric; 0 if it was never counted."""
        for said in self.http.get("/metrics").text.splitlines():
            if said.startswith(f"{line} "):
                return float(said.rpartition(" ")[2])
        return 0.0

    def connect(self, sent: bytes) -> socket.socket:
        """A bare connection that has sent these bytes."""
        host, _, port = self.address.removeprefix("http://").partition(":")
        connection = socket.create_connection((host, int(port)), timeout=100)
        self.clients.append(connection)
        connection.sendall(sent)
        return connection

    def close(self) -> None:
        for client in self.clients:
            client.close()


@dataclass
class Served(Clients):
    """A service in a thread."""

    app: FastAPI
    loop: asyncio.AbstractEventLoop
    upstream: Any

    @property
    def service(self) -> Service:
        service: Service = self.app.state.service
        return service

    def tasks(self) -> int:
        """The number of tasks on the service's event loop."""

        async def count() -> int:
            return len(asyncio.all_tasks()) - 1

        return asyncio.run_coroutine_threadsafe(count(), self.loop).result(10)


@contextmanager
def serving(
    upstream: HasAddress | Callable[[ChatRequest], Reply | str | Fault],
    *,
    found: list[dict[str, str]] = DISAGREEING,
    retriever: BaseRetriever | None = None,
    settings: Mapping[str, Any] | None = None,
    judge: Model | None = None,
    server: Mapping[str, Any] | None = None,
    **context: Any,
) -> Iterator[Served]:
    """Serve the paper's loop with these documents, in front of an upstream or a script."""
    given = ServiceSettings(**(settings or {}))
    with OpenAIServer(upstream) if callable(upstream) else nullcontext(upstream) as running:
        here: dict[str, Any] = {"base_url": running.base_url, "cache": False, **PAPER, **context}
        model = open_model("scripted", base_url=running.base_url)
        opened = run_context(model, retriever or Shelf(found=found), judge=judge, **here)
        made = create_app(opened, given)
        made.router.lifespan_context = _closing(opened, made.router.lifespan_context)
        with listening(made, **(server or {})) as (address, loop, app):
            served = Served(address, app, loop, running, key=next(iter(given.keys), None))
            try:
                yield served
            finally:
                served.close()


def _closing(context: RunContext, lifespan: Any) -> Any:
    """The app's lifespan; at its end, the loop that opened the models' connections closes them."""

    @asynccontextmanager
    async def closing(app: FastAPI) -> AsyncIterator[None]:
        async with lifespan(app):
            yield
        for model in {id(one): one for one in (context.generator, context.decomposer)}.values():
            if isinstance(model.chat, BaseChatOpenAI):
                await model.chat.root_async_client.close()

    return closing


@contextmanager
def listening(
    app: FastAPI, *, idle: float = 0.5, unread: float = 20.0, grace: float = 1.0
) -> Iterator[tuple[str, asyncio.AbstractEventLoop, FastAPI]]:
    """An app on a free loopback port, in a thread."""
    listener = open_listener("127.0.0.1", 0)
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    started: list[tuple[asyncio.AbstractEventLoop, Server]] = []

    async def serve() -> None:
        server = Server(app, listener, grace=grace, idle=idle, unread=unread)
        started.append((asyncio.get_running_loop(), server))
        await server.serve()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    loop, server = until(lambda: started)[0]
    until(lambda: server.started)
    try:
        yield address, loop, app
    finally:
        loop.call_soon_threadsafe(server.stop)
        thread.join(60)


def until(found: Callable[[], Any], seconds: float = 110.0, pause: float = 0.01) -> Any:
    """Wait until this is true, and return it; a test's own limit is 120 s."""
    ends = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < ends, "it never came true"
        time.sleep(pause)
    return value


def events_in(stream: str) -> list[tuple[str, Any]]:
    """The events of a stream as (name, data), without comments."""
    events = []
    for block in stream.split("\n\n"):
        lines = [line for line in block.splitlines() if not line.startswith(":")]
        fields = dict(line.split(": ", 1) for line in lines)
        if "data" in fields:
            data = fields["data"]
            parsed = data if data == "[DONE]" else json.loads(data)
            events.append((fields.get("event", "message"), parsed))
    return events
