"""Scoring an existing answer, and the graph that a LangGraph host loads."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document as Retrieved
from langchain_core.runnables import RunnableConfig
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from conflictscore import create_conflict_scorer
from conflictscore.errors import InputError
from conflictscore.loop.state import ScorerInput
from conflictscore.nodes.record import run_of
from conflictscore.records import Document
from conflictscore.retrieval.documents import DocumentLike
from tests.world import DISAGREEING, World

GIVEN: ScorerInput = {"answer": "It was lit in 1874.", "documents": DISAGREEING}


def test_an_answer_is_scored_without_being_generated(model: ChatOpenAI, world: World) -> None:
    state = create_conflict_scorer(model, cache=False).invoke(GIVEN)

    assert world.asked == {"decompose": 1, "batch": 3}
    assert state["report"]["claims"][0]["supports"] == [2]
    assert state["report"]["cs_r"] == 0.5
    assert state["final_report"] is None


def test_each_scored_answer_is_a_run_of_its_own(model: ChatOpenAI) -> None:
    scorer = create_conflict_scorer(model, cache=False)

    runs = [run_of(scorer.invoke(GIVEN)) for _ in range(2)]

    assert len({run.run_id for run in runs if run.run_id}) == 2
    assert [(run.first_answer, run.answer) for run in runs] == [("It was lit in 1874.",) * 2] * 2


def test_an_input_without_an_answer_does_not_score_the_earlier_answer_of_its_thread(
    model: ChatOpenAI,
) -> None:
    scorer = create_conflict_scorer(model, cache=False, checkpointer=InMemorySaver())
    thread: RunnableConfig = {"configurable": {"thread_id": "one"}}
    scorer.invoke(GIVEN, thread)

    with pytest.raises(InputError, match="answer is empty"):
        scorer.invoke({"documents": DISAGREEING}, thread)


def test_documents_are_given_as_they_are_held(model: ChatOpenAI) -> None:
    held: list[DocumentLike] = [
        "The lamp was lit in 1871.",
        Retrieved("The log says 1874.", metadata={"title": "Log", "source": "a/log.pdf", "p": [1]}),
        {"page_content": "A lamp, 1871.", "metadata": {"date": "1900"}, "type": "Document"},
        {"text": "Lit in 1871.", "title": "Gazette"},
        Document(number=7, text="It is white.", duplicate_of=2),
    ]

    state = create_conflict_scorer(model, cache=False).invoke({**GIVEN, "documents": held})

    assert [(d["number"], d["title"], d["url"], d["metadata"]) for d in state["documents"]] == [
        (1, "", "", {}),
        (2, "Log", "a/log.pdf", {}),
        (3, "", "", {"date": "1900"}),
        (4, "Gazette", "", {}),
        (5, "", "", {}),
    ]
    assert state["report"]["claims"][0]["supports"] == [2]


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ({"answer": "It was.", "documents": ["", " "]}, "document 1, field text: it is empty"),
        ({"answer": "It was.", "documents": [None]}, "document 1, field text: it is null"),
        ({"answer": "It was.", "documents": [{"text": 3}]}, "document 1, field text: int, not"),
        ({"answer": " ", "documents": DISAGREEING}, "answer is empty"),
        ({"answer": "It was lit in 1874.", "documents": []}, "no documents"),
    ],
)
def test_there_must_be_something_to_score(start: Any, message: str) -> None:
    model = ChatOpenAI(model="m", base_url="http://127.0.0.1:9/v1", api_key=SecretStr("k"))

    with pytest.raises(InputError, match=message):
        create_conflict_scorer(model, cache=False).invoke(start)


async def test_langgraph_json_names_a_factory_that_builds_the_loop(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    root = Path(__file__).parents[2]
    path, _, name = json.loads((root / "langgraph.json").read_text())["graphs"][
        "self_correcting_rag"
    ].partition(":")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("CONFLICTSCORE_DOCS", str(root / "examples" / "lighthouse"))
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path))

    module = import_module(path.removeprefix("./").removesuffix(".py").replace("/", "."))
    graph = await getattr(module, name)()

    assert {"retrieve", "decide", "correct"} <= set(graph.get_graph().nodes)
    assert "question" in graph.get_input_jsonschema()["properties"]
