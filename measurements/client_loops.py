"""Ways to make the same judge calls, in turns in one process: wall time and CPU, ours beside.

A simulated endpoint in a process of its own takes 100 ms a call, 64 calls at a time. For each
question of ``scheduler_overhead`` the call that takes its answer apart is made, and then one for
each pair, under a semaphore: on aiohttp and httpx2 with nothing around them, on the OpenAI client
(over httpx2, and over aiohttp), on LangChain's chat model, and by ``label`` with its scheduler,
retries, checks and cache, once by way of LangChain's client and once directly. Times are those of
medians, and wall time is also given relative to aiohttp's in the same round. With ``--profile``, a
line for each function that the last one spends its time in is printed instead.
"""

import asyncio
import cProfile
import gc
import json
import os
import pstats
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import aiohttp
import click
import httpx2
import openai

from conflictscore.models.language_model import LanguageModel
from measurements.scheduler_overhead import Call, Work, recorded_calls, scored
from measurements.service_load import started

__all__ = ["main"]

_ROW = "{:<28} {:>9} {:>8} {:>8} {:>10} {:>14}"
_HEADERS = {"content-type": "application/json", "authorization": "Bearer none"}
_LINES = 40
_LOOPS = (
    *("aiohttp", "httpx2", "openai", "openai on aiohttp", "ChatOpenAI"),
    *("ours, by LangChain's client", "ours, direct", "ours, direct, gc.freeze()"),
)
_WORK = Work(claims=6, documents=10, places=64, labeler="json")

T = TypeVar("T")
Post = Callable[[Mapping[str, Any]], Awaitable[object]]


@click.command(help=__doc__)
@click.option(
    "--questions", "sizes", multiple=True, type=int, default=(1, 20, 200), show_default=True
)
@click.option("--delay", default=0.1, show_default=True, help="Seconds of a call.")
@click.option("--rounds", default=3, show_default=True, help="The medians of so many are shown.")
@click.option("--only", "wanted", multiple=True, type=click.Choice(_LOOPS), help="Besides aiohttp.")
@click.option("--profile", is_flag=True, help="Where the direct path spends its time.")
def main(
    sizes: tuple[int, ...], delay: float, rounds: int, wanted: tuple[str, ...], profile: bool
) -> None:
    """See the module."""
    endpoint = ["-m", "measurements.simulated_upstream", f"--claims={_WORK.claims}"]
    endpoint += [f"--delay={delay}", f"--places={_WORK.places}"]
    click.echo(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with started(endpoint, "stdout") as address:
        if profile:
            asyncio.run(_profile(_WORK.model(address), max(sizes)))
            return
        click.echo(
            _ROW.format("loop", "questions", "bound s", "wall s", "x aiohttp", "CPU s / 1,000")
        )
        for questions in sizes:
            asyncio.run(_compare(address, questions, rounds, delay, wanted or _LOOPS))


async def _compare(
    address: str, questions: int, rounds: int, delay: float, wanted: Sequence[str]
) -> None:
    model = _WORK.model(address)
    calls = await recorded_calls(_WORK, replace(model, direct=False))
    bodies = [_body(model, call) for call in calls]
    url, waves = f"{address}/chat/completions", -(-questions // _WORK.places)
    waves += -(-questions * (len(calls) - 1) // _WORK.places)
    client = openai.AsyncOpenAI(api_key="none", base_url=address, max_retries=0)
    client_on_aiohttp = client.with_options(http_client=openai.DefaultAioHttpClient())
    connector = aiohttp.TCPConnector(limit=0)
    async with (
        aiohttp.ClientSession(headers=_HEADERS, connector=connector) as aio,
        httpx2.AsyncClient(headers=_HEADERS, limits=openai.DEFAULT_CONNECTION_LIMITS) as http,
        client,
        client_on_aiohttp,
    ):

        async def by_aiohttp(body: Mapping[str, Any]) -> None:
            async with aio.post(url, data=json.dumps(body).encode()) as response:
                json.loads(await response.read())

        async def by_httpx2(body: Mapping[str, Any]) -> None:
            json.loads((await http.post(url, content=json.dumps(body).encode())).content)

        async def by_openai(body: Mapping[str, Any]) -> None:
            await client.chat.completions.create(**body)

        async def by_openai_on_aiohttp(body: Mapping[str, Any]) -> None:
            await client_on_aiohttp.chat.completions.create(**body)

        def bare(post: Post) -> Callable[[], Awaitable[object]]:
            return lambda: _drive(post, bodies, questions)

        async def by_chat_model(call: Call) -> None:
            await model.chat.bind(**call.bound).ainvoke([*call.messages])

        loops: dict[str, Callable[[], Awaitable[object]]] = {
            "aiohttp": bare(by_aiohttp),
            "httpx2": bare(by_httpx2),
            "openai": bare(by_openai),
            "openai on aiohttp": bare(by_openai_on_aiohttp),
            "ChatOpenAI": lambda: _drive(by_chat_model, calls, questions),
            "ours, by LangChain's client": lambda: scored(
                _WORK, replace(model, direct=False), range(questions)
            ),
            "ours, direct": lambda: scored(_WORK, model, range(questions)),
            "ours, direct, gc.freeze()": lambda: scored(_WORK, model, range(questions)),
        }
        names = [name for name in _LOOPS if name == "aiohttp" or name in wanted]
        costs: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
        for _ in range(rounds):
            for name in names:
                costs[name].append(await _measured(loops[name], frozen="freeze" in name))
    for name, of_loop in costs.items():
        wall, cpu = map(statistics.median, zip(*of_loop, strict=True))
        pairs = zip(of_loop, costs["aiohttp"], strict=True)
        ratio = statistics.median(one[0] / other[0] for one, other in pairs)
        each = cpu / questions / len(calls) * 1000
        row = (f"{waves * delay:.2f}", f"{wall:.2f}", f"{ratio:.2f}", f"{each:.2f}")
        click.echo(_ROW.format(name, questions, *row))


async def _drive(post: Callable[[T], Awaitable[object]], calls: list[T], questions: int) -> None:
    slots = asyncio.Semaphore(_WORK.places)

    async def one(call: T) -> None:
        async with slots:
            await post(call)

    async def question() -> None:
        await one(calls[0])
        await asyncio.gather(*map(one, calls[1:]))

    await asyncio.gather(*(question() for _ in range(questions)))


def _body(model: LanguageModel, call: Call) -> dict[str, Any]:
    chat: Any = model.chat
    body: dict[str, Any] = chat._get_request_payload(call.messages, **call.bound)
    return body | (body.pop("extra_body", None) or {})


async def _measured(loop: Callable[[], Awaitable[object]], *, frozen: bool) -> tuple[float, float]:
    gc.collect()
    if frozen:
        gc.freeze()
    cpu, begun = time.process_time(), time.perf_counter()
    try:
        await loop()
        return time.perf_counter() - begun, time.process_time() - cpu
    finally:
        gc.unfreeze()


async def _profile(model: LanguageModel, questions: int) -> None:
    await scored(_WORK, model, [0])  # which imports and connects
    with cProfile.Profile() as profile:
        await scored(_WORK, model, range(questions))
    pstats.Stats(profile).sort_stats("tottime").print_stats(_LINES)


if __name__ == "__main__":
    main()
