"""Overhead of the loop around its calls: wall time, CPU, memory; and its labels under faults.

A simulated endpoint in a process of its own takes 100 ms a call, 64 calls at a time. Answers of six
claims are scored against ten documents in every mode of the LLM judge (pairwise, ``json``, that is
61 calls a question), each question's pairs and replies in a fresh cache. Beside it, in the same
process and in turns, a bare loop makes the same calls on LangChain's client: for each question the
one that takes the answer apart and then the others, under a semaphore. Then the endpoint fails, and
every label is compared with that of a run without faults.
"""

import asyncio
import gc
import os
import re
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, get_args

import click
import httpx2
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage

from conflictscore.graph.chains import ScoringGraph
from conflictscore.graph.create import create_conflict_scorer
from conflictscore.labelers import LabelerName
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.spec import open_model
from conflictscore.records import Label
from conflictscore.storage.cache import ContentCache
from measurements.service_load import started

__all__ = ["FAULTS", "Call", "Work", "main", "recorded_calls", "scored"]

_MIB_KB = 1024
_BOUND = ("max_tokens", "max_completion_tokens", "extra_body")
"""Arguments of a call that the loop adds to the client's own settings."""
_MARK = "Q0000"
_UNASKED = ("choice", "nli", "cascade")
"""Labelers that need what the simulated endpoint does not have, or no endpoint."""
_MODES = tuple(name for name in get_args(LabelerName) if name not in _UNASKED)
_ROW = "{:<12} {:>9} {:>8} {:>8} {:>8} {:>7} {:>10} {:>10} {:>8} {:>7} {:>10} {:>10}"
_COLUMNS = (
    "labeler",
    "questions",
    "bound s",
    "bare s",
    "loop s",
    "x bare",
    "bare CPU",
    "loop CPU",
    "added",
    "calls",
    "bare MiB",
    "loop MiB",
)
FAULTS = ("--malformed=0.2", "--failing=0.05", "--refusing=0.05")
"""How the simulated endpoint fails."""


class Call(NamedTuple):
    """A call of a chat model."""

    messages: list[BaseMessage]
    bound: dict[str, Any]


class _Cost(NamedTuple):
    seconds: float
    cpu: float
    peak_mib: float
    calls: int


class _Recorder(BaseCallbackHandler):
    """Writes down the calls of one question, the first one first."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **kwargs: Any
    ) -> None:
        given = kwargs["invocation_params"]
        bound = {name: given[name] for name in _BOUND if name in given}
        self.calls.append(Call(messages[0], bound))


@click.command(help=__doc__)
@click.option(
    "--questions", "sizes", multiple=True, type=int, default=(1, 20, 200), show_default=True
)
@click.option(
    "--labeler",
    "labelers",
    multiple=True,
    type=click.Choice(_MODES),
    default=_MODES,
    show_default=True,
)
@click.option("--claims", default=6, show_default=True)
@click.option("--documents", default=10, show_default=True)
@click.option("--delay", default=0.1, show_default=True, help="Seconds of a call.")
@click.option("--places", default=64, show_default=True, help="Calls at a time.")
@click.option("--rounds", default=3, show_default=True, help="The medians of so many are shown.")
@click.option("--faults/--no-faults", default=True, show_default=True)
def main(
    sizes: tuple[int, ...],
    labelers: tuple[LabelerName, ...],
    claims: int,
    documents: int,
    delay: float,
    places: int,
    rounds: int,
    faults: bool,
) -> None:
    """See the module."""
    click.echo(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    endpoint = ["-m", "measurements.simulated_upstream", f"--claims={claims}"]
    endpoint += [f"--delay={delay}", f"--places={places}"]
    works = [Work(claims, documents, places, labeler) for labeler in labelers]
    click.echo(_ROW.format(*_COLUMNS) + "   (CPU: seconds per 1,000 calls)")
    clean = {}
    with started(endpoint, "stdout") as address:
        for work in works:
            for questions in sizes:
                asyncio.run(_compare(work, address, questions, rounds, delay))
            if faults:
                clean[work] = asyncio.run(scored(work, work.model(address), range(max(sizes))))
    for work, states in clean.items():
        with started([*endpoint, *FAULTS], "stdout") as address:
            asyncio.run(_fail(work, address, states))


class Work(NamedTuple):
    """Questions of one shape."""

    claims: int
    documents: int
    places: int
    labeler: LabelerName

    def question(self, number: int) -> dict[str, Any]:
        """An answer with its documents, unlike those of another number."""
        mark = f"Q{number:04}"
        sentences = [f"The lamp of {mark} was first lit in 1871."]
        sentences += [f"The tower of {mark} has a step {n}." for n in range(1, self.claims)]
        text = (
            "This is what the keepers of the lighthouse wrote down in the year that its lamp was"
            " first lit, in their own books, of which there are many in the archive of the harbour."
        )
        documents = [
            {"text": f"Ledger number {n} of {mark}. {text}"} for n in range(1, self.documents + 1)
        ]
        return {"answer": "\n".join(sentences), "documents": documents}

    def model(self, address: str) -> LanguageModel:
        """The simulated model."""
        return open_model("simulated", base_url=address, max_calls=self.places)


async def _compare(work: Work, address: str, questions: int, rounds: int, delay: float) -> None:
    """Measure both loops in turns and print a row."""
    model = work.model(address)
    calls = await recorded_calls(work, model)
    await scored(work, model, [0])  # which warms up

    async def bare() -> int:
        return await _bare(work, model, calls, questions)

    async def loop() -> int:
        states = await scored(work, model, range(questions))
        return sum(state["usage"]["calls"] for state in states)

    await _bare(work, model, calls, 1)
    costs: dict[str, list[_Cost]] = {"bare": [], "loop": []}
    for _ in range(rounds):
        costs["bare"].append(await _measured(bare))
        costs["loop"].append(await _measured(loop))
    middle = {name: _middle(of_loop) for name, of_loop in costs.items()}
    bare_cost, loop_cost = middle["bare"], middle["loop"]
    per_thousand = {name: cost.cpu / cost.calls * 1000 for name, cost in middle.items()}
    ratios = [b.seconds / a.seconds for a, b in zip(costs["bare"], costs["loop"], strict=True)]
    # the others wait for a question's first call, which takes its answer apart
    waves = -(-questions // work.places)
    waves += -(-questions * (len(calls) - 1) // work.places)
    click.echo(
        _ROW.format(
            work.labeler,
            questions,
            f"{waves * delay:.2f}",
            f"{bare_cost.seconds:.2f}",
            f"{loop_cost.seconds:.2f}",
            f"{statistics.median(ratios):.2f}",
            f"{per_thousand['bare']:.2f}",
            f"{per_thousand['loop']:.2f}",
            f"{per_thousand['loop'] - per_thousand['bare']:.2f}",
            loop_cost.calls,
            f"{bare_cost.peak_mib:.0f}",
            f"{loop_cost.peak_mib:.0f}",
        )
    )


async def _bare(work: Work, model: LanguageModel, calls: Sequence[Call], questions: int) -> int:
    """The same calls, one and then the others of each question, and nothing around them."""
    slots = asyncio.Semaphore(work.places)

    async def one(call: Call, mark: str) -> None:
        said = [
            message.model_copy(update={"content": message.text.replace(_MARK, mark)})
            for message in call.messages
        ]
        async with slots:
            await model.chat.bind(**call.bound).ainvoke(said)

    async def question(number: int) -> None:
        mark = f"Q{number:04}"
        await one(calls[0], mark)
        await asyncio.gather(*(one(call, mark) for call in calls[1:]))

    await asyncio.gather(*(question(number) for number in range(questions)))
    return questions * len(calls)


async def recorded_calls(work: Work, model: LanguageModel) -> list[Call]:
    """The calls of one question, the first one first."""
    recorder = _Recorder()
    watched = model.chat.model_copy(update={"callbacks": [recorder]})
    await scored(work, replace(model, chat=watched), [0])
    return recorder.calls


async def scored(work: Work, model: LanguageModel, numbers: Sequence[int]) -> list[dict[str, Any]]:
    """Score the answers of these numbers, all at once, in a fresh cache."""
    with _fresh_scorer(work, model) as graph:
        states = await asyncio.gather(*(graph.ainvoke(work.question(n)) for n in numbers))  # type: ignore[call-overload]
    return list(states)


@contextmanager
def _fresh_scorer(work: Work, model: LanguageModel) -> Iterator[ScoringGraph]:
    with tempfile.TemporaryDirectory() as folder:
        cache = ContentCache(Path(folder) / "cache.sqlite")
        try:
            kept = replace(model, cache=cache)
            yield create_conflict_scorer(kept, labeler=work.labeler, cache=cache)
        finally:
            cache.close()


def _of(state: dict[str, Any]) -> list[str]:
    """The labels of a question, claim by claim and document by document."""
    claims = (state.get("report") or {}).get("claims", [])
    return [pair["label"] for claim in claims for pair in claim["labels"]]


async def _fail(work: Work, address: str, clean: Sequence[dict[str, Any]]) -> None:
    """Score what was scored before against an endpoint that fails; print the result."""
    states: list[dict[str, Any]] = []

    async def loop() -> int:
        states.extend(await scored(work, work.model(address), range(len(clean))))
        return sum(state["usage"]["calls"] for state in clean)

    cost = await _measured(loop)
    async with httpx2.AsyncClient(trust_env=False) as http:
        asked = (await http.get(re.sub("/v1$", "/stats", address))).json()
    labels = [_of(state) for state in states]
    right_ones = map(_of, clean)
    judged = [(right, got) for right, got in zip(right_ones, labels, strict=True) if got]
    lost = sum(len(right) - len(got) for right, got in judged)
    all_pairs = (pair for right, got in judged for pair in zip(right, got, strict=False))
    pairs = [pair for pair in all_pairs if pair[0] != Label.UNLABELLED]  # claims that are left out
    listed = sum(label == Label.UNLABELLED for _, label in pairs)
    wrong = sum(label not in (right, Label.UNLABELLED) for right, label in pairs)
    requests, per_thousand = asked["calls"], cost.cpu / cost.calls * 1000
    click.echo(
        f"\n{work.labeler}, with 20 % malformed replies, 5 % HTTP 500 and 5 % HTTP 429,"
        f" {len(clean)} questions"
        f" in {cost.seconds:.1f} s, {per_thousand:.2f} CPU seconds per 1,000 calls:\n"
        f"  {len(states)} questions ended, {len(states) - len(judged)} of them without a score, as"
        " their claims could not be read\n"
        f"  {requests} requests for {cost.calls} calls ({requests / cost.calls:.2f} times):"
        f" {asked['answered']} answered, {asked['malformed']} malformed, {asked['500']} with 500,"
        f" {asked['429']} with 429\n"
        f"  {len(pairs)} pairs: {len(pairs) - listed - wrong} as without faults,"
        f" {listed} listed as unlabelled, {wrong} wrong, {lost} lost"
    )


async def _measured(work: Callable[[], Awaitable[int]]) -> _Cost:
    gc.collect()
    _forget_peak()
    cpu, begun = time.process_time(), time.perf_counter()
    calls = await work()
    seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
    return _Cost(seconds, cpu, _peak_mib(), calls)


def _middle(costs: Sequence[_Cost]) -> _Cost:
    seconds, cpu, peak, calls = zip(*costs, strict=True)
    return _Cost(
        statistics.median(seconds), statistics.median(cpu), max(peak), int(statistics.median(calls))
    )


def _forget_peak() -> None:
    """Have Linux begin anew with the highest memory use that it keeps."""
    Path("/proc/self/clear_refs").write_text("5")


def _peak_mib() -> float:
    status = Path("/proc/self/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) / _MIB_KB if found else float("nan")


if __name__ == "__main__":
    main()
