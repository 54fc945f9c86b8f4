"""Whether a replay finds what the search found, without a network, and how long it takes.

A search server on the loopback interface answers at once, in the JSON of SearXNG. Questions are
asked of it, recorded, and replayed while every connection is refused and counted.
"""

import asyncio
import hashlib
import json
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NoReturn
from unittest.mock import patch
from urllib.parse import parse_qs, urlsplit

import click
from langchain_core.retrievers import BaseRetriever

from conflictscore.retrieval.documents import to_documents
from conflictscore.retrieval.recording.recorder import record_questions
from conflictscore.retrieval.recording.replay import RecordedRetriever
from conflictscore.retrieval.searxng import SearxngRetriever

__all__ = ["main"]

_RESULTS = 10


@click.command(help=__doc__)
@click.option("--questions", default=200, show_default=True, help="Questions to ask.")
@click.option("--kilobytes", default=2, show_default=True, help="Text of each of the ten results.")
def main(questions: int, kilobytes: int) -> None:
    """See the module."""
    asked = [f"Which lighthouse is number {number}?" for number in range(questions)]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "recording.jsonl"
        with _search_server(kilobytes) as endpoint:
            live = SearxngRetriever(endpoint=endpoint, k=_RESULTS)
            found, asking = _ask(live, asked)
            started = time.perf_counter()
            _record(live, asked, out)
            recording = time.perf_counter() - started
        before = _peak_memory()
        with _no_network() as calls:
            started = time.perf_counter()
            replay = RecordedRetriever.from_file(out, k=_RESULTS)
            opening = time.perf_counter() - started
            again, replaying = _ask(replay, asked)
        size = out.stat().st_size
    same = sum(one == other for one, other in zip(found, again, strict=True))
    click.echo(f"identical documents      {same}/{questions}")
    click.echo(f"network calls on replay  {len(calls)}")
    click.echo(f"search                   {1e3 * asking / questions:.2f} ms a question")
    click.echo(f"record                   {1e3 * recording / questions:.2f} ms a question")
    click.echo(
        f"replay                   {1e3 * replaying / questions:.2f} ms a question, and"
        f" {opening:.2f} s to open and check the file"
    )
    click.echo(f"file                     {size / 1e6:.1f} MB")
    click.echo(f"peak memory              {_peak_memory():.0f} MB, {before:.0f} before the replay")
    if same < questions or calls:
        raise click.ClickException("the replay is not what was recorded")


def _record(retriever: BaseRetriever, questions: Sequence[str], out: Path) -> None:
    parameters = {"top_k": _RESULTS, "read_pages": False}
    asyncio.run(
        record_questions(questions, retriever, out, search="searxng", parameters=parameters)
    )


def _ask(retriever: BaseRetriever, questions: Sequence[str]) -> tuple[list[str], float]:
    """A hash of what is found for each question, as a run would see it; and the seconds of search.

    Hashes, so that the documents of all questions need not be held in memory.
    """
    digests, seconds = [], 0.0
    for question in questions:
        started = time.perf_counter()
        found = retriever.invoke(question)
        seconds += time.perf_counter() - started
        documents = [document.to_json() for document in to_documents(found)]
        if len(documents) != _RESULTS:
            raise click.ClickException(f"{len(documents)} documents found, not {_RESULTS}")
        text = json.dumps(documents, sort_keys=True)
        digests.append(hashlib.sha256(text.encode()).hexdigest())
    return digests, seconds


def _peak_memory() -> float:
    """Megabytes that this process held at most so far."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


@contextmanager
def _no_network() -> Iterator[list[str]]:
    """Refuses every connection and every look-up of a name, and lists them."""
    calls: list[str] = []

    def refuse(*given: object) -> NoReturn:
        calls.append(repr(given))
        raise OSError("there is no network during a replay")

    with ExitStack() as patches:
        for owner, name in (
            (socket.socket, "connect"),
            (socket.socket, "connect_ex"),
            (socket.socket, "sendto"),
            (socket, "getaddrinfo"),
        ):
            patches.enter_context(patch.object(owner, name, refuse))
        yield calls


@contextmanager
def _search_server(kilobytes: int) -> Iterator[str]:
    """The address of a server whose results depend on the question alone."""

    class Search(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = {name: v[-1] for name, v in parse_qs(urlsplit(self.path).query).items()}
            body = json.dumps(_reply(asked["q"], kilobytes)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
            """Leave the output to the figures."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Search) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def _reply(question: str, kilobytes: int) -> dict[str, Any]:
    sentence = f"Asked “{question}”, the keeper said that the lamp was lit in "
    return {
        "results": [
            {
                "url": f"https://keeper-{number}.example/lamp?about={question[-5:-1].strip()}",
                "title": f"The keeper’s log, volume {number}",
                "content": (f"{sentence}18{70 + number}. " * (20 * kilobytes))[: 1000 * kilobytes],
                "publishedDate": f"2024-01-{number + 1:02}T00:00:00" if number % 2 else None,
            }
            for number in range(_RESULTS)
        ],
        "unresponsive_engines": [],
    }


if __name__ == "__main__":
    main()
