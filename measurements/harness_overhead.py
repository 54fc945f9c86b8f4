"""What the harness costs a question, beside a bare loop of the same calls in the same run.

The endpoint is simulated and answers at once. The questions are asked three times: by the harness
with six methods, by the same steps without it (no records, no budget, no kept replies), and by a
bare loop that sends the very same requests with the same client library.
"""

import asyncio
import json
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import click
import httpx2
from langchain_openai import ChatOpenAI
from openai import AsyncOpenAI
from pydantic import SecretStr

from conflictscore.benchmarks.harness.definition import Benchmark
from conflictscore.benchmarks.harness.methods.asker import Asker
from conflictscore.benchmarks.harness.methods.method import Asked
from conflictscore.benchmarks.harness.methods.registry import method_of
from conflictscore.benchmarks.harness.records import Question
from conflictscore.benchmarks.harness.setup import RunSettings, Setup
from conflictscore.benchmarks.running import Limits, arun_benchmark
from conflictscore.graph.settings import LoopSettings
from conflictscore.models.ledger import Ledger
from conflictscore.nodes.state import documents_of
from conflictscore.records import Attempt, Document
from measurements.service_load import started

__all__ = ["main"]

_METHODS = (
    "rag",
    "control-rag",
    "regenerated-rag",
    "guarded-rag",
    "resample",
    "placebo",
)
"""Those that the simulated endpoint has a reply for."""


class Took(NamedTuple):
    """Seconds of wall and of processor time."""

    wall: float
    cpu: float


@click.command(help=__doc__)
@click.option("--questions", default=100, show_default=True)
@click.option("--documents", default=10, show_default=True, help="Documents a question.")
@click.option("--concurrency", default=4, show_default=True, help="Questions at a time.")
@click.option("--rounds", default=3, show_default=True, help="The median of so many is given.")
def main(questions: int, documents: int, concurrency: int, rounds: int) -> None:
    """See the module."""
    arguments = ["-m", "measurements.simulated_upstream", "--delay", "0"]
    with started(arguments, "stdout") as address:
        quiz = _quiz(questions, documents)
        taken: dict[str, list[Took]] = {"bare loop": [], "steps": [], "harness": []}
        calls = 0
        for _ in range(rounds):
            bodies: list[dict[str, Any]] = []
            taken["harness"].append(asyncio.run(_harness(quiz, address, concurrency, bodies)))
            taken["steps"].append(asyncio.run(_steps(quiz, address, concurrency)))
            taken["bare loop"].append(asyncio.run(_bare(bodies, address, concurrency)))
            calls = len(bodies)
    click.echo(
        f"{questions} questions, {calls / questions:.1f} calls each, {concurrency} at a time"
    )
    base = _median(taken["bare loop"])
    for name, rows in taken.items():
        wall, cpu = _median(rows)
        click.echo(
            f"{name:10} {1e3 * wall / questions:7.1f} ms a question ({wall / base.wall:.2f} of the"
            f" bare loop)   CPU {1e3 * cpu / questions:7.1f} ms ({cpu / base.cpu:.2f})"
        )


def _median(rows: Sequence[Took]) -> Took:
    return sorted(rows, key=lambda took: took.cpu)[len(rows) // 2]


def _quiz(questions: int, documents: int) -> Benchmark:
    def text(document: int) -> str:
        year = 1871 if document % 2 else 1874
        return f"Ledger number {document} of the harbour: the lamp was first lit in {year}."

    return Benchmark(
        name="lamps",
        form="multiple-choice",
        questions=tuple(
            Question(
                id=f"lamp-{number}",
                question=f"In which year was the lamp of light {number} first lit?",
                options=(
                    f"The lamp of light {number} was lit in 1871.",
                    f"The lamp of light {number} was lit in 1874.",
                ),
                gold=1,
                documents=tuple({"text": text(d)} for d in range(documents)),
            )
            for number in range(questions)
        ),
    )


@asynccontextmanager
async def _client(address: str, bodies: list[dict[str, Any]] | None = None) -> AsyncIterator[Any]:
    async def save(request: httpx2.Request) -> None:
        if bodies is not None:
            bodies.append(json.loads(request.content))

    hooks: dict[str, list[Callable[..., Any]]] = {"request": [save]}
    async with httpx2.AsyncClient(trust_env=False, timeout=600, event_hooks=hooks) as http:
        yield http


def _setup(address: str, http: httpx2.AsyncClient) -> Setup:
    chat = ChatOpenAI(
        model="simulated",
        base_url=address,
        api_key=SecretStr("none"),
        http_async_client=http,
        temperature=0.0,
        use_responses_api=False,
    )
    return Setup.open(
        RunSettings(methods=_METHODS), LoopSettings(labeler="json", cache=False), model=chat
    )


async def _harness(
    quiz: Benchmark, address: str, concurrency: int, bodies: list[dict[str, Any]]
) -> Took:
    with tempfile.TemporaryDirectory() as folder:
        async with _client(address, bodies) as http:
            with _timed() as took:
                run = await arun_benchmark(
                    quiz,
                    Path(folder) / "run",
                    _setup(address, http),
                    limits=Limits(concurrency),
                    retrieval={},
                    hashes={},
                    selection={},
                )
    if run.figures.ended < len(quiz.questions) or run.figures.failed:
        raise click.ClickException("the harness did not end on every question")
    return took[0]


async def _steps(quiz: Benchmark, address: str, concurrency: int) -> Took:
    async with _client(address) as http:
        context = replace(_setup(address, http).context, cache=None)
        asker = Asker(context, context.generator, Ledger().step)

        async def ask(question: Question) -> None:
            found = await asker.documents(question)
            documents = documents_of({"documents": found["documents"]})

            async def itself() -> tuple[Question, tuple[Document, ...]]:
                return question, documents

            asked = Asked(question, documents, itself)
            await method_of("resample").ask(asker, asked)
            loop = await method_of("rag").ask(asker, asked)
            first = Attempt.model_validate(loop["attempts"][0])
            await method_of("placebo").ask(asker, replace(asked, first=first))
            await method_of("control-rag").ask(asker, asked)

        with _timed() as took:
            await _each(quiz.questions, ask, concurrency)
    return took[0]


async def _bare(bodies: Sequence[dict[str, Any]], address: str, concurrency: int) -> Took:
    async with _client(address) as http:
        client = AsyncOpenAI(base_url=address, api_key="none", http_client=http)

        async def send(body: dict[str, Any]) -> None:
            await client.chat.completions.create(**body)

        with _timed() as took:
            await _each(bodies, send, 16)
    return took[0]


async def _each(
    items: Sequence[Any], work: Callable[[Any], Awaitable[None]], concurrency: int
) -> None:
    waiting = iter(items)

    async def one_worker() -> None:
        for item in waiting:
            await work(item)

    await asyncio.gather(*(one_worker() for _ in range(concurrency)))


@contextmanager
def _timed() -> Iterator[list[Took]]:
    took: list[Took] = []
    wall, cpu = time.perf_counter(), time.process_time()
    yield took
    took.append(Took(time.perf_counter() - wall, time.process_time() - cpu))


if __name__ == "__main__":
    main()
