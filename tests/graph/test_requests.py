"""Each step's requests to the model: their parameters, their output limits, and repetitions."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from langchain_openai import ChatOpenAI

from conflictscore.graph.binding import running_with
from conflictscore.graph.create import run_context
from conflictscore.loop.state import RagInput
from conflictscore.tokens import count_tokens
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply
from tests.revising import DOCUMENTS, RevisingWorld
from tests.talking import LAMP, Shelf, Talk
from tests.world import DISAGREEING, PAPER, World, paper_loop, scripted_model

QUESTION: RagInput = {"question": "When was the lamp lit?", "documents": DISAGREEING}
CALLERS: dict[str, Any] = {"stop": ["END"], "top_p": 0.5}
OPTIONS = ["It was 1871.", "It was 1874."]


class Mumbling:
    """A model whose first reply to each step is empty."""

    def __init__(self, world: World) -> None:
        self.world = world

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:
        before = self.world.asked.copy()
        said = self.world(request)
        [step] = self.world.asked - before
        first = self.world.asked[step] == 1
        return " " if first and step != "label" else "{}" if first else said


def answered(world: World, asked: RagInput, **settings: Any) -> dict[str, Any]:
    """A run with a model whose first replies cannot be read."""
    with OpenAIServer(Mumbling(world)) as server:
        graph = paper_loop(scripted_model(server), **settings)
        state: dict[str, Any] = dict(graph.invoke(asked))
        return state


@pytest.mark.parametrize(
    ("world", "asked", "settings", "steps"),
    [
        (World(), QUESTION, {}, ("generate", "decompose", "label", "regenerate", "justify")),
        (
            Talk(),
            {"question": "When was it lit?", "history": LAMP},
            {"retriever": Shelf(), "look_further": "disputed"},
            ("contextualize", "look_further"),
        ),
        (
            RevisingWorld(),
            {**QUESTION, "documents": DOCUMENTS},
            {"regeneration": "revise", "disputed": ("conflict", "refuted")},
            ("decompose", "ask_document"),
        ),
    ],
    ids=["paper", "conversation", "revise"],
)
def test_a_reply_that_cannot_be_read_is_asked_for_once_more_at_every_step(
    world: World, asked: RagInput, settings: dict[str, Any], steps: tuple[str, ...]
) -> None:
    state = answered(world, asked, **settings)

    assert state["flipped"], state["notes"]
    assert not [note for note in state["notes"] if "unreadable" in note]
    assert all(world.asked[step] >= 2 for step in steps), world.asked


@pytest.fixture
def sent(server: OpenAIServer, world: World) -> Callable[[str], list[dict[str, Any]]]:
    """The bodies of the requests of a step."""

    def bodies(step: str) -> list[dict[str, Any]]:
        return [r.body for r in server.requests if r.prompt in world.prompts[step]]

    return bodies


def run(model: ChatOpenAI, asked: RagInput, **settings: Any) -> dict[str, Any]:
    """A run with the call parameters of a caller."""
    context = run_context(model, cache=False, **{**PAPER, **settings})
    graph = paper_loop(model)
    theirs = replace(context, answer_parameters=CALLERS)
    with running_with(graph, theirs):
        return dict(graph.invoke(asked))


def test_the_callers_parameters_go_with_the_answers_and_with_nothing_else(
    server: OpenAIServer, sent: Callable[[str], list[dict[str, Any]]]
) -> None:
    run(scripted_model(server), QUESTION)

    for step in ("generate", "regenerate"):
        [body] = sent(step)
        assert (body["stop"], body["top_p"]) == (["END"], 0.5)
    for step in ("decompose", "label", "justify"):
        assert sent(step)
        assert not any({"stop", "top_p"} & body.keys() for body in sent(step))


def test_every_step_has_room_for_its_own_reply(
    server: OpenAIServer, sent: Callable[[str], list[dict[str, Any]]]
) -> None:
    run(scripted_model(server), QUESTION)

    room = {"generate": 512, "regenerate": 512, "justify": 160, "label": 700}
    for step, tokens in room.items():
        assert {body["max_completion_tokens"] for body in sent(step)} == {tokens}
    said = ["It was lit in 1871.", "It was lit in 1874."]
    assert [body["max_completion_tokens"] for body in sent("decompose")] == [
        160 + 4 * count_tokens(answer) for answer in said
    ]


def test_a_choice_is_asked_for_and_asked_again_with_the_callers_parameters(
    server: OpenAIServer, world: World, sent: Callable[[str], list[dict[str, Any]]]
) -> None:
    world.answer = "(A)"
    world.regenerated = "B – It was 1874.\nJustification: The log says so (Doc 2)."

    state = run(scripted_model(server), {**QUESTION, "options": OPTIONS})

    assert state["answer"] == "It was 1874."
    for step in ("generate", "regenerate"):
        [body] = sent(step)
        assert (body["top_p"], body["max_completion_tokens"]) == (0.5, 512)
        assert all(f"({'AB'[n]}) {option}" in str(body) for n, option in enumerate(OPTIONS))
    [again] = world.prompts["regenerate"]
    assert "<answer>\nA – It was 1871.\n</answer>" in again
