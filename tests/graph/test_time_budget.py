"""A run with a time budget, or a limit on claims: informative pairs first, and visible gaps."""

import threading
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import pytest

from conflictscore import create_conflict_scorer, create_self_correcting_rag
from conflictscore.errors import ProviderError
from conflictscore.loop.state import RagInput
from tests.clock import Clock, clock
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply
from tests.world import DISAGREEING, World, between, paper_loop, scripted_model, step_of

__all__ = ["clock"]

MARKET = {"text": "Bread was dear in 1899.", "title": "Market"}
QUESTION: RagInput = {"question": "When was the lamp lit?", "documents": [MARKET, *DISAGREEING]}
LEFT_OUT = "left out: the time for labelling was used up"
CHOSEN = "The lamp was lit in 1871."
CHOICE: RagInput = {**QUESTION, "options": [CHOSEN, "In 1874."], "draft_answer": CHOSEN}


@dataclass
class Paced(World):
    """A model whose calls take ten seconds of a clock each, except one that never ends.

    Once a number of other pairs have labels, the clock moves past the hanging call.
    """

    clock: Clock = field(default_factory=Clock)
    hangs_on: str = ""
    others: int = 0
    _labelled: int = 0
    _closing: threading.Event = field(default_factory=threading.Event)

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:
        outcome = super().__call__(request)
        step = step_of(request.prompt)
        text = between(request.prompt, "document") if step == "label" else step
        if self.hangs_on and self.hangs_on in text:
            self._hang()
        self.clock.skip(10)
        self._labelled += step == "label"
        return outcome

    def _hang(self) -> None:
        while self._labelled < self.others and not self._closing.wait(0.01):
            pass
        pause = 2.0  # time to read the others' labels
        while not self._closing.wait(pause):
            self.clock.skip(1)
            pause = 0.001

    def close(self) -> None:
        """End the calls that hang."""
        self._closing.set()


@pytest.mark.parametrize("face", ["sync", "async"])
async def test_labelling_ends_in_time_and_says_what_was_left_out(clock: Clock, face: str) -> None:
    world = Paced(clock=clock, hangs_on="Bread", others=3)
    with OpenAIServer(world) as server, closing(world):
        graph = paper_loop(scripted_model(server), budget_seconds=400)
        state = graph.invoke(QUESTION) if face == "sync" else await graph.ainvoke(QUESTION)

    [claim] = state["report"]["claims"]
    assert claim["supports"] == [2]
    assert claim["contradicts"] == [3]
    assert claim["unlabelled"] == [1]
    assert claim["labels"][0]["error"] == LEFT_OUT
    assert state["report"]["coverage"] == 0.75
    assert f"the first answer: 1 of 4 pairs have no label ({LEFT_OUT})" in state["notes"]


@pytest.mark.parametrize("documents", [DISAGREEING, DISAGREEING[::2]])
def test_an_answer_is_checked_as_far_as_the_time_goes(
    clock: Clock, documents: list[dict[str, str]]
) -> None:
    """Time for seven calls: too little for a correction, so labels get all of it."""
    with OpenAIServer(Paced(clock=clock)) as server:
        graph = create_self_correcting_rag(scripted_model(server), cache=False, budget_seconds=70)
        state = graph.invoke({"question": "When was the lamp lit?", "documents": documents})

    assert state["checked"] in ("fully", "partly")
    assert not state["flipped"]
    disputed = state["report"]["disputed"]
    refused = [note for note in state["notes"] if "was not corrected: the time budget" in note]
    assert len(refused) == len(disputed)
    gaps = [gap for gap in state["examined"]["gaps"] if gap["kind"] == "not_reconsidered"]
    assert len(gaps) == len(disputed)
    assert all("the time budget of 70 s" in gap["note"] for gap in gaps)
    if disputed:
        assert state["checked"] == "partly"


def test_time_is_kept_for_a_correction_only_where_something_is_disputed(clock: Clock) -> None:
    hanging = {"text": "In 1871 bread was dear."}
    draft: RagInput = {"question": "When?", "draft_answer": "The lamp was lit in 1871."}

    def labelled(documents: list[dict[str, str]]) -> dict[str, Any]:
        world = Paced(clock=clock, hangs_on="bread was dear", others=len(documents))
        with OpenAIServer(world) as server, closing(world):
            graph = paper_loop(scripted_model(server), budget_seconds=400)
            return graph.invoke({**draft, "documents": [*documents, hanging]})

    disputed, agreed = labelled(DISAGREEING), labelled(DISAGREEING[::2])

    assert disputed["report"]["claims"][0]["unlabelled"] == [4]
    assert agreed["report"]["claims"][0]["unlabelled"] == [3]
    assert disputed["timings"]["label"] < agreed["timings"]["label"] - 10


LATE = r"timed out: the run may take 0\.2 s"


def test_an_answer_that_hangs_ends_the_run_in_one_line(server: OpenAIServer, world: World) -> None:
    world.broken["generate"] = Fault.hang(60)
    graph = create_self_correcting_rag(scripted_model(server), cache=False, budget_seconds=0.2)
    with pytest.raises(ProviderError, match=f"^scripted {LATE}"):
        graph.invoke(QUESTION)


def test_a_second_answer_that_hangs_leaves_the_first_with_a_note(clock: Clock) -> None:
    world = Paced(clock=clock, hangs_on="regenerate")
    with OpenAIServer(world) as server, closing(world):
        graph = create_self_correcting_rag(scripted_model(server), cache=False, budget_seconds=400)
        state = graph.invoke(CHOICE)

    assert state["answer"] == CHOSEN
    assert "timed out: the run may take 400 s" in state["regeneration_error"]
    assert "the earlier answer was kept" in state["notes"][-1]


def test_the_claims_that_the_documents_say_most_of_are_labelled(
    server: OpenAIServer, world: World
) -> None:
    world.decomposition = "Claims:\n- Cats purr.\n- The lamp was lit in 1871.\n- Dogs bark."
    graph = create_conflict_scorer(scripted_model(server), cache=False, max_claims=1)

    state = graph.invoke({"answer": "It was lit in 1871.", "documents": DISAGREEING})

    cats, lamp, dogs = state["report"]["claims"]
    assert lamp["supports"] == [1]
    assert cats["unlabelled"] == dogs["unlabelled"] == [1, 2, 3]
    assert state["report"]["cs_c"] == 1
    assert state["report"]["coverage"] == pytest.approx(1 / 3)
    assert any("more claims than max_claims" in note for note in state["notes"])
    assert world.asked["batch"] == 3
