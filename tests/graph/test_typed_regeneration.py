"""Typed regeneration in the loop, driven through the real client against a loopback server."""

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_openai import ChatOpenAI
from langgraph.runtime import Runtime

from conflictscore import create_self_correcting_rag
from conflictscore.errors import ConfigurationError, InputError
from conflictscore.graph.create import run_context
from conflictscore.graph.self_correction import SelfCorrectionGraph
from conflictscore.graph.settings import LoopSettings
from conflictscore.nodes.label import label
from conflictscore.nodes.state import RagInput
from conflictscore.prompts import PromptSet
from conflictscore.records import ConflictType
from tests.fakes.openai_server import Fault, OpenAIServer
from tests.typed_world import TypedWorld
from tests.world import DISAGREEING, PAPER, scripted_model

DATED: list[dict[str, Any]] = [
    {**document, "metadata": {"date": date}}
    for document, date in zip(DISAGREEING, ["2019-05-01", "2024-02-03", ""], strict=True)
]
QUESTION: RagInput = {"question": "When was the lamp lit?", "documents": DATED}
OPTIONS = ["It was 1871.", "It was 1874."]


@pytest.fixture
def world() -> TypedWorld:
    return TypedWorld()


@pytest.fixture
def model(world: TypedWorld) -> Iterator[ChatOpenAI]:
    with OpenAIServer(world) as server:
        yield scripted_model(server)


def loop(model: ChatOpenAI, **settings: Any) -> SelfCorrectionGraph:
    return create_self_correcting_rag(
        model, cache=False, **{**PAPER, "regeneration": "typed", **settings}
    )


def test_the_type_of_the_conflict_is_told_and_stands_in_the_state(
    model: ChatOpenAI, world: TypedWorld
) -> None:
    state = loop(model).invoke(QUESTION)

    assert (state["regeneration"], state["conflict_type"]) == ("typed", "outdated")
    assert state["conflict_type_reason"] == "The log is of a later day."
    assert "classification_error" not in state
    assert state["notes"] == []
    assert state["answer"] == "It was lit in 1874."
    assert state["flip"]["supports"] == [1]
    assert world.asked["classify"] == 1
    assert "classify" in state["timings"]


def test_the_model_that_tells_the_type_reads_definitions_dates_and_documents(
    model: ChatOpenAI, world: TypedWorld
) -> None:
    loop(model).invoke(QUESTION)

    [prompt] = world.prompts["classify"]
    for kind in ConflictType:
        assert f"\n{kind}: " in prompt
    assert 'number="2" title="Log" source="https://log.test/b" date="2024-02-03"' in prompt
    assert "When was the lamp lit?" in prompt


@pytest.mark.parametrize("kind", ConflictType)
@pytest.mark.parametrize("options", [[], OPTIONS])
def test_the_answer_is_asked_for_as_the_type_asks(
    model: ChatOpenAI, world: TypedWorld, kind: ConflictType, options: list[str]
) -> None:
    world.classification = f"REASON: So it is.\nTYPE: {kind}"
    if options:
        world.answer, world.regenerated = "(A)", "B – It was 1874.\nJustification: The log (Doc 2)."

    state = loop(model).invoke({**QUESTION, "options": options})

    [prompt] = world.prompts["regenerate"]
    rules = {k: PromptSet.load().render(f"behaviour_{k.replace('-', '_')}") for k in ConflictType}
    assert [k for k, rule in rules.items() if rule in prompt] == [kind]
    assert len(set(rules.values())) == len(ConflictType)
    assert f"How the documents relate: {kind}" in prompt
    supporting, _, contradicting = prompt.partition("Documents that contradict this claim:")
    assert '- Document 1: "The lamp was lit in 1871."' in supporting
    assert '- Document 2: "The log says the lamp was lit in 1874."' in contradicting
    assert ("(B) It was 1874." in prompt) == bool(options)
    assert state["flipped"]
    assert state["conflict_type"] == kind


def test_by_default_answers_are_regenerated_as_in_the_paper(
    model: ChatOpenAI, world: TypedWorld
) -> None:
    state = create_self_correcting_rag(model, cache=False, **PAPER).invoke(QUESTION)

    assert world.asked["classify"] == 0
    assert "How the documents relate" not in world.prompts["regenerate"][0]
    assert state["regeneration"] == "paper"
    assert "conflict_type" not in state


def test_where_no_claim_conflicts_nothing_is_classified(
    model: ChatOpenAI, world: TypedWorld
) -> None:
    state = loop(model).invoke({"question": "When?", "documents": DISAGREEING[:1]})

    assert world.asked["classify"] == 0
    assert "conflict_type" not in state


def test_a_type_that_cannot_be_read_is_asked_for_once_more(
    model: ChatOpenAI, world: TypedWorld
) -> None:
    world.classification = ["They disagree.", "TYPE: misinformation"]

    state = loop(model).invoke(QUESTION)

    assert world.asked["classify"] == 2
    assert (state["conflict_type"], state["conflict_type_reason"]) == ("misinformation", None)
    assert state["notes"] == []


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        ("They disagree.", 'it had no lines that began with "TYPE:"'),
        (Fault(400, message="no such luck"), "no such luck"),
    ],
)
def test_without_a_type_the_run_goes_on_as_in_the_paper_and_says_so(
    model: ChatOpenAI, world: TypedWorld, broken: str | Fault, problem: str
) -> None:
    world.broken["classify"] = broken

    state = loop(model).invoke(QUESTION)

    assert state["conflict_type"] is None
    assert problem in state["classification_error"]
    [note] = state["notes"]
    assert note.startswith("the run continued without a conflict type, because there was none: ")
    assert "How the documents relate" not in world.prompts["regenerate"][0]
    assert state["answer"] == "It was lit in 1874."


def test_a_wrong_key_ends_the_run(model: ChatOpenAI, world: TypedWorld) -> None:
    world.broken["classify"] = Fault(401)

    with pytest.raises(ConfigurationError):
        loop(model).invoke(QUESTION)


@pytest.mark.parametrize("readable", [True, False])
def test_the_type_is_asked_for_once_a_question(
    model: ChatOpenAI, world: TypedWorld, readable: bool
) -> None:
    years = {"lamp": (1871, 1874), "tower": (1840, 1850)}
    documents = [{"text": f"The {what}: {year}."} for what in years for year in years[what]]
    world.answer = "The lamp was lit in 1871."
    world.regenerated = ["The tower was built in 1840.", "The lamp was lit in 1874."]
    if not readable:
        world.broken["classify"] = "They disagree."

    state = loop(model, max_rounds=5).invoke({"question": "When?", "documents": documents})

    assert world.asked["regenerate"] == 2
    assert world.asked["classify"] == (1 if readable else 2)
    typed = ["How the documents relate" in prompt for prompt in world.prompts["regenerate"]]
    assert typed == [readable, readable]
    assert len(state["notes"]) == (0 if readable else 1)


def test_the_call_for_the_type_is_counted_and_told(model: ChatOpenAI) -> None:
    paper = create_self_correcting_rag(model, cache=False, **PAPER).invoke(QUESTION)
    typed = loop(model).invoke(QUESTION)
    assert typed["usage"]["calls"] == paper["usage"]["calls"] + 1

    events = list(loop(model).stream(QUESTION, stream_mode="custom"))
    names = [event["event"] for event in events]
    decided = names.index("decision")
    assert names[decided : decided + 3] == ["decision", "conflict_type", "answer"]
    assert {
        "event": "conflict_type",
        "type": "outdated",
        "reason": "The log is of a later day.",
    } in events


@pytest.mark.parametrize(
    ("known", "labelled"),
    [({}, 0), ({"conflict_type": "outdated"}, 3), ({"conflict_type": None}, 3)],
)
async def test_time_is_kept_back_for_the_type_until_it_is_known(
    model: ChatOpenAI, world: TypedWorld, known: dict[str, Any], labelled: int
) -> None:
    """Of 2500 s an answer took 1000: with one more to come 500 are left, with two none."""
    context = run_context(
        model,
        None,
        LoopSettings(cache=False, **{**PAPER, "regeneration": "typed"}, budget_seconds=2500),
    )
    documents = [{"number": n, **document} for n, document in enumerate(DISAGREEING, start=1)]
    state: Any = {
        "documents": documents,
        "claims": [{"number": 1, "text": "The lamp was lit in 1871."}],
        "timings": {"generate": 1000.0},
        **known,
    }

    await label(state, Runtime(context=context))

    assert world.asked["label"] == labelled


def test_a_regeneration_that_does_not_exist_is_refused(model: ChatOpenAI) -> None:
    with pytest.raises(InputError, match="unknown regeneration 'other'; one of paper, typed"):
        create_self_correcting_rag(model, regeneration="other")  # type: ignore[arg-type]
