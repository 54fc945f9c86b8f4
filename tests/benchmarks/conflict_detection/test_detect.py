"""Any labeler can judge claims; verdicts are cached as they arrive."""

from pathlib import Path
from typing import Any

import pytest

from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup, GroupDocument
from conflictscore.benchmarks.conflict_detection.measures import (
    DetectionFigures,
    detect,
    detection_figures,
)
from conflictscore.errors import ConfigurationError
from conflictscore.labelers.choice_judge import ChoiceJudge
from conflictscore.labelers.json_judge import JsonJudge
from conflictscore.labelers.protocol import Labeler
from conflictscore.models.spec import from_chat_model
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.storage.cache import ContentCache
from tests.benchmarks.conflict_detection.claims import C, N, S
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply
from tests.world import World, scripted_model


def lamp(name: str, *years: str, conflict: bool) -> ClaimGroup:
    """A claim of 1871, and documents with these years or without a year."""
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


def judge_of(server: OpenAIServer, kind: Any = JsonJudge) -> Labeler:
    made: Labeler = kind(from_chat_model(scripted_model(server)), PromptSet.load())
    return made


async def run(judge: Labeler, cache: ContentCache | None = None) -> DetectionFigures:
    meter = UsageMeter()
    judged = await detect(judge, LAMPS, meter=meter, cache=cache, concurrency=2)
    assert [one.group for one in judged] == LAMPS
    return detection_figures(judge.name, judged, meter.usage, 1.0)


@pytest.mark.parametrize("kind", [JsonJudge, ChoiceJudge])
async def test_a_scripted_model_finds_what_there_is(kind: Any) -> None:
    world = World()
    with OpenAIServer(world) as server:
        figures = await run(judge_of(server, kind))

    assert world.asked.total() == 8
    found = figures.overall
    assert found.detection.accuracy.count == 4
    assert found.detection.f1.value == found.label_accuracy.value == 1
    assert figures.usage.calls == 8
    assert figures.usage.input_tokens > 0


async def test_a_run_that_was_stopped_goes_on_where_it_was_and_asks_again_for_what_failed(
    tmp_path: Path,
) -> None:
    world, cache, status = World(), ContentCache(tmp_path / "cache.sqlite"), [401]

    def stops(request: ChatRequest) -> Reply | str | Fault:
        if "lamp of Danna" in request.prompt and status:
            return Fault(status[0])
        return world(request)

    with OpenAIServer(stops) as server:
        with pytest.raises(ConfigurationError):
            await detect(judge_of(server), LAMPS, meter=UsageMeter(), cache=cache)
        assert world.asked.total() == 7
        status[0] = 400
        failed = await run(judge_of(server), cache)
        status.clear()
        whole = await run(judge_of(server), cache)
        again = await run(judge_of(server), cache)
    cache.close()
    assert (failed.overall.unlabelled, failed.usage.cached_calls) == (1, 7)
    assert world.asked.total() == 8
    assert whole.overall.unlabelled == 0
    assert (again.usage.calls, again.usage.cached_calls) == (0, 8)
    assert again.overall == whole.overall
