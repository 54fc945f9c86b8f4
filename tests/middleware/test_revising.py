"""Corrections of a disputed answer at every entry point: one table of scenarios."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

import pytest

from tests.middleware.entry_points import ENTRY_POINTS, EntryPoint
from tests.middleware.service.serving import serving
from tests.revising import DOCUMENTS, LONG, RevisingAgentWorld
from tests.talking import Shelf
from tests.world import applied

OURS: dict[str, Any] = {
    "regeneration": "revise",
    "disputed": ("conflict", "refuted", "contradicted"),
    "guard": True,
}
NAMES = ["graph", "agent, asynchronous", "chat model, streamed", "function", "service"]


def right(text: str) -> str:
    return text.replace("1871", "1874").replace("1850", "1840")


@dataclass(frozen=True)
class Scenario:
    """An answer, and its corrected form."""

    answer: str
    becomes: str | None = None
    """None if the answer stays unchanged."""
    decomposition: str | None = None
    broken: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    checked: str = "partly"
    """Most passages are in no claim, since the model lists only those with a year."""
    note: str = ""
    """Text of a note."""
    by_tools: bool = False
    """Whether a tool brought the documents before the first answer."""


AROUND = "Vennick is a headland in the west.\n\n{}\n\nIts light reaches far. It is white.\n"
TABLE = AROUND.format("| what | when |\n|------|------|\n| lamp | 1871 |\n| horn | none |")
CODE = AROUND.format("```yaml\nlamp:\n  lit: 1871  # by hand\n```")
LIST = AROUND.format("1. *The* lamp was lit in 1871;\n2. the horn is loud.\n   - very")
HEADING = AROUND.format("## The lamp of 1871 ##\n\nIt shines.")
BOTH = AROUND.format("The lamp was lit in 1871, the tower built in 1850. So it is.")
REFUTED = AROUND.format("The tower was built in 1850 by hand.")

SCENARIOS = {
    "long Markdown": Scenario(LONG, right(LONG)),
    "a list": Scenario(LIST, right(LIST)),
    "a table": Scenario(TABLE, right(TABLE)),
    "code": Scenario(CODE, right(CODE)),
    "a heading": Scenario(HEADING, right(HEADING)),
    "two disputed claims in one sentence": Scenario(
        BOTH,
        right(BOTH),
        decomposition="Claims:\n- The lamp was lit in 1871. || The lamp\n"
        "- The tower was built in 1850. || The lamp",
    ),
    "a short answer": Scenario(
        "The lamp was lit in 1871.", "The lamp was lit in 1874.", checked="fully"
    ),
    "a failing judge": Scenario(LONG, broken={"label": "Hm."}, checked="no", note="have no label"),
    "a draft that tools back": Scenario(LONG, right(LONG), by_tools=True),
    "a further search that finds nothing new": Scenario(
        LONG, right(LONG), settings={"look_further": "disputed"}
    ),
    "only some claims labelled": Scenario(
        LONG, settings={"max_claims": 1, "max_rounds": 0}, checked="partly", note="have no label"
    ),
}


AT_EVERY_ENTRY_POINT = (
    *("long Markdown", "a failing judge", "a draft that tools back"),
    *("a further search that finds nothing new", "only some claims labelled"),
)
"""Scenarios that depend on the entry point's own code. The others run through one entry point each,
in turn."""


def entry_point_and_scenario() -> Iterator[Any]:
    entry_points = [entry_point for entry_point in ENTRY_POINTS if entry_point.name in NAMES]
    turns = cycle(entry_points)
    for name, scenario in SCENARIOS.items():
        for entry_point in entry_points if name in AT_EVERY_ENTRY_POINT else [next(turns)]:
            yield pytest.param(entry_point, scenario, id=f"{entry_point.name}-{name}")


@pytest.mark.parametrize(("entry_point", "scenario"), [*entry_point_and_scenario()])
def test_what_is_disputed_changes_and_all_else_stays(
    entry_point: EntryPoint, scenario: Scenario, caplog: pytest.LogCaptureFixture
) -> None:
    world = RevisingAgentWorld(
        tools=(),
        answer=scenario.answer,
        decomposition=scenario.decomposition,
        broken=dict(scenario.broken),
    )
    with caplog.at_level(logging.WARNING):
        got = entry_point.answered(
            world,
            DOCUMENTS,
            by_tools=scenario.by_tools,
            **{**OURS, **scenario.settings},
        )

    becomes = scenario.becomes or scenario.answer
    assert got.said.strip() == str(got.run["answer"]).strip() == becomes.strip()
    assert got.run["flipped"] == (scenario.becomes is not None)
    assert got.run["checked"] == scenario.checked
    assert any(scenario.note in note for note in got.run["notes"]) or not scenario.note
    warned = any("checked" in record.getMessage() for record in caplog.records)
    assert warned == (scenario.checked != "fully")
    assert bool(applied(got.run)) == (scenario.becomes is not None)


@pytest.mark.parametrize(
    ("broken", "checked"),
    [({}, "partly"), ({"label": "Hm.", "batch": "Hm."}, "no"), ({"decompose": "Hm."}, "no")],
)
def test_the_service_says_in_a_header_whether_an_answer_was_checked(
    broken: dict[str, str], checked: str
) -> None:
    world = RevisingAgentWorld(tools=(), broken=dict(broken))
    with serving(world, settings={"no_auth": True}, **OURS) as served:
        response = served.ask("When was the lamp lit?")
        assert response.headers["x-conflictscore-checked"] == checked
        assert response.json()["conflictscore"]["checked"] == checked


def test_the_service_annotates_what_one_document_alone_contradicts() -> None:
    world = RevisingAgentWorld(tools=(), answer=REFUTED)
    annotating = {"mode": "annotate", "no_auth": True}
    with serving(world, retriever=Shelf(found=DOCUMENTS), settings=annotating) as served:
        said = served.ask("When?").json()["choices"][0]["message"]["content"]
    assert said.startswith(REFUTED.strip())
    assert "Note: the sources contradict 1 of 1 claims of this answer." in said
    assert "For it: none. Against it: Deeds." in said
