"""Answers that are revised in place, and the guard that lets a change stand or not."""

import asyncio
import logging
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from langchain_openai import ChatOpenAI

from conflictscore import create_self_correcting_rag
from conflictscore.graph.create import run_context
from conflictscore.graph.self_correction import build_self_correction_graph
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.ledger import Ledger, attach
from conflictscore.models.limits import ConcurrencyLimit
from conflictscore.nodes.state import RagInput
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply
from tests.models.calling import calling
from tests.revising import DOCUMENTS, LONG, RevisingWorld, passage_in, revision
from tests.world import applied, scripted_model

LAMP, TOWER = "**The lamp was lit in 1871.**", "the tower was built in 1850."
NEW_LAMP, NEW_TOWER = "**The lamp was lit in 1874.**", "the tower was built in 1840."
RIGHT = LONG.replace(LAMP, NEW_LAMP).replace(TOWER, NEW_TOWER)
OURS: dict[str, Any] = {
    "regeneration": "revise",
    "disputed": ("conflict", "refuted", "contradicted"),
    "guard": True,
}


@pytest.fixture
def world() -> RevisingWorld:
    return RevisingWorld()


@pytest.fixture
def model(world: RevisingWorld) -> Iterator[ChatOpenAI]:
    with OpenAIServer(world) as server:
        yield scripted_model(server)


def run(model: ChatOpenAI | LanguageModel, **settings: Any) -> dict[str, Any]:
    graph = create_self_correcting_rag(model, cache=False, **{**OURS, **settings})
    return graph.invoke({"question": "When was the lamp lit?", "documents": DOCUMENTS})


def test_only_the_disputed_passages_are_written_anew(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    state = run(model)

    assert state["answer"] == RIGHT
    assert state["first_answer"] == LONG
    assert state["justification"] == "The log was kept at the time (Doc 1)."
    assert world.asked["revise"] == 2
    assert world.asked["justify"] == 0
    assert state["report"]["disputed"] == [1, 2]
    assert state["final_report"]["disputed"] == [1]  # two to one, and now for it
    assert state["checked"] == "fully"


def test_every_passage_is_logged_with_its_evidence_and_the_guards_figures(
    model: ChatOpenAI,
) -> None:
    lamp, tower = applied(run(model))

    assert (lamp["before"], lamp["after"], lamp["action"]) == (LAMP, NEW_LAMP, "replace")
    assert (tower["before"], tower["after"], tower["round"]) == (TOWER, NEW_TOWER, 1)
    assert lamp["balance_before"] == pytest.approx([-1 / 3])
    assert lamp["balance_after"] == pytest.approx([1 / 3])
    assert (tower["balance_before"], tower["balance_after"]) == ([-1.0], [1.0])
    [claim] = lamp["claims"]
    assert [label["label"] for label in claim["labels"]] == [
        *("CONTRADICTS", "CONTRADICTS", "SUPPORTS", "IRRELEVANT")
    ]


def test_a_request_shows_the_passage_its_surroundings_and_both_sides(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    run(model)

    [asked] = [p for p in world.prompts["revise"] if passage_in(p) == LAMP]
    assert "Vennick is a headland in the west." in asked
    assert "Its light reaches far [1]." in asked
    supporting, _, contradicting = asked.partition("Documents that contradict this claim:")
    assert "The lamp was lit in 1871." in supporting
    assert "It is known that the lamp was lit in 1874." in contradicting
    assert "HEDGE, if the evidence cannot settle it" in asked
    assert world.asked["label"] == 2 * 4 + 2 * 4  # the claims of what was not changed cost nothing


def test_only_conflicts_are_looked_at_where_the_policy_says_so(model: ChatOpenAI) -> None:
    assert run(model, disputed=["conflict"])["answer"] == LONG.replace(LAMP, NEW_LAMP)
    assert run(model, disputed=["contradicted"])["answer"] == LONG.replace(TOWER, NEW_TOWER)
    alone = run(model, disputed=["refuted"])
    assert alone["reason"] == "no claim is disputed", "one document against the tower is not two"
    assert run(model, disputed=["unsupported"])["reason"] == "no claim is disputed"


def test_a_change_whose_evidence_is_not_better_is_refused_and_the_others_stand(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    world.revised = lambda passage: revision(
        "REPLACE", passage.replace("1871", "1860").replace("1850", "1840")
    )

    state = run(model)

    assert state["answer"] == LONG.replace(TOWER, NEW_TOWER)
    assert [flip["after"] for flip in applied(state)] == [NEW_TOWER]
    refused, stands = state["changes"]
    assert (refused["accepted"], stands["accepted"]) == (False, True)
    assert refused["note"] == "its evidence is not better (-0.33 before, -1.00 after)"
    assert any("“**The lamp was lit in 1871.**” was refused" in note for note in state["notes"])
    [lamp, tower] = state["final_report"]["claims"]
    assert (lamp["text"], tower["text"]) == (
        "The lamp was lit in 1871.",
        "the tower was built in 1840.",
    )


def test_what_the_guard_decided_is_told_as_it_decides(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    worse = "**The lamp was lit in 1860.**"
    world.revised = lambda passage: revision(
        "REPLACE", passage.replace("1871", "1860").replace("1850", "1840")
    )

    graph = create_self_correcting_rag(model, cache=False, **OURS)
    asked: RagInput = {"question": "When was the lamp lit?", "documents": DOCUMENTS}
    events = list(graph.stream(asked, stream_mode="custom"))

    assert [event for event in events if event["event"] == "guard"] == [
        {
            "event": "guard",
            "round": 1,
            "accepted": [[TOWER, NEW_TOWER]],
            "refused": [[LAMP, worse, "its evidence is not better (-0.33 before, -1.00 after)"]],
        }
    ]


def test_a_run_under_way_shows_what_the_guard_left_standing(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    world.revised = lambda passage: revision("REPLACE", passage.replace("1871", "1860"))

    graph = create_self_correcting_rag(model, cache=False, **{**OURS, "disputed": ["conflict"]})
    asked: RagInput = {"question": "When was the lamp lit?", "documents": DOCUMENTS}
    states = [state for state in graph.stream(asked, stream_mode="values") if state.get("draft")]
    drafts = [state["draft"]["text"] for state in states]

    assert list(dict.fromkeys(drafts)) == [LONG, LONG.replace("1871", "1860")]
    assert drafts[-1] == LONG, "the change was refused"


def test_why_an_answer_is_revised_names_the_claims(model: ChatOpenAI) -> None:
    graph = create_self_correcting_rag(model, cache=False, **OURS)
    asked: RagInput = {"question": "When was the lamp lit?", "documents": DOCUMENTS}
    events = list(graph.stream(asked, stream_mode="custom"))

    first = next(event for event in events if event["event"] == "decision")
    assert (first["decision"], first["reason"]) == ("correct", "disputed claims: 1, 2")


def test_a_passage_is_asked_for_with_the_callers_parameters_but_those_of_the_answers_text(
    world: RevisingWorld,
) -> None:
    bodies = []

    def watching(request: ChatRequest) -> Reply | str | Fault:
        if '<answer part="passage">' in request.prompt:
            bodies.append(request.body)
        return world(request)

    given = {"seed": 7, "stop": ["END"], "extra_body": {"top_k": 5, "stop": ["END"]}}
    with OpenAIServer(watching) as server:
        context = run_context(scripted_model(server), cache=False, **OURS)
        graph = build_self_correction_graph(replace(context, answer_parameters=given))
        asyncio.run(graph.ainvoke({"question": "When was the lamp lit?", "documents": DOCUMENTS}))

    assert len(bodies) == 2
    assert all((body["seed"], body["top_k"]) == (7, 5) for body in bodies)
    assert not any("stop" in body for body in bodies)


def test_why_an_answer_counts_as_unchecked_is_logged(
    model: ChatOpenAI, world: RevisingWorld, caplog: pytest.LogCaptureFixture
) -> None:
    world.broken["label"] = Fault(status=400, message="not now")

    with caplog.at_level(logging.WARNING):
        state = run(model, min_coverage=0.5)

    assert state["checked"] == "no"
    said = "the answer was not checked: 0% of its pairs of claim and document have a label"
    assert said in caplog.text


def test_an_invention_does_not_replace_what_is_refuted(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    def inventing(request: ChatRequest) -> Reply | str | Fault:
        reply = world(request)
        silent = "1999" in str(request.messages) and isinstance(reply, str)
        return str(reply).replace("CONTRADICTS", "IRRELEVANT") if silent else reply

    world.revised = lambda passage: revision(
        "REPLACE", passage.replace("1871", "1874").replace("1850", "1999")
    )
    with OpenAIServer(inventing) as server:
        state = run(scripted_model(server))

    assert state["answer"] == LONG.replace(LAMP, NEW_LAMP)
    _, invention = state["changes"]
    assert invention["note"] == "no document supports what it says instead"
    assert invention["balance_after"] == [0.0]


def test_a_replacement_that_claims_nothing_is_refused(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    """To take a passage away is REMOVE; small models write None, or talk of their task."""
    world.revised = lambda passage: (
        revision("KEEP") if passage == LAMP else revision("REPLACE", "None.")
    )

    state = run(model)

    assert (state["answer"], applied(state)) == (LONG, [])
    [_, refused] = state["changes"]
    assert refused["note"] == "it claims nothing in place of what it replaces"


def test_a_claim_with_more_against_it_than_for_it_does_not_replace_a_worse_one(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    world.answer = LONG.replace("1871", "1860")
    world.revised = lambda passage: revision("REPLACE", passage.replace("1860", "1871"))

    state = run(model, disputed=["refuted"])

    assert state["answer"] == world.answer
    [refused] = state["changes"]
    assert "more documents contradict than support a claim" in refused["note"]
    assert refused["balance_after"] == pytest.approx([-1 / 3]), (
        "better than before, and still wrong"
    )


def test_without_a_guard_every_change_stands(model: ChatOpenAI, world: RevisingWorld) -> None:
    world.revised = lambda passage: revision("REPLACE", passage.replace("1871", "1860"))

    state = run(model, guard=False)

    assert state["answer"] == LONG.replace("1871", "1860")
    assert applied(state)[0]["balance_before"] is None


def test_a_change_that_cannot_be_checked_is_refused(world: RevisingWorld) -> None:
    def judge(request: ChatRequest) -> Reply | str | Fault:
        apart = "passage of an answer apart" in request.prompt
        return Fault(status=400, message="not now") if apart else world(request)

    with OpenAIServer(judge) as server:
        state = run(scripted_model(server))

    assert state["answer"] == LONG
    assert all("could not be taken apart" in r["note"] for r in state["changes"])


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("", "WAY:"),
        ("It was lit in 1874.", "WAY:"),
        ("WAY: CHANGE\nPASSAGE:\nIt was lit in 1874.", "WAY:"),
        (revision("REPLACE"), 'no text after "PASSAGE:"'),
        (revision("REPLACE", LONG), "another part of the answer"),
        (revision("REPLACE", "Its light reaches far [1]."), "another part of the answer"),
        (revision("REPLACE", "**The lamp was lit in 1874."), "Markdown"),
        (revision("REPLACE", "**It was lit in 1874.**\n```"), "Markdown"),
        (revision("REPLACE", "**In 1874** [see](https://a.test"), "Markdown"),
        (revision("REPLACE", "The new passage; leave this part out"), "copied from the request"),
        (revision("REPLACE", f"Here: <claim>{NEW_LAMP}</claim>"), "a mark of the request"),
        (revision("REPLACE", '<answer part="passage">\n</answer>'), "nothing between the marks"),
        (Fault(status=400, message="not now"), "not now"),
    ],
)
def test_a_reply_that_misbehaves_leaves_the_passage_as_it_was_with_a_note(
    model: ChatOpenAI, world: RevisingWorld, reply: str | Fault, problem: str
) -> None:
    right = revision("REPLACE", NEW_TOWER)
    world.revised = lambda passage: right if passage == TOWER else reply

    state = run(model)

    assert state["answer"] == LONG.replace(TOWER, NEW_TOWER)
    [note] = [note for note in state["notes"] if "stands" in note]
    assert LAMP in note
    assert problem in note


def test_where_no_passage_can_be_had_the_earlier_answer_stands(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    world.broken["revise"] = "No."

    state = run(model)

    assert state["answer"] == LONG
    assert state["final_report"] is None
    assert any("it could not be regenerated" in note for note in state["notes"])
    assert sum("” stands: " in note for note in state["notes"]) == 2


def test_a_lone_passage_that_could_not_be_revised_is_told_of_once(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    world.broken["revise"] = "No."
    world.answer = LONG.replace(TOWER, "nobody had built higher.")

    [note] = run(model)["notes"]

    assert note.startswith("the earlier answer stands, because it could not be regenerated: ")


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        (11, "could not be regenerated"),
        (13, "could not be taken apart"),
        (15, "” was refused: fewer of its pairs have a label than before$"),
    ],
)
def test_a_budget_used_up_on_the_way_leaves_the_answer_and_loses_nothing(
    world: RevisingWorld, calls: int, said: str
) -> None:
    """Answer, claims and labels take 11 calls, two revisions two, and their claims two."""
    with OpenAIServer(world) as server:
        ledger = Ledger(max_calls=calls)
        state = run(attach(calling(server, limit=ConcurrencyLimit(1)), ledger))

    assert (state["answer"], applied(state)) == (LONG, [])
    assert state["report"]["coverage"] == 1
    assert any(re.search(said, note) for note in state["notes"]), state["notes"]


def test_the_form_of_a_claim_is_no_claim(model: ChatOpenAI, world: RevisingWorld) -> None:
    """Small models copy it; an answer whose claims are unknown is not checked."""
    world.broken["decompose"] = (
        "Claims:\n- The claim as a full sentence. || first words of the passage"
    )

    state = run(model)

    assert (state["answer"], state["checked"]) == (LONG, "no")
    assert "is copied from the request" in state["report"]["error"]


def test_a_passage_that_is_kept_is_no_flip(model: ChatOpenAI, world: RevisingWorld) -> None:
    world.revised = lambda passage: revision("KEEP")

    state = run(model)

    assert (state["answer"], state["flipped"], applied(state)) == (LONG, False, [])
    assert state["final_report"] == state["report"]
    assert [r["action"] for r in state["changes"]] == ["keep", "keep"]
    assert world.asked["decompose"] == 2  # all of the answer, and what claims nothing


@pytest.mark.parametrize("way", ["REPLACE", "HEDGE"])
def test_a_passage_that_is_repeated_is_kept_letter_by_letter(
    model: ChatOpenAI, world: RevisingWorld, way: str
) -> None:
    world.revised = lambda passage: revision(way, passage.replace("was lit", "was  Lit"))

    state = run(model)

    assert (state["answer"], applied(state)) == (LONG, [])
    assert [r["action"] for r in state["changes"]] == ["keep", "keep"]
    assert world.asked["decompose"] == 2  # all of the answer, and what claims nothing


@pytest.mark.parametrize("guard", [True, False])
def test_the_marks_around_a_passage_that_a_model_copies_do_not_reach_the_answer(
    model: ChatOpenAI, world: RevisingWorld, guard: bool
) -> None:
    new = {LAMP: NEW_LAMP, TOWER: NEW_TOWER}
    world.revised = lambda passage: revision(
        "REPLACE", f'<answer part="passage">\n{new[passage]}\n</answer>'
    )

    assert run(model, guard=guard)["answer"] == RIGHT


def test_a_passage_with_such_marks_of_its_own_keeps_them(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    """A model may write out what the request shows with a look-alike of the first bracket."""
    tagged = "<claim>the tower was built in {}.</claim>"
    world.answer = LONG.replace(TOWER, tagged.format(1850))
    world.revised = lambda passage: (
        revision("KEEP") if passage == LAMP else revision("REPLACE", tagged.format(1840))
    )

    assert run(model)["answer"] == LONG.replace(TOWER, tagged.format(1840))


def test_a_claim_that_moves_up_takes_its_labels_along(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    world.revised = lambda passage: revision("REMOVE" if passage == LAMP else "KEEP")

    state = run(model)

    [tower] = state["attempts"][-1]["report"]["claims"]
    assert tower["claim"]["number"] == 1
    assert [(label["claim"], label["document"]) for label in tower["labels"]] == [
        (1, number) for number in range(1, 5)
    ]


def test_a_passage_that_is_removed_takes_its_line_along(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    world.revised = lambda passage: revision("REMOVE")

    state = run(model)

    assert state["answer"] == LONG.replace(f"{LAMP} ", "").replace(f"- {TOWER}\n", "")


@pytest.mark.parametrize(
    "said", ["The passage is kept as it stands.", "The lamp: see the new passage, of 1874."]
)
def test_what_speaks_of_the_task_never_takes_a_passages_place(
    model: ChatOpenAI, world: RevisingWorld, said: str
) -> None:
    world.revised = lambda passage: revision("REPLACE", f"**{said}**" if passage == LAMP else said)

    state = run(model, guard=False)

    assert (state["answer"], applied(state)) == (LONG, [])
    assert any("speaks of the passage itself" in note for note in state["notes"])


@pytest.mark.parametrize("before", [LAMP, "**The passage on the lamp says 1871.**"])
def test_a_passage_may_be_spoken_of_where_the_answer_does_or_it_is_a_way(
    model: ChatOpenAI, world: RevisingWorld, before: str
) -> None:
    said = "**The lamp that lights the passage to the sound was lit in 1874.**"
    if before != LAMP:
        said = before.replace("1871", "1874")
    world.answer = LONG.replace(LAMP, before)
    world.revised = lambda passage: revision("REPLACE" if passage == before else "KEEP", said)

    assert run(model, guard=False)["answer"] == world.answer.replace(before, said)


def test_a_hedge_is_an_outcome_that_both_sides_support(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    hedge = "**Sources disagree on the lamp: 1871 (Gazette) or 1874 (Log).**"
    world.revised = lambda passage: revision("HEDGE" if passage == LAMP else "KEEP", hedge)

    state = run(model)

    assert state["answer"] == LONG.replace(LAMP, hedge)
    assert state["final_report"]["claims"][0]["supports"] == [1, 2, 3]
    assert applied(state)[0]["action"] == "hedge"


def test_what_no_document_supports_may_be_hedged_though_its_evidence_is_no_better(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    """To say that no source confirms it is true, and cannot be better supported than before."""
    hedge = "**No source says whether the lamp was lit in 1871.**"
    world.revised = lambda passage: revision("HEDGE" if passage == LAMP else "KEEP", hedge)

    graph = create_self_correcting_rag(model, cache=False, **{**OURS, "disputed": ["unsupported"]})
    documents = [{"text": "Nothing is known of either."}]
    state = graph.invoke({"question": "When was the lamp lit?", "documents": documents})

    assert state["answer"] == LONG.replace(LAMP, hedge)
    revised = state["changes"][0]
    assert (revised["balance_before"], revised["balance_after"]) == ([0], [0])


def test_nothing_is_hedged_where_the_unsettled_is_to_be_kept(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    world.revised = lambda passage: revision("HEDGE", "**In 1871, some say, or 1874.**")

    state = run(model, unsettled="keep")

    assert state["answer"] == LONG
    assert "HEDGE" not in world.prompts["revise"][0]
    assert "REPLACE, REMOVE" in state["notes"][0] or "KEEP" in state["notes"][0]


@pytest.mark.parametrize("answer", ["The lamp was lit in 1871.", "It stands. It was lit in 1871."])
def test_a_short_answer_is_looked_at_as_a_whole(
    model: ChatOpenAI, world: RevisingWorld, answer: str
) -> None:
    world.answer = answer

    state = run(model)

    assert state["answer"] == answer.replace("1871", "1874")
    [prompt] = world.prompts["revise"]
    assert passage_in(prompt) == answer
    [flip] = applied(state)
    assert flip["whole"]


def test_a_whole_answer_whose_evidence_is_not_better_is_refused(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    world.answer = "The lamp was lit in 1874."
    world.revised = lambda passage: revision("REPLACE", "The lamp was lit in 1871.")

    state = run(model)

    assert state["answer"] == world.answer
    assert state["final_report"] == state["report"]
    assert not state["flipped"]


def test_the_guard_also_judges_what_the_paper_asks_for(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    world.answer, world.regenerated = "The lamp was lit in 1874.", "The lamp was lit in 1871."

    state = run(model, regeneration="paper")

    assert world.asked["regenerate"] == 1
    assert (state["answer"], state["flipped"]) == (world.answer, False)
    assert any("was refused" in note for note in state["notes"])
    [whole] = state["changes"]
    assert (whole["after"], whole["whole"], whole["accepted"]) == (world.regenerated, True, False)


def test_line_ends_and_a_language_without_spaces_stay_as_they_are(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    world.answer = "灯塔在西边。\r\n\r\nlamp灯是 1871 年点亮的。它很亮。\r\n- 一\r\n- 二\r\n"
    world.decomposition = None

    state = run(model)

    assert state["answer"] == world.answer.strip().replace("1871", "1874")


def test_two_claims_of_one_sentence_are_asked_for_together(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    both = "The lamp was lit in 1871, and the tower built in 1850."
    world.answer = f"Vennick is in the west. {both} It is bright. It reaches far."
    world.decomposition = (
        f"Claims:\n- The lamp was lit in 1871. || {both[:12]}\n"
        f"- The tower was built in 1850. || {both[:12]}"
    )

    state = run(model, guard=False)

    [prompt] = world.prompts["revise"]
    assert prompt.count("A claim of the passage that is disputed:") == 2
    assert state["answer"] == world.answer.replace("1871", "1874").replace("1850", "1840")


def test_a_second_round_needs_new_evidence(model: ChatOpenAI, world: RevisingWorld) -> None:
    state = run(model, max_rounds=3)

    assert state["reason"] == "there is no new evidence"
    assert world.asked["revise"] == 2
