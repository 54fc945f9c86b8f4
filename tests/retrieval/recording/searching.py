"""A search over loopback whose results depend on the question, and what to ask it."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from conflictscore.retrieval.http_searches import SearxngRetriever
from tests.fakes.search_server import Handler, Received, Reply, SearchServer, json_reply

PARAMETERS: Mapping[str, Any] = {"top_k": 3, "read_pages": False}


def questions(number: int) -> list[str]:
    return [f"Which lamp is number {n}?" for n in range(number)]


def answer(request: Received) -> Reply:
    """Four results about this question; the third repeats the second."""
    question = request.parameters["q"]
    results = [
        {
            "url": f"https://lamp.example/{n}?about={question[-4:-1]}",
            "title": f"Lämp {n}",
            "content": f"Page {n} on: {question} — “lit” in 187{n}.",
            "publishedDate": f"2024-0{n}-01T00:00:00" if n < 3 else None,
        }
        for n in (1, 2, 2, 3)
    ]
    first = request.parameters.get("pageno", "1") == "1"
    return json_reply({"results": results if first else [], "unresponsive_engines": []})


def refusing(refused: Mapping[str, Reply]) -> Handler:
    return lambda request: refused.get(request.parameters["q"]) or answer(request)


@contextmanager
def searching(
    handler: Handler = answer, **options: Any
) -> Iterator[tuple[SearchServer, SearxngRetriever]]:
    """A server, and a retriever that asks it each question once."""
    with SearchServer(handler, **options) as server:
        yield server, SearxngRetriever(endpoint=server.endpoint, k=3, retries=0)


def asked(server: SearchServer) -> list[str]:
    return [request.parameters["q"] for request in server.requests]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
