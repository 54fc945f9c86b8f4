"""All entry points of the loop behave alike: the same world gives the same run."""

from typing import cast

import pytest

from conflictscore.errors import NoDocumentsError, ProviderError
from tests.fakes.openai_server import Fault
from tests.middleware.agents import AgentWorld
from tests.middleware.entry_points import ENTRY_POINTS, EntryPoint
from tests.middleware.service.serving import AGREEING
from tests.world import DISAGREEING, applied, sides

FIRST, LAST = "It was lit in 1871.", "It was lit in 1874."


@pytest.fixture
def world() -> AgentWorld:
    return AgentWorld(tools=(), answer=FIRST, regenerated=LAST)


@pytest.fixture(params=ENTRY_POINTS, ids=[entry_point.name for entry_point in ENTRY_POINTS])
def entry_point(request: pytest.FixtureRequest) -> EntryPoint:
    return cast("EntryPoint", request.param)


def test_if_the_sources_agree_the_first_answer_is_kept(
    entry_point: EntryPoint, world: AgentWorld
) -> None:
    got = entry_point.answered(world, AGREEING)

    assert got.said == got.run["answer"] == got.run["first_answer"] == FIRST
    assert (got.run["flipped"], got.run["justification"]) == (False, None)
    assert (got.run["report"]["cs_c"], got.run["report"]["coverage"]) == (0.0, 1.0)
    assert got.run["final_report"] is None
    assert got.run["notes"] == []
    assert got.asked == {"generate": 1, "decompose": 1, "label": 2}


def test_where_they_disagree_another_answer_is_given_with_a_reason(
    entry_point: EntryPoint, world: AgentWorld
) -> None:
    got = entry_point.answered(world, DISAGREEING)

    assert got.said == got.run["answer"] == LAST
    assert (got.run["first_answer"], got.run["flipped"]) == (FIRST, True)
    assert got.run["justification"] == world.reason
    assert (got.run["report"]["cs_c"], got.run["report"]["cs_r"]) == (1.0, 0.5)
    assert got.run["final_report"]["cs_c"] == 1.0
    assert [document["title"] for document in got.run["documents"]] == ["Gazette", "Log", "Walks"]
    [change] = got.run["changes"]
    assert (change["before"], change["after"], change["accepted"]) == (FIRST, LAST, True)
    assert sides(change) == [(FIRST, [1], [2])]
    assert (got.asked["generate"], got.asked["regenerate"], got.asked["justify"]) == (1, 1, 1)
    assert got.run["usage"]["calls"] == got.calls


def test_another_answer_that_says_the_same_is_not_a_flip(
    entry_point: EntryPoint, world: AgentWorld
) -> None:
    world.regenerated = "It was lit  in 1871."

    got = entry_point.answered(world, DISAGREEING)

    assert got.said.split() == FIRST.split()
    assert (got.run["flipped"], applied(got.run)) == (False, [])
    assert got.run["final_report"]["cs_c"] == 1.0
    assert got.asked.get("justify", 0) == 0


@pytest.mark.parametrize(
    ("step", "instead", "rounds", "cs_c", "note"),
    [
        ("label", "I would rather not say.", 1, None, "3 of 3 pairs have no label"),
        ("decompose", "It makes some claims.", 1, None, "could not be split into claims"),
        ("regenerate", "", 1, 1.0, "the earlier answer was kept, because no new answer"),
        (None, "", 0, 1.0, None),
    ],
    ids=["no labels", "no claims", "no other answer", "no round"],
)
def test_if_a_step_fails_or_none_is_left_the_first_answer_is_kept_with_a_note(
    entry_point: EntryPoint,
    world: AgentWorld,
    step: str | None,
    instead: str,
    rounds: int,
    cs_c: float | None,
    note: str | None,
) -> None:
    if step == "regenerate":
        world.instead = {step: lambda _: Fault(status=400, message="not now")}
    elif step is not None:
        world.broken = {step: instead}

    got = entry_point.answered(world, DISAGREEING, max_rounds=rounds)

    report = got.run["report"]
    assert got.said == got.run["answer"] == FIRST
    assert (got.run["flipped"], report["cs_c"]) == (False, cs_c)
    assert report["coverage"] == {"label": 0, "decompose": None}.get(str(step), 1)
    assert note is None or note in " ".join([*got.run["notes"], report["error"] or ""])
    assert any("has no score" in said for said in got.run["notes"]) == (step == "decompose")
    assert (got.asked.get("regenerate", 0) > 0) == (step == "regenerate")


def test_where_the_time_is_up_an_agents_answer_passes_unscored_and_others_have_none(
    world: AgentWorld,
) -> None:
    graph, agent, *_ = ENTRY_POINTS
    late = "timed out: the run may take 1e-06 s"
    with pytest.raises(ProviderError, match=late):
        graph.answered(world, DISAGREEING, budget_seconds=1e-6)

    got = agent.answered(world, DISAGREEING, budget_seconds=1e-6)

    assert (got.said, got.run["report"]) == (FIRST, None)
    assert any(late in note for note in got.run["notes"])
    assert got.asked.get("label", 0) == 0


def test_if_nothing_is_found_an_answer_passes_unscored_or_there_is_none(
    entry_point: EntryPoint, world: AgentWorld
) -> None:
    if not entry_point.has_its_own_answer:
        with pytest.raises(NoDocumentsError, match="no documents found for: When was the lamp"):
            entry_point.answered(world, [])
        return

    got = entry_point.answered(world, [])

    assert got.said == got.run["answer"] == got.run["first_answer"] == FIRST
    assert (got.run["flipped"], got.run["report"]) == (False, None)
    assert any("no documents found" in note for note in got.run["notes"])
