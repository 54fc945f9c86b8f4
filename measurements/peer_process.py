"""One peer on what stands on standard input, for ``measurements.peers``.

It runs in the peer's own environment, whose libraries are of other versions than ours, and so
imports nothing of ours.
"""

import asyncio
import json
import os
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from functools import partial
from importlib import import_module, metadata
from math import isnan
from typing import Any

__all__: list[str] = []

_INSTALL = {
    "ragas": "pip install ragas 'langchain-community<0.4' 'langchain-openai<1'",
    "ragchecker": "pip install ragchecker",
}
_MARK = "Q0000"
"""In what is asked about the first sample, and of no other."""


def _main() -> None:
    given = json.load(sys.stdin)
    peer = given["peer"]
    os.environ |= {"RAGAS_DO_NOT_TRACK": "true", "LITELLM_LOCAL_MODEL_COST_MAP": "true"}
    os.environ["OPENAI_API_KEY"] = "none"
    with redirect_stdout(sys.stderr):  # peers print
        try:
            opened = (_Ragas if peer == "ragas" else _RagChecker)(given)
        except ImportError as error:
            sys.exit(f"{peer} cannot be imported in {sys.executable} ({error}): {_INSTALL[peer]}")
        found = _found(opened, given) | {"version": metadata.version(peer)}
    print(json.dumps(found))


def _found(peer: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Each size in turns with a bare loop, or the results alone where there are no sizes."""
    if not given["sizes"]:
        results = peer.results(len(given["samples"]))
        return {"results": results, "calls": _calls(given["stats"])}
    peer.record()
    rows = []
    for size in given["sizes"]:
        for _ in range(given["rounds"]):
            works = (peer.bare, peer.results)
            rows.append([size, *(_measured(partial(work, size), given["stats"]) for work in works)])
    return {
        "rows": rows,
        "waves": peer.waves(),
        "prompts": ["\n".join(texts) for texts in peer.prompts()],
        "results": peer.results(max(given["sizes"])),
    }


def _measured(work: Callable[[], Any], stats: str) -> dict[str, float]:
    calls, cpu, begun = _calls(stats), time.process_time(), time.perf_counter()
    work()
    seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
    return {"seconds": seconds, "cpu": cpu, "calls": _calls(stats) - calls}


def _calls(stats: str) -> int:
    """Requests that the endpoint has had."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(stats) as answer:
        return int(json.load(answer)["calls"])


class _Ragas:
    """RAGAS's faithfulness: a result is the share of the statements that the documents support."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        names = ("ragas", "ragas.llms", "ragas.metrics", "langchain_openai")
        self._ragas, llms, metrics, self._client = map(import_module, names)
        self._chat = self._client.ChatOpenAI(
            model="simulated", base_url=given["address"], api_key="none"
        )
        self._metric = metrics.Faithfulness(llm=llms.LangchainLLMWrapper(self._chat))
        self._samples, self._places = given["samples"], asyncio.Semaphore(given["places"])
        self._recorded: list[Any] = []
        self._runner = asyncio.Runner()

    def results(self, size: int) -> list[float | None]:
        return self._all(self._result, size)

    def bare(self, size: int) -> None:
        self._all(self._bare, size)

    def waves(self) -> list[int]:
        """Calls of a question that are made at once."""
        return [1] * len(self._recorded)

    def prompts(self) -> list[list[str]]:
        return [[message.content for message in messages] for messages in self._recorded]

    def record(self) -> None:
        made, recorded = self._client.ChatOpenAI._agenerate, self._recorded

        async def noted(chat: Any, messages: Sequence[Any], *given: Any, **more: Any) -> Any:
            recorded.append(messages)
            return await made(chat, messages, *given, **more)

        self._client.ChatOpenAI._agenerate = noted
        try:
            self.results(1)
        finally:
            self._client.ChatOpenAI._agenerate = made

    def _all(self, work: Callable[[int], Any], size: int) -> list[Any]:
        async def together() -> list[Any]:
            return list(await asyncio.gather(*map(work, range(size))))

        return self._runner.run(together())

    async def _result(self, number: int) -> float | None:
        sample = self._ragas.SingleTurnSample(
            user_input=self._samples[number]["question"],
            response=self._samples[number]["answer"],
            retrieved_contexts=self._samples[number]["documents"],
        )
        async with self._places:
            try:
                score = float(await self._metric.single_turn_ascore(sample))
            except Exception:  # noqa: BLE001 - whatever it raises, there is no score
                return None
        return None if isnan(score) else score

    async def _bare(self, number: int) -> None:
        async with self._places:
            for messages in self._recorded:
                said = [
                    m.model_copy(update={"content": m.content.replace(_MARK, f"Q{number:04}")})
                    for m in messages
                ]
                await self._chat.ainvoke(said)


class _RagChecker:
    """RAGChecker's faithfulness: a result is the labels of each claim, one a document."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._ragchecker = import_module("ragchecker")
        self._calling: Any = import_module("refchecker.utils")
        self._checker = self._ragchecker.RAGChecker(
            extractor_name="openai/simulated",
            checker_name="openai/simulated",
            extractor_api_base=given["address"],
            checker_api_base=given["address"],
            batch_size_extractor=given["places"],
            batch_size_checker=given["places"],
        )
        self._samples, self._places = given["samples"], given["places"]
        self._given, self._recorded = given, list[list[Any]]()

    def results(self, size: int) -> list[Any]:
        rows = [
            {
                "query_id": str(number),
                "query": sample["question"],
                "gt_answer": sample["answer"],
                "response": sample["answer"],
                "retrieved_context": [
                    {"doc_id": str(place), "text": text}
                    for place, text in enumerate(sample["documents"])
                ],
            }
            for number, sample in enumerate(self._samples[:size])
        ]
        batch = self._ragchecker.RAGResults.from_dict({"results": rows})
        self._checker.check_claims(batch, check_type="retrieved2response")
        return [result.retrieved2response for result in batch.results]

    def bare(self, size: int) -> None:
        for wave in self._recorded:
            said = [
                [{**m, "content": m["content"].replace(_MARK, f"Q{number:04}")} for m in messages]
                for number in range(size)
                for messages in wave
            ]
            self._calling.batch_completion(
                model="openai/simulated",
                messages=said,
                api_base=self._given["address"],
                max_workers=self._places,
            )

    def waves(self) -> list[int]:
        """Calls of a question that are made at once."""
        return [len(wave) for wave in self._recorded]

    def prompts(self) -> list[list[str]]:
        return [[m["content"] for m in messages] for wave in self._recorded for messages in wave]

    def record(self) -> None:
        made = self._calling.batch_completion

        def noted(**given: Any) -> Any:
            self._recorded.append(given["messages"])
            return made(**given)

        self._calling.batch_completion = noted
        try:
            self.results(1)
        finally:
            self._calling.batch_completion = made


if __name__ == "__main__":
    _main()
