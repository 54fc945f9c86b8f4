"""RAGAS's faithfulness on what stands on standard input, for ``conflictscore.benchmarks.peers``.

It runs in RAGAS's own environment, whose client libraries are of other versions than ours, and so
imports nothing of this package.
"""

import asyncio
import json
import os
import sys
import time
import urllib.request
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from math import isnan, nan
from typing import Any

__all__: list[str] = []

_INSTALL = "pip install ragas 'langchain-community<0.4' 'langchain-openai<1'"
_MARK = "Q0000"
"""In what is asked about the first sample, and of no other."""


def _main() -> None:
    given = json.load(sys.stdin)
    os.environ.setdefault("RAGAS_DO_NOT_TRACK", "true")
    try:
        names = ("ragas", "ragas.llms", "ragas.metrics", "langchain_openai")
        ragas, llms, metrics, client = map(import_module, names)
    except ImportError as error:
        sys.exit(f"RAGAS cannot be imported in {sys.executable} ({error}): {_INSTALL}")
    print(json.dumps(asyncio.run(_run(given, ragas, llms, metrics, client))))


async def _run(given: Mapping[str, Any], ragas: Any, llms: Any, metrics: Any, client: Any) -> Any:
    """Each size in turns with a bare loop, or the scores alone where there are no rounds."""
    chat = client.ChatOpenAI(model="simulated", base_url=given["address"], api_key="none")
    metric = metrics.Faithfulness(llm=llms.LangchainLLMWrapper(chat))
    samples, slots = given["samples"], asyncio.Semaphore(given["places"])
    recorded: list[Any] = []

    async def score(number: int) -> float:
        sample = ragas.SingleTurnSample(**samples[number])
        async with slots:
            try:
                return float(await metric.single_turn_ascore(sample))
            except Exception:  # noqa: BLE001 - whatever it raises, there is no score
                return nan

    async def bare(number: int) -> None:
        async with slots:
            for messages in recorded:
                said = [
                    m.model_copy(update={"content": m.content.replace(_MARK, f"Q{number:04}")})
                    for m in messages
                ]
                await chat.ainvoke(said)

    async def alone(size: int) -> None:
        await asyncio.gather(*map(bare, range(size)))

    async def scores(size: int) -> list[float]:
        return list(await asyncio.gather(*map(score, range(size))))

    if not given["sizes"]:
        broken = await scores(len(samples))
        return {
            "scores": [None if isnan(score) else score for score in broken],
            "calls": _calls(given["stats"]),
        }
    recorded += await _recorded(client, partial(scores, 1))
    rows = []
    for size in given["sizes"]:
        for _ in range(given["rounds"]):
            costs = [
                await _measured(partial(loop, size), given["stats"]) for loop in (alone, scores)
            ]
            rows.append([size, *costs])
    return {
        "version": ragas.__version__,
        "rows": rows,
        "prompts": ["\n".join(m.content for m in messages) for messages in recorded],
        "scores": await scores(max(given["sizes"])),
    }


async def _recorded(client: Any, work: Callable[[], Awaitable[Any]]) -> list[Any]:
    """The messages of the calls that are made in this time, in order."""
    calls: list[Any] = []
    made = client.ChatOpenAI._agenerate

    async def noted(self: Any, messages: Sequence[Any], *given: Any, **more: Any) -> Any:
        calls.append(messages)
        return await made(self, messages, *given, **more)

    client.ChatOpenAI._agenerate = noted
    try:
        await work()
    finally:
        client.ChatOpenAI._agenerate = made
    return calls


async def _measured(work: Callable[[], Awaitable[Any]], stats: str) -> dict[str, float]:
    calls, cpu, begun = _calls(stats), time.process_time(), time.perf_counter()
    await work()
    seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
    return {"seconds": seconds, "cpu": cpu, "calls": _calls(stats) - calls}


def _calls(stats: str) -> int:
    """Requests that the endpoint has had."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(stats) as answer:
        return int(json.load(answer)["calls"])


if __name__ == "__main__":
    _main()
