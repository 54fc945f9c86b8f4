"""A run with a time budget, or with a bound on claims: what tells most first, the rest visibly."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from conflictscore import create_conflict_scorer, create_self_correcting_rag
from conflictscore.errors import ProviderError
from conflictscore.loop.state import RagInput
from conflictscore.storage.cache import ContentCache
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply
from tests.world import DISAGREEING, World, paper_loop, scripted_model

MARKET = {"text": "Bread was dear in 1899.", "title": "Market"}
QUESTION: RagInput = {"question": "When was the lamp lit?", "documents": [MARKET, *DISAGREEING]}
LEFT_OUT = "left out: the time for labelling was used up"


CHOSEN = "The lamp was lit in 1871."
CHOICE: RagInput = {**QUESTION, "options": [CHOSEN, "In 1874."], "draft_answer": CHOSEN}


class SlowWorld(World):
    """A judge that never comes to an end with the market document."""

    closing: threading.Event

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:
        outcome = super().__call__(request)
        prompt = request.messages[0]["content"]
        if "document_snippet" in prompt and "Bread" in prompt:
            self.closing.wait(60)
        return outcome


@pytest.fixture
def world() -> Iterator[SlowWorld]:
    world = SlowWorld()
    world.closing = threading.Event()
    yield world
    world.closing.set()


@pytest.fixture
def server(world: SlowWorld) -> Iterator[OpenAIServer]:
    with OpenAIServer(world) as server:
        yield server
        world.closing.set()


def labelled_before(server: OpenAIServer, world: SlowWorld, folder: Path) -> ContentCache:
    """A cache with the labels of the choice."""
    world.closing.set()
    cache = ContentCache(folder / "cache.sqlite")
    create_self_correcting_rag(scripted_model(server), cache=cache, max_rounds=0).invoke(CHOICE)
    return cache


@pytest.mark.parametrize("face", ["sync", "async"])
async def test_labelling_ends_in_time_and_says_what_was_left_out(
    server: OpenAIServer, face: str
) -> None:
    graph = paper_loop(scripted_model(server), budget_seconds=3)
    warm: RagInput = {"question": "When was the lamp lit?", "documents": DISAGREEING}
    _ = graph.invoke(warm) if face == "sync" else await graph.ainvoke(warm)

    state = graph.invoke(QUESTION) if face == "sync" else await graph.ainvoke(QUESTION)

    [claim] = state["report"]["claims"]
    assert claim["supports"] == [2]
    assert claim["contradicts"] == [3]
    assert claim["unlabelled"] == [1]
    assert claim["labels"][0]["error"] == LEFT_OUT
    assert state["report"]["coverage"] == 0.75
    assert f"the first answer: 1 of 4 pairs have no label ({LEFT_OUT})" in state["notes"]


@dataclass
class Paced(World):
    """A model that takes as long as it is told for each call."""

    seconds: float = 0.3
    slow: str = ""

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:
        time.sleep(30 if self.slow and self.slow in request.prompt else self.seconds)
        return super().__call__(request)


@pytest.mark.parametrize("documents", [DISAGREEING, DISAGREEING[::2]])
def test_an_answer_is_checked_as_far_as_the_time_goes(documents: list[dict[str, str]]) -> None:
    """Time for five calls: too little for a correction, so that all of it is for labels."""
    with OpenAIServer(Paced(seconds=1)) as server:
        graph = create_self_correcting_rag(scripted_model(server), cache=False, budget_seconds=5)
        state = graph.invoke({"question": "When was the lamp lit?", "documents": documents})

    assert state["checked"] in ("fully", "partly")
    assert not state["flipped"]
    disputed = state["report"]["disputed"]
    refused = [note for note in state["notes"] if "was not corrected: the time budget" in note]
    assert len(refused) == len(disputed)


def test_time_is_kept_for_a_correction_only_where_something_is_disputed() -> None:
    hanging = {"text": "In 1871 bread was dear."}
    draft: RagInput = {"question": "When?", "draft_answer": "The lamp was lit in 1871."}
    with OpenAIServer(Paced(seconds=0.3, slow="bread was dear")) as server:
        graph = paper_loop(scripted_model(server), budget_seconds=6)
        disputed = graph.invoke({**draft, "documents": [*DISAGREEING, hanging]})
        agreed = graph.invoke({**draft, "documents": [*DISAGREEING[::2], hanging]})

    assert disputed["report"]["claims"][0]["unlabelled"] == [4]
    assert agreed["report"]["claims"][0]["unlabelled"] == [3]
    assert disputed["timings"]["label"] < agreed["timings"]["label"] - 0.3


LATE = r"timed out: the run may take 0\.2 s"


def test_an_answer_that_hangs_ends_the_run_in_one_line(
    server: OpenAIServer, world: SlowWorld
) -> None:
    world.broken["generate"] = Fault.hang(60)
    graph = create_self_correcting_rag(scripted_model(server), cache=False, budget_seconds=0.2)
    with pytest.raises(ProviderError, match=f"^scripted {LATE}"):
        graph.invoke(QUESTION)


def test_a_second_answer_that_hangs_leaves_the_first_with_a_note(
    server: OpenAIServer, world: SlowWorld, tmp_path: Path
) -> None:
    cache = labelled_before(server, world, tmp_path)
    world.broken["regenerate"] = Fault.hang(60)

    graph = create_self_correcting_rag(scripted_model(server), cache=cache, budget_seconds=2)
    state = graph.invoke(CHOICE)

    assert state["answer"] == CHOSEN
    assert "timed out: the run may take 2 s" in state["regeneration_error"]
    assert "the earlier answer stands" in state["notes"][-1]


def test_the_claims_that_the_documents_say_most_of_are_labelled(
    server: OpenAIServer, world: SlowWorld
) -> None:
    world.closing.set()
    world.decomposition = "Claims:\n- Cats purr.\n- The lamp was lit in 1871.\n- Dogs bark."
    graph = create_conflict_scorer(scripted_model(server), cache=False, max_claims=1)

    state = graph.invoke({"answer": "It was lit in 1871.", "documents": DISAGREEING})

    cats, lamp, dogs = state["report"]["claims"]
    assert lamp["supports"] == [1]
    assert cats["unlabelled"] == dogs["unlabelled"] == [1, 2, 3]
    assert state["report"]["cs_c"] == 1
    assert state["report"]["coverage"] == pytest.approx(1 / 3)
    assert any("more claims than are to be labelled" in note for note in state["notes"])
    assert world.asked["batch"] == 3
