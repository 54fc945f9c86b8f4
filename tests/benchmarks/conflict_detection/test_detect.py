"""Claims are judged by any labeler, each pair once, and a death in mid-run costs nothing."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from conflictscore.benchmarks.conflict_detection.detect import VerdictFile, detect, judged_groups
from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup, GroupDocument
from conflictscore.benchmarks.conflict_detection.measures import DetectionFigures, detection_figures
from conflictscore.errors import BudgetError, ConfigurationError, InputError
from conflictscore.labelers.cascade import Cascade
from conflictscore.labelers.choice_judge import ChoiceJudge
from conflictscore.labelers.json_judge import JsonJudge
from conflictscore.labelers.protocol import Labeler
from conflictscore.models.ledger import Ledger, attach
from conflictscore.models.spec import from_chat_model
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim, Document, EvidenceLabel, Label
from conflictscore.storage.cache import ContentCache
from tests.benchmarks.conflict_detection.claims import C, N, S, U, verdict
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply
from tests.world import World, scripted_model


def lamp(name: str, *years: str, conflict: bool) -> ClaimGroup:
    """A claim for 1871, and documents with these years or without any."""
    gold = [S if year == "1871" else C if year else N for year in years]
    return ClaimGroup(
        set="lamps",
        id=name,
        claim=f"The lamp of {name} was lit in 1871.",
        documents=tuple(
            GroupDocument(text=f"The lamp of {name} was lit, says page {n}. {year}", label=label)
            for n, (year, label) in enumerate(zip(years, gold, strict=True), start=1)
        ),
        has_conflict=conflict,
    )


LAMPS = [
    lamp("Ayr", "1871", "1874", "", conflict=True),
    lamp("Bute", "1871", "1871", conflict=False),
    lamp("Coll", "1874", "1871", conflict=True),
    lamp("Danna", "", conflict=False),
]


def judge_of(server: OpenAIServer, kind: type[JsonJudge] | type[ChoiceJudge]) -> Labeler:
    return kind(from_chat_model(scripted_model(server)), PromptSet.load())


async def run(
    judge: Labeler, path: Path, groups: list[ClaimGroup] = LAMPS, *, retry_failed: bool = False
) -> DetectionFigures:
    with VerdictFile.open(path, judge) as verdicts:
        await detect(judge, groups, verdicts, concurrency=2, retry_failed=retry_failed)
        return detection_figures(judge.name, list(judged_groups(groups, verdicts)), verdicts.rows)


@pytest.mark.parametrize("kind", [JsonJudge, ChoiceJudge])
async def test_a_scripted_model_finds_what_there_is(
    kind: type[JsonJudge] | type[ChoiceJudge], tmp_path: Path
) -> None:
    world = World()
    with OpenAIServer(world) as server:
        figures = await run(judge_of(server, kind), tmp_path / "out.jsonl")

    assert world.asked.total() == 8
    overall = figures.overall
    assert (overall.detection.true_positives, overall.detection.true_negatives) == (2, 2)
    assert overall.detection.f1.value == overall.labels.macro_f1.value == 1
    assert overall.usage.calls == 8
    assert overall.usage.input_tokens > 0
    assert overall.seconds > 0


async def test_what_is_judged_is_never_asked_again(tmp_path: Path) -> None:
    world, path = World(), tmp_path / "out.jsonl"
    with OpenAIServer(world) as server:
        judge = judge_of(server, JsonJudge)
        await run(judge, path, LAMPS[:2])
        assert world.asked.total() == 5
        whole = await run(judge, path)
        assert world.asked.total() == 8
        again = await run(judge, path)

    assert world.asked.total() == 8
    assert again == whole
    assert whole.overall.usage.calls == 8


async def test_a_changed_document_is_judged_anew(tmp_path: Path) -> None:
    world, path = World(), tmp_path / "out.jsonl"
    ayr = LAMPS[0]
    changed = ayr.documents[1].model_copy(update={"text": "The lamp of Ayr: 1871"})
    corrected = ayr.model_copy(update={"documents": (ayr.documents[0], changed)})
    with OpenAIServer(world) as server:
        judge = judge_of(server, JsonJudge)
        before = await run(judge, path, [ayr])
        after = await run(judge, path, [corrected])

    assert world.asked.total() == 4
    assert before.overall.detection.true_positives == 1
    assert after.overall.detection.true_positives == 0


async def test_a_verdict_of_the_cache_costs_no_call(tmp_path: Path) -> None:
    world, cache = World(), ContentCache(tmp_path / "cache.sqlite")
    with OpenAIServer(world) as server:
        judge = judge_of(server, JsonJudge)
        for name in ("one", "other"):
            with VerdictFile.open(tmp_path / f"{name}.jsonl", judge) as verdicts:
                await detect(judge, LAMPS, verdicts, cache=cache)
                used = [row.usage for row in verdicts.rows]
    cache.close()

    assert world.asked.total() == 8
    assert sum(usage.cached_calls for usage in used) == 8
    assert not any(usage.calls for usage in used)


async def test_a_failure_stays_one_until_it_is_tried_again(tmp_path: Path) -> None:
    world, path = World(broken={"label": Fault(status=500)}), tmp_path / "out.jsonl"
    with OpenAIServer(world) as server:
        judge = judge_of(server, JsonJudge)
        failed = await run(judge, path)
        world.broken.clear()
        same = await run(judge, path)
        tried = await run(judge, path, retry_failed=True)

    assert failed.overall.labels.unlabelled == 8
    assert failed.overall.undecidable == 3
    assert same == failed
    assert tried.overall.labels.unlabelled == 0
    assert tried.overall.detection.true_positives == 2


async def test_verdicts_of_another_labeler_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    with OpenAIServer(World()) as server:
        await run(judge_of(server, JsonJudge), path)
        kept = path.read_bytes()
        with pytest.raises(InputError, match=r"row 1, field labeler: .* with 'json\(scripted\)'"):
            await run(judge_of(server, ChoiceJudge), path)

    assert path.read_bytes() == kept


class Misconfigured:
    """A labeler that cannot judge any pair."""

    name = "none"
    identity = None

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        raise ConfigurationError("no model is there")


async def test_a_wrong_setting_ends_the_run_with_its_one_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no model is there"):
        await run(Misconfigured(), tmp_path / "out.jsonl")


class Sure:
    """Certain of every pair, by the year."""

    name = "sure"
    identity: Mapping[str, Any] | None = {"labeler": "sure"}

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        label = Label.SUPPORTS if "1871" in document.text else Label.CONTRADICTS
        return verdict(document.number, label).model_copy(update={"score": 0.99})


async def test_what_a_cascade_left_open_is_judged_beside_what_it_had_settled(
    tmp_path: Path,
) -> None:
    world = World(broken={"label": Fault(400, message="no such luck")})
    group, file = lamp("Ayr", "1871", "1871", "1874", conflict=True), tmp_path / "out.jsonl"
    with OpenAIServer(world) as server:
        cascade = Cascade(Sure(), judge_of(server, JsonJudge))
        await run(cascade, file, [group])
        world.broken = {}
        await run(cascade, file, [group], retry_failed=True)
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    labels = [row["label"] for row in rows if "label" in row]
    assert sorted(label["document"] for label in labels) == [1, 2, 3, 3]
    third = [label for label in labels if label["document"] == 3]
    assert [label["label"] for label in third] == ["UNLABELLED", "CONTRADICTS"]
    assert third[1]["stage"].startswith("json(")


async def test_where_the_budget_ends_a_verdict_in_flight_is_kept(tmp_path: Path) -> None:
    world = World()
    with held_at(world, "Ayr") as (server, release):
        model = attach(from_chat_model(scripted_model(server)), Ledger(max_calls=2))
        groups = [lamp("Ayr", "1871", conflict=False), lamp("Bute", "1871", "1874", conflict=True)]

        def ended(label: EvidenceLabel) -> None:
            asyncio.get_running_loop().call_later(0.2, release.set)

        with VerdictFile.open(
            tmp_path / "out.jsonl", judge := JsonJudge(model, PromptSet.load())
        ) as verdicts:
            with pytest.raises(BudgetError):
                await detect(judge, groups, verdicts, concurrency=2, on_pair=ended)
            assert [len(verdicts.labels(group)) for group in groups] == [1, 1]


_KILLED = """
import asyncio, sys
from pathlib import Path
from tests.benchmarks.conflict_detection.test_detect import LAMPS, judge_at, run
asyncio.run(run(judge_at(sys.argv[1]), Path(sys.argv[2]), LAMPS))
"""


def judge_at(url: str) -> Labeler:
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    chat = ChatOpenAI(
        model="scripted", base_url=url, api_key=SecretStr("key"), use_responses_api=False
    )
    return JsonJudge(from_chat_model(chat), PromptSet.load())


@contextmanager
def held_at(world: World, name: str) -> Iterator[tuple[OpenAIServer, threading.Event]]:
    """A server that does not answer what is asked of one lamp, until the event is set."""
    release = threading.Event()

    def answer(request: ChatRequest) -> Reply | str | Fault:
        if f"lamp of {name}" in request.prompt:
            release.wait(60)
        return world(request)

    with OpenAIServer(answer) as server:
        try:
            yield server, release
        finally:
            release.set()


@pytest.mark.skipif(sys.platform == "win32", reason="kills by signal")
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_killed_goes_on_where_it_was(by: signal.Signals, tmp_path: Path) -> None:
    world, path = World(), tmp_path / "out.jsonl"
    with held_at(world, "Coll") as (server, release):
        process = subprocess.Popen(
            [sys.executable, "-c", _KILLED, server.base_url, str(path)],
            cwd=Path(__file__).parents[3],
            env={**os.environ, "LANGSMITH_TRACING": "false"},
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 100
        while not path.exists() or path.read_bytes().count(b"\n") < 1 + 6:
            assert time.monotonic() < deadline, "the run did not get to the lamp that holds it up"
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(by)
        assert process.wait(60) != 0
        kept = path.read_bytes()
        release.set()
        figures = asyncio.run(run(judge_at(server.base_url), path))

    assert path.read_bytes().startswith(kept)
    judged = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    assert len({(row["group"], row["label"]["document"]) for row in judged}) == len(judged) == 8
    assert figures.overall.detection.true_positives == 2
    assert not any(row["label"]["label"] == U for row in judged)
