"""Claims that leave out part of an answer: the rest is requested, and gaps are reported."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from langchain_openai import ChatOpenAI

from conflictscore import create_self_correcting_rag
from tests.fakes.openai_server import ChatRequest, Fault, Reply
from tests.world import PAPER, World

LAMP = "The lamp was lit in 1871 by the keeper's eldest daughter."
TOWER = "The tower was built in 1840 of granite from a quarry nearby."
HORN = "A fog horn with two trumpets followed in 1912, paid for by the harbour."
ANSWER = f"{LAMP} {TOWER}\n\n{HORN}"
DOCUMENTS = [{"text": "The lamp was lit in 1871."}, {"text": "The tower was built in 1840."}]
DISPUTED = [{"text": "The log says: lit in 1874. The lamp."}, *DOCUMENTS]


@dataclass
class ForgetfulWorld(World):
    """The first reply has the given claims; ``rest`` replies when the rest is requested."""

    answer: str = ANSWER
    decomposition: str | None = f"Claims:\n- {LAMP} || The lamp was lit"
    placed: str | None = None
    """The reply when the claims' places are also requested; None for ``decomposition``."""
    rest: Callable[[str], str | Fault] = field(default=lambda asked: claims(TOWER, HORN))
    passed_over: list[str] = field(default_factory=list)

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:
        prompt = request.messages[-1]["content"]
        if "Take a passage of an answer apart" in prompt:
            self.passed_over.append(
                prompt.rpartition("<answer>")[2].partition("</answer>")[0].strip()
            )
            return self.rest(self.passed_over[-1])
        if self.placed and "first three to six words of the passage" in prompt:
            return self.placed
        return super().__call__(request)


def claims(*texts: str) -> str:
    return "\n".join(["Claims:", *(f"- {text}" for text in texts)])


@pytest.fixture
def world() -> ForgetfulWorld:
    return ForgetfulWorld()


def run(model: ChatOpenAI, documents: Any = DOCUMENTS, **settings: Any) -> dict[str, Any]:
    settings = {"regeneration": "revise", **settings}
    graph = create_self_correcting_rag(model, cache=False, **settings)
    return graph.invoke({"question": "What is known of the light?", "documents": documents})


def claimed(state: dict[str, Any]) -> list[str]:
    return [each["claim"]["text"] for each in state["attempts"][0]["report"]["claims"]]


def placed(state: dict[str, Any]) -> list[str]:
    """The passages of the answer in which its claims were found."""
    claims = [each["claim"] for each in state["attempts"][0]["report"]["claims"]]
    return [ANSWER[slice(*claim["passage"])] for claim in claims]


def test_what_the_claims_pass_over_is_asked_for_once_more(
    model: ChatOpenAI, world: ForgetfulWorld
) -> None:
    world.rest = lambda part: claims(HORN, TOWER, LAMP)

    state = run(model, disputed=("conflict",))

    assert world.passed_over == [f"{TOWER}\n\n{HORN}"]
    # in the answer's order, each once
    assert claimed(state) == placed(state) == [LAMP, TOWER, HORN]
    assert (state["checked"], state["notes"]) == ("fully", [])


@pytest.mark.parametrize(
    ("rest", "parts"),
    [(claims(TOWER), [HORN]), (Fault(status=500), [TOWER, HORN])],
    ids=["a part is passed over again", "a failing provider"],
)
def test_an_answer_that_is_known_in_part_counts_as_checked_in_part(
    model: ChatOpenAI,
    world: ForgetfulWorld,
    caplog: pytest.LogCaptureFixture,
    rest: str | Fault,
    parts: list[str],
) -> None:
    world.rest = lambda part: rest

    with caplog.at_level(logging.WARNING):
        state = run(model)

    assert state["report"]["coverage"] == 1
    assert state["checked"] == "partly"
    gaps = state["examined"]["gaps"]
    assert [gap["kind"] for gap in gaps] == ["unclaimed"] * len(parts)
    assert [ANSWER[slice(*gap["passage"])] for gap in gaps] == parts
    assert len(state["notes"]) == len(parts)
    assert "only in part checked: a part of the answer is not covered by any claim" in caplog.text
    assert not [part for part in parts if part in caplog.text]


def test_an_answer_without_readable_claims_is_not_checked(
    model: ChatOpenAI, world: ForgetfulWorld
) -> None:
    world.decomposition = "Claims:"
    world.rest = lambda part: Fault(status=500)

    state = run(model)

    assert (claimed(state), state["checked"]) == ([], "no")
    assert "could not be split into claims" in state["notes"][0]


def test_a_model_that_cannot_name_places_is_asked_for_the_claims_alone(
    model: ChatOpenAI, world: ForgetfulWorld
) -> None:
    """Small models copy the form of the places, and still split answers correctly."""
    form = "- The claim as a full sentence. || first words of the passage"
    world.placed, world.decomposition = f"Claims:\n{form}", claims(LAMP, TOWER, HORN)

    state = run(model, disputed=("conflict",))

    assert claimed(state) == placed(state) == [LAMP, TOWER, HORN]
    assert (state["checked"], state["notes"]) == ("fully", [])


def test_the_papers_loop_asks_once(model: ChatOpenAI, world: ForgetfulWorld) -> None:
    world.regenerated = ANSWER

    run(model, **PAPER, min_coverage=None)

    assert (world.asked["decompose"], world.passed_over) == (1, [])


def test_what_is_missing_stays_missing_after_a_passage_was_revised(
    model: ChatOpenAI, world: ForgetfulWorld
) -> None:
    world.rest = lambda part: claims(LAMP.replace("1871", "1874") if "1874" in part else TOWER)
    world.regenerated = LAMP.replace("1871", "1874")

    state = run(model, DISPUTED)

    assert state["flipped"]
    assert state["checked"] == "partly"
    [gap] = state["examined"]["gaps"]
    assert (gap["kind"], state["answer"][slice(*gap["passage"])]) == ("unclaimed", HORN)
