"""Which pairs of an answer are labelled, and what happens to the others."""

from typing import Any

import pytest

from conflictscore.errors import BudgetError
from conflictscore.nodes.label import label
from conflictscore.records import Attempt, Candidate, FurtherSearch, SecondLook
from tests.nodes.steps import SPENT, Judge, attempt, claim_with, revision, running, scored, setting


def state_of(claims: list[str], *attempts: Attempt, documents: int = 2, **known: Any) -> Any:
    return {
        "claims": [{"number": n, "text": text} for n, text in enumerate(claims, start=1)],
        "documents": [
            {"number": n, "text": f"Text {n} of them.", "title": f"Title {n}"}
            for n in range(1, documents + 1)
        ],
        "attempts": [one.to_json() for one in attempts],
        "notes": ["the first note"],
        **known,
    }


def sides(update: dict[str, Any]) -> list[str]:
    marks = dict(zip(("SUPPORTS", "CONTRADICTS", "IRRELEVANT", "UNLABELLED"), "+-0?", strict=True))
    return [
        "".join(marks[pair["label"]] for pair in evidence["labels"])
        for evidence in update["evidence"]
    ]


async def test_a_claim_of_an_earlier_answer_keeps_its_labels_under_its_new_number() -> None:
    judge = Judge(new="++", silent="0+", fewer="-+")
    first = attempt(
        scored(
            claim_with("+-", "same", 1), claim_with("+?", "silent", 2), claim_with("+", "fewer", 3)
        )
    )

    update = await label(
        state_of(["new", "same", "silent", "fewer"], first, attempt(None, round=1)),
        running(setting(labeler=judge)),
    )

    assert sides(update) == ["++", "+-", "0+", "-+"]
    kept = update["evidence"][1]
    assert kept["claim"] == {"number": 2, "text": "same", "passage": None}
    assert [(pair["claim"], pair["document"]) for pair in kept["labels"]] == [(2, 1), (2, 2)]
    assert sorted(judge.asked) == [(t, d) for t in ("fewer", "new", "silent") for d in (1, 2)]
    assert (update["usage"]["calls"], update["usage"]["cached_calls"]) == (6, 0)


async def test_a_budget_that_ends_before_the_first_labels_ends_the_run() -> None:
    with pytest.raises(BudgetError):
        await label(state_of(["a"]), running(setting(labeler=Judge())))


async def test_a_budget_that_ends_with_a_change_leaves_the_change_unlabelled() -> None:
    first = attempt(scored(claim_with("+-", "same")))
    changed = revision("one", "other").to_json()

    update = await label(
        state_of(["same", "new"], first, changes=[changed]),
        running(setting(labeler=Judge(), regeneration="revise")),
    )

    assert sides(update) == ["+-", "??"]
    assert [(p["claim"], p["document"], p["error"]) for p in update["evidence"][1]["labels"]] == [
        (2, 1, str(SPENT)),
        (2, 2, str(SPENT)),
    ]


async def test_labels_take_the_time_there_is_and_further_ones_leave_some_for_a_second_answer() -> (
    None
):
    """The answer took two of four seconds, so a second answer leaves no time for labels."""
    known: dict[str, Any] = {"timings": {"generate": 2.0}}
    short = running(setting(labeler=Judge(a="+-"), budget_seconds=4))

    first = await label(state_of(["a"], **known), short)
    search = FurtherSearch(round=0, claim="a", query="a lamp", found=(3,), known=(1,))
    known |= {"decision": "look_further", "searches": [search.to_json()]}
    answered = attempt(scored(claim_with("+-", "a")))
    further_late = await label(state_of([], answered, documents=3, **known), short)

    assert (sides(first), sides(further_late)) == (["+-"], ["+-"])
    left_out = "left out: the time for labelling was used up"
    assert further_late["notes"][1].endswith(
        f": none of their pairs could be labelled ({left_out})"
    )


async def test_a_winner_with_a_pair_that_could_not_be_labelled_is_labelled_again() -> None:
    own, winner, other = claim_with("--", "old"), claim_with("+?", "new"), claim_with("++", "done")
    looks = tuple(
        SecondLook(
            question="When?",
            candidates=(Candidate(evidence=own), Candidate(evidence=rival)),
            decision="replace",
            rival=1,
        )
        for rival in (winner, other)
    )
    change = revision("old", "new", round=1, looks=looks)
    judge = Judge(new="++")
    state = state_of(["new", "done"], attempt(scored(own)), changes=[change.to_json()])

    update = await label(state, running(setting(labeler=judge)))

    assert sides(update) == ["++", "++"]
    assert {text for text, _ in judge.asked} == {"new"}
