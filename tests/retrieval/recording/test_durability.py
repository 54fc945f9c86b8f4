"""A recording that is killed again and again, by the signal that nothing can catch."""

import asyncio
import json
import multiprocessing
import random
import threading
import time
from pathlib import Path
from typing import Any

from conflictscore.retrieval.http_searches import SearxngRetriever
from conflictscore.retrieval.recording import record_questions
from tests.fakes.search_server import Received, Reply
from tests.retrieval.recording.searching import (
    PARAMETERS,
    answer,
    asked,
    lines,
    questions,
    searching,
)

_KILLS = 10
_MOST_A_RUN = 3
_IN_FLIGHT = 3


def _record(endpoint: str, number: int, out: Path) -> None:
    retriever = SearxngRetriever(endpoint=endpoint, k=3, retries=0)
    asyncio.run(
        record_questions(
            questions(number),
            retriever,
            out,
            search="searxng",
            parameters=PARAMETERS,
            concurrency=_IN_FLIGHT,
        )
    )


def _without_times(path: Path) -> list[dict[str, Any]]:
    """What was recorded, by question."""
    found = [
        {key: value for key, value in line.items() if key != "recorded_at"} for line in lines(path)
    ]
    return sorted(found, key=lambda line: str(line["question"]))


def test_ten_kills_at_random_instants_lose_nothing_and_ask_nothing_recorded_again(
    tmp_path: Path,
) -> None:
    wanted, rng = questions(64), random.Random(7)
    undisturbed, killed = tmp_path / "undisturbed.jsonl", tmp_path / "killed.jsonl"
    spawning = multiprocessing.get_context("forkserver")
    spawning.set_forkserver_preload([__name__])
    many, dead = threading.Event(), threading.Event()
    until = 0

    def handler(request: Received) -> Reply:
        if len(server.requests) >= until:
            many.set()
        if len(server.requests) > until + _IN_FLIGHT:
            dead.wait(60)  # no run may end before it is killed
        if request.parameters["q"] in recorded:
            asked_though_recorded.append(request.parameters["q"])
        return answer(request)

    recorded: set[str] = set()
    asked_though_recorded: list[str] = []
    kills_within_a_run = 0
    with searching(handler) as (server, _):
        for _ in range(_KILLS):
            many.clear()
            dead.clear()
            until = len(server.requests) + rng.randint(1, _MOST_A_RUN)
            process = spawning.Process(
                target=_record, args=(server.endpoint, len(wanted), killed), daemon=True
            )
            process.start()
            assert many.wait(60)
            time.sleep(rng.uniform(0, 0.02))  # any instant of asking, writing and syncing
            process.kill()
            process.join(60)
            dead.set()
            kills_within_a_run += process.exitcode == -9
            recorded = {
                json.loads(line)["question"]
                for line in killed.read_bytes().splitlines(keepends=True)
                if line.endswith(b"\n")
            }
        _record(server.endpoint, len(wanted), killed)
        asked_in_all = len(asked(server))

    with searching() as (server, _):
        _record(server.endpoint, len(wanted), undisturbed)

    assert kills_within_a_run == _KILLS
    assert [line["question"] for line in _without_times(killed)] == sorted(wanted)
    assert _without_times(killed) == _without_times(undisturbed)
    assert asked_though_recorded == []
    assert len(wanted) <= asked_in_all <= len(wanted) + _KILLS * _IN_FLIGHT
