"""The labelers by name, on the same answer: what each asks, and that all find the same."""

from typing import Any

import pytest

from conflictscore import create_conflict_scorer, create_self_correcting_rag
from conflictscore.labelers import LabelerName
from tests.fakes.openai_server import OpenAIServer
from tests.world import DISAGREEING, PAPER, World, scripted_model

ANSWER = "It was lit in 1871. The tower is white. The lamp was lit in 1874. It shines."
CLAIMS = (
    "Claims:\n- It was lit in 1871.\n- The tower is white.\n- The lamp was lit in 1874.\n"
    "- It shines."
)


def scored(
    labeler: LabelerName, world: World, *, answer: str = ANSWER, max_claims: int | None = None
) -> dict[str, Any]:
    with OpenAIServer(world) as server:
        scorer = create_conflict_scorer(
            scripted_model(server), labeler=labeler, cache=False, max_claims=max_claims
        )
        report: dict[str, Any] = scorer.invoke({"answer": answer, "documents": DISAGREEING})[
            "report"
        ]
    return report


def sides(report: dict[str, Any]) -> list[tuple[str, list[int], list[int]]]:
    return [(c["text"], c["supports"], c["contradicts"]) for c in report["claims"]]


@pytest.mark.parametrize(("labeler", "calls"), [("per-document", 3), ("matrix", 1)])
def test_a_batch_finds_what_single_calls_find_in_fewer_calls(
    labeler: LabelerName, calls: int
) -> None:
    singly, together = World(decomposition=CLAIMS), World(decomposition=CLAIMS)
    assert sides(scored(labeler, together)) == sides(scored("json", singly))
    assert singly.asked == {"decompose": 1, "label": 12}
    assert together.asked == {"decompose": 1, "batch": calls}


@pytest.mark.parametrize("labeler", ["per-document", "matrix"])
def test_an_answer_is_corrected_whatever_judges_it(labeler: LabelerName) -> None:
    world = World()
    with OpenAIServer(world) as server:
        graph = create_self_correcting_rag(
            scripted_model(server), cache=False, **{**PAPER, "labeler": labeler}
        )
        state = graph.invoke({"question": "When was the lamp lit?", "documents": DISAGREEING})
    assert (state["first_answer"], state["answer"]) == ("It was lit in 1871.", world.regenerated)
    assert state["flipped"]
    assert state["final_report"] is not None
