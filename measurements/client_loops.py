"""Compares ways to make the same judge calls in one process, by wall time and CPU time.

A simulated endpoint in its own process takes 100 ms per call and handles 64 calls at a time.
Answers of six claims are scored against ten documents. For each question, the call that splits the
answer is made first. All other calls of the question follow, limited by a semaphore. Four ways are
compared: bare aiohttp, the OpenAI client, LangChain's chat model, and ``label``, which includes
this package's scheduler, retries, checks and a fresh cache. The table shows medians over --rounds,
and the wall time relative to that of aiohttp in the same round. With --faults, the answers are also
scored against an endpoint that fails at times, and every label is compared with that of a run
without faults.
"""

import asyncio
import gc
import json
import os
import re
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import aiohttp
import click
import httpx2
import openai
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage

from conflictscore.cli.common import COLLECT_AFTER
from conflictscore.graph.create import create_conflict_scorer
from conflictscore.labelers import LabelerName
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.spec import open_model
from conflictscore.records import Label
from conflictscore.storage.cache import ContentCache
from measurements.service_load import started

_CLAIMS, _DOCUMENTS, _PLACES = 6, 10, 64  # claims of an ordinary answer; concurrent calls
_BOUND = ("max_tokens", "max_completion_tokens", "extra_body")
"""Arguments that this package adds to the client's settings in each call."""
_FAULTS = ("--malformed=0.2", "--failing=0.05", "--refusing=0.05")
_HEADERS = {"content-type": "application/json", "authorization": "Bearer none"}
_ROW = "{:<28} {:>9} {:>6} {:>8} {:>8} {:>10} {:>14}"
_COLUMNS = (
    *("loop", "questions", "calls", "bound s", "wall s", "x aiohttp"),
    "CPU s / 1,000",
)

T = TypeVar("T")


class _Call(NamedTuple):
    messages: list[BaseMessage]
    bound: dict[str, Any]


class _Cost(NamedTuple):
    seconds: float
    cpu: float


class _Recorder(BaseCallbackHandler):
    """Records the calls of one question in order."""

    def __init__(self) -> None:
        self.calls: list[_Call] = []

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **kwargs: Any
    ) -> None:
        given = kwargs["invocation_params"]
        bound = {name: given[name] for name in _BOUND if name in given}
        self.calls.append(_Call(messages[0], bound))


@click.command(help=__doc__)
@click.option("--questions", "sizes", multiple=True, type=int, default=(1, 20), show_default=True)
@click.option("--labeler", type=click.Choice(("json", "per-document")), default="json")
@click.option("--delay", default=0.1, show_default=True, help="Seconds that each call takes.")
@click.option("--rounds", default=3, show_default=True)
@click.option("--faults", is_flag=True, help="Also score with an endpoint that fails at times.")
def main(
    sizes: tuple[int, ...],
    labeler: LabelerName,
    delay: float,
    rounds: int,
    faults: bool,
) -> None:
    """See the module."""
    endpoint = ["-m", "measurements.simulated_upstream", f"--claims={_CLAIMS}"]
    endpoint += [f"--delay={delay}", f"--places={_PLACES}"]
    click.echo(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    click.echo(_ROW.format(*_COLUMNS))
    clean: list[dict[str, Any]] = []
    with started(endpoint, "stdout") as address:
        for questions in sizes:
            asyncio.run(_compare(address, labeler, questions, rounds, delay))
        if faults:
            clean = asyncio.run(_scored(_model(address), labeler, max(sizes)))
    if faults:
        with started([*endpoint, *_FAULTS], "stdout") as address:
            asyncio.run(_fail(address, labeler, clean))


async def _compare(
    address: str, labeler: LabelerName, questions: int, rounds: int, delay: float
) -> None:
    """Measure all ways in turn, and print a row for each."""
    model = _model(address)
    recorder = _Recorder()
    watched = model.chat.model_copy(update={"callbacks": [recorder]})
    await _scored(replace(model, chat=watched), labeler, 1)
    calls, url = recorder.calls, f"{address}/chat/completions"
    bodies = [_body(model, call) for call in calls]
    async with (
        aiohttp.ClientSession(headers=_HEADERS, connector=aiohttp.TCPConnector(limit=0)) as aio,
        openai.AsyncOpenAI(api_key="none", base_url=address, max_retries=0) as client,
    ):

        async def by_aiohttp(body: dict[str, Any]) -> None:
            async with aio.post(url, data=json.dumps(body).encode()) as response:
                json.loads(await response.read())

        async def by_openai(body: dict[str, Any]) -> None:
            await client.chat.completions.create(**body)

        async def by_chat_model(call: _Call) -> None:
            await model.chat.bind(**call.bound).ainvoke([*call.messages])

        loops: dict[str, Callable[[], Awaitable[object]]] = {
            "aiohttp": lambda: _drive(by_aiohttp, bodies, questions),
            "openai": lambda: _drive(by_openai, bodies, questions),
            "ChatOpenAI": lambda: _drive(by_chat_model, calls, questions),
            "ours": lambda: _scored(model, labeler, questions),
            # a command collects garbage less often, and not among the loaded modules
            "ours, as in a command": lambda: _scored(model, labeler, questions),
        }
        costs: dict[str, list[_Cost]] = {name: [] for name in loops}
        for _ in range(rounds):
            for name, loop in loops.items():
                costs[name].append(await _measured(loop, as_in_command="command" in name))
    # a question's first call splits its answer, and the other calls wait for it
    waves = -(-questions // _PLACES) - (-questions * (len(calls) - 1) // _PLACES)
    for name, of_loop in costs.items():
        wall, cpu = map(statistics.median, zip(*of_loop, strict=True))
        pairs = zip(of_loop, costs["aiohttp"], strict=True)
        ratio = statistics.median(one.seconds / other.seconds for one, other in pairs)
        each = cpu / questions / len(calls) * 1000
        row = (f"{waves * delay:.2f}", f"{wall:.2f}", f"{ratio:.2f}", f"{each:.2f}")
        click.echo(_ROW.format(name, questions, questions * len(calls), *row))


async def _drive(post: Callable[[T], Awaitable[object]], calls: list[T], questions: int) -> None:
    slots = asyncio.Semaphore(_PLACES)

    async def one(call: T) -> None:
        async with slots:
            await post(call)

    async def question() -> None:
        await one(calls[0])
        await asyncio.gather(*map(one, calls[1:]))

    await asyncio.gather(*(question() for _ in range(questions)))


async def _scored(
    model: LanguageModel, labeler: LabelerName, questions: int
) -> list[dict[str, Any]]:
    """Score this many answers concurrently, with a fresh cache."""
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(ContentCache(Path(folder) / "cache.sqlite")) as cache,
    ):
        graph = create_conflict_scorer(replace(model, cache=cache), labeler=labeler, cache=cache)
        states = (graph.ainvoke(_question(n)) for n in range(questions))  # type: ignore[call-overload]
        return list(await asyncio.gather(*states))


def _question(number: int) -> dict[str, Any]:
    """Return an answer with its documents; each number gives a different answer and documents."""
    mark = f"Q{number:04}"
    sentences = [f"The lamp of {mark} was first lit in 1871."]
    sentences += [f"The tower of {mark} has a step {n}." for n in range(1, _CLAIMS)]
    text = (
        "This is what the keepers of the lighthouse wrote down in the year that its lamp was"
        " first lit, in their own books, of which there are many in the archive of the harbour."
    )
    ledgers = [f"Ledger number {n} of {mark}. {text}" for n in range(1, _DOCUMENTS + 1)]
    return {"answer": "\n".join(sentences), "documents": [{"text": ledger} for ledger in ledgers]}


async def _fail(address: str, labeler: LabelerName, clean: Sequence[dict[str, Any]]) -> None:
    """Score the same answers against an endpoint that fails at times, and print the differences."""
    states = await _scored(_model(address), labeler, len(clean))
    async with httpx2.AsyncClient(trust_env=False) as http:
        asked = (await http.get(re.sub("/v1$", "/stats", address))).json()
    calls = sum(state["usage"]["calls"] for state in clean)
    both = zip(map(_labels, clean), map(_labels, states), strict=True)
    judged = [(right, got) for right, got in both if got]
    lost = sum(len(right) - len(got) for right, got in judged)
    pairs = [pair for both in judged for pair in zip(*both, strict=False)]
    unlabelled = sum(label == Label.UNLABELLED for _, label in pairs)
    wrong = sum(label not in (right, Label.UNLABELLED) for right, label in pairs)
    click.echo(
        f"\nWith 20 % malformed replies, 5 % HTTP 500 and 5 % HTTP 429: {len(states)} answers,"
        f" {len(states) - len(judged)} without a score\n"
        f"{asked['calls'] / calls:.2f} requests a call: {asked}\n"
        f"{len(pairs)} pairs: {unlabelled} unlabelled, {wrong} wrong, {lost} lost"
    )


def _labels(state: dict[str, Any]) -> list[str]:
    claims = (state.get("report") or {}).get("claims", [])
    return [pair["label"] for claim in claims for pair in claim["labels"]]


def _model(address: str) -> LanguageModel:
    return open_model("simulated", base_url=address, max_calls=_PLACES)


def _body(model: LanguageModel, call: _Call) -> dict[str, Any]:
    chat: Any = model.chat
    body: dict[str, Any] = chat._get_request_payload(call.messages, **call.bound)
    return body | (body.pop("extra_body", None) or {})


async def _measured(loop: Callable[[], Awaitable[object]], *, as_in_command: bool) -> _Cost:
    thresholds = gc.get_threshold()
    gc.collect()
    if as_in_command:
        gc.freeze()
        gc.set_threshold(*COLLECT_AFTER)
    cpu, begun = time.process_time(), time.perf_counter()
    try:
        await loop()
        return _Cost(time.perf_counter() - begun, time.process_time() - cpu)
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)


if __name__ == "__main__":
    main()
