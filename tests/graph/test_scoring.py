"""Scoring an answer that exists already, and the graph that a LangGraph host loads."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from conflictscore import create_conflict_scorer
from conflictscore.errors import InputError
from tests.fakes.openai_server import OpenAIServer
from tests.world import DISAGREEING, World, scripted_model


def test_an_answer_is_scored_without_being_generated() -> None:
    world = World()
    with OpenAIServer(world) as server:
        state = create_conflict_scorer(scripted_model(server), cache=False).invoke(
            {"answer": "It was lit in 1874.", "documents": DISAGREEING}
        )

    assert world.asked == {"decompose": 1, "label": 3}
    assert state["report"]["claims"][0]["supports"] == [2]
    assert state["report"]["cs_r"] == 0.5
    assert state["final_report"] is None


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ({"answer": " ", "documents": DISAGREEING}, "answer is empty"),
        ({"answer": "It was lit in 1874.", "documents": []}, "no documents"),
    ],
)
def test_there_must_be_something_to_score(start: Any, message: str) -> None:
    model = ChatOpenAI(model="m", base_url="http://127.0.0.1:9/v1", api_key=SecretStr("k"))

    with pytest.raises(InputError, match=message):
        create_conflict_scorer(model, cache=False).invoke(start)


def test_langgraph_json_names_a_factory_that_builds_the_loop(
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
    graph = getattr(module, name)()

    assert {"retrieve", "decide", "regenerate"} <= set(graph.get_graph().nodes)
    assert "question" in graph.get_input_jsonschema()["properties"]
