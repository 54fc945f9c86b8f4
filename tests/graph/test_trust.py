"""A whole run with documents that are trusted to different degrees."""

from typing import Any

import pytest
from langchain_openai import ChatOpenAI

from conflictscore import create_self_correcting_rag
from tests.revising import RevisingWorld
from tests.world import PAPER

LOG, ALMANAC, GAZETTE, DEEDS = (
    {"text": text, "title": title, "url": f"https://www.{title}.test/a"}
    for title, text in (
        ("log", "The lamp was lit in 1874, says the log."),
        ("almanac", "It is known that the lamp was lit in 1874."),
        ("gazette", "The lamp was lit in 1871."),
        ("deeds", "The tower was built in 1840."),
    )
)
DOCUMENTS = [LOG, ALMANAC, GAZETTE, DEEDS]
"""Two documents against one about the lamp, and one about the tower."""
GAZETTE_KNOWS = {"domains": {"gazette.test": 3}}
LAMP = "The lamp was lit in 1871."
QUESTION = "When was the lamp lit?"


@pytest.fixture
def world() -> RevisingWorld:
    return RevisingWorld(answer=LAMP)


def run(model: ChatOpenAI, documents: Any = DOCUMENTS, **settings: Any) -> dict[str, Any]:
    graph = create_self_correcting_rag(model, cache=False, **settings)
    return graph.invoke({"question": QUESTION, "documents": documents})


def test_scores_are_shown_with_and_without_weights(model: ChatOpenAI) -> None:
    plain, weighed = run(model), run(model, trust=GAZETTE_KNOWS)

    for name in ("report", "final_report"):
        assert "weighted" not in plain[name]
    told = weighed["report"].pop("weighted")
    assert (told["by"], told["weights"]) == ("table", {"1": 1, "2": 1, "3": 3, "4": 1})
    assert (told["cs_c"], told["cs_r"]) == pytest.approx((1 / 3, 2 / 5))
    assert weighed["report"] == plain["report"]
    assert weighed["attempts"][0]["report"]["weighted"] == told


def test_evidence_is_shown_by_trust_and_what_has_none_is_not(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    table = {"domains": {"log.test": 0.5, "almanac.test": 2}}

    run(model, **PAPER)
    run(model, **PAPER, trust=table)
    run(model, **PAPER, trust={"domains": {"log.test": 0}})

    def order(prompt: str) -> list[str]:
        lines = prompt.partition("contradict this claim")[2].splitlines()
        return [line.split()[2].rstrip(":") for line in lines if line.startswith("- Document")]

    assert [order(prompt) for prompt in world.prompts["regenerate"]] == [
        ["1", "2"],
        ["2", "1"],
        ["2"],
    ]
