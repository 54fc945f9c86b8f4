"""The loop, driven through the real client against a loopback server."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document as Retrieved
from langchain_core.runnables import RunnableConfig
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from pydantic import SecretStr

from conflictscore import create_self_correcting_rag
from conflictscore.errors import ConfigurationError, ConflictScoreError
from conflictscore.graph.binding import running_with
from conflictscore.graph.create import run_context
from conflictscore.graph.self_correction import build_self_correction_graph, shared_graph
from conflictscore.loop.state import RagInput
from conflictscore.records import Method
from conflictscore.retrieval.google import GoogleRetriever
from conflictscore.storage.cache import ContentCache
from tests.fakes.google_search import GoogleSearchServer, result
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply
from tests.world import DISAGREEING, PAPER, World, applied, paper_loop, scripted_model, sides

QUESTION: RagInput = {"question": "When was the lamp lit?", "documents": DISAGREEING}
OPTIONS = ["It was 1871.", "It was 1874."]
TWO_TOPICS: RagInput = {
    "question": "When?",
    "documents": [
        {"text": f"The {what}."}
        for what in ("lamp: 1871", "lamp: 1874", "tower: 1840", "tower: 1850")
    ],
}
LAMP, TOWER = "The lamp was lit in 1871.", "The tower was built in 1840."


@pytest.mark.parametrize(("finish_reason", "checked"), [("stop", "fully"), ("", "partly")])
def test_an_answer_whose_stream_just_ends_is_checked_in_part(
    world: World, finish_reason: str, checked: str, tmp_path: Path
) -> None:
    def stopping(request: ChatRequest) -> Reply | str | Fault:
        reply = world(request)
        return Reply(reply, finish_reason=finish_reason) if reply == world.answer else reply

    cache = ContentCache(tmp_path / "replies.sqlite")
    with OpenAIServer(stopping) as server:
        model = scripted_model(server).model_copy(update={"streaming": True, "temperature": 0})
        graph = create_self_correcting_rag(model, cache=cache, labeler="json")
        states = [graph.invoke(QUESTION) for _ in range(2)]

    assert [state["checked"] for state in states] == [checked] * 2
    gaps = [gap["kind"] for gap in states[0]["examined"]["gaps"]]
    assert gaps == ([] if checked == "fully" else ["unfinished_answer"])
    assert any("may be incomplete" in note for note in states[1]["notes"]) == (checked == "partly")


def test_an_answer_whose_sources_disagree_is_answered_again_with_both_sides_in_view(
    model: ChatOpenAI, world: World
) -> None:
    state = paper_loop(model).invoke(QUESTION)

    assert state["first_answer"] == "It was lit in 1871."
    assert state["answer"] == "It was lit in 1874."
    assert state["flipped"]
    assert state["justification"] == "The log was written on the night (Doc 2)."
    [change] = applied(state)
    assert (change["before"], change["after"]) == ("It was lit in 1871.", "It was lit in 1874.")
    assert (change["action"], change["whole"], change["accepted"]) == ("replace", True, True)
    assert change["reason"] == state["justification"]
    assert sides(change) == [("It was lit in 1871.", [1], [2])]
    assert state["attempts"][-1]["answer"]["cited"] == [2]
    [prompt] = world.prompts["regenerate"]
    supporting, _, contradicting = prompt.partition("Documents that contradict this claim:")
    assert '- Document 1: "The lamp was lit in 1871."' in supporting
    assert '- Document 2: "The log says the lamp was lit in 1874."' in contradicting


@pytest.mark.parametrize("method", ["rag", "control-rag"])
def test_the_methods_that_answer_once_do_so(model: ChatOpenAI, world: World, method: str) -> None:
    context = run_context(model, cache=False, **PAPER)
    once = build_self_correction_graph(replace(context, method=Method(method)))
    state = once.invoke(QUESTION)

    assert world.asked["regenerate"] == 0
    assert state["report"]["cs_c"] == 1.0
    cautious = "Watch for places where the documents disagree" in world.prompts["generate"][0]
    assert cautious == (method == "control-rag")


def test_the_loop_goes_on_as_long_as_there_is_new_evidence(model: ChatOpenAI, world: World) -> None:
    world.answer, world.regenerated = LAMP, [TOWER, "The lamp was lit in 1874."]

    state = paper_loop(model, max_rounds=5).invoke(TWO_TOPICS)

    assert world.asked["regenerate"] == 2
    assert [attempt["round"] for attempt in state["attempts"]] == [0, 1, 2]
    assert state["answer"] == "The lamp was lit in 1874."
    assert state["reason"] == "there is no new evidence"


def test_multiple_choice_scores_the_chosen_option_and_may_choose_again(
    model: ChatOpenAI, world: World
) -> None:
    world.answer = "(A)"
    world.regenerated = "B – It was 1874.\nJustification: The log was kept at the time (Docs 2, 9)."

    state = paper_loop(model).invoke({**QUESTION, "options": OPTIONS})

    assert world.asked["decompose"] == 0
    assert world.asked["justify"] == 0
    assert state["report"]["claims"][0]["text"] == "It was 1871."
    assert state["answer"] == "It was 1874."
    assert state["flipped"]
    assert state["justification"] == "The log was kept at the time (Docs 2, 9)."
    last = state["attempts"][-1]["answer"]
    assert (last["option"], last["cited"]) == (1, [2])


def test_an_option_that_is_json_is_chosen_again_as_a_whole(model: ChatOpenAI, world: World) -> None:
    world.answer = "(A)"
    world.regenerated = "B\nJustification: The log was kept at the time (Docs 2, 9)."
    options = ['["It was 1871."]', '["It was 1874."]']

    state = paper_loop(model).invoke({**QUESTION, "options": options})

    assert state["answer"] == '["It was 1874."]'
    assert state["attempts"][-1]["answer"]["option"] == 1


def test_a_choice_that_cannot_be_read_twice_leaves_the_first_answer_and_says_so(
    model: ChatOpenAI, world: World
) -> None:
    world.answer = "(A)"
    world.regenerated = "I would rather say B."

    state = paper_loop(model).invoke({**QUESTION, "options": OPTIONS})

    assert world.asked["regenerate"] == 2
    assert state["answer"] == "It was 1871."
    assert not state["flipped"]
    failure = state["regeneration_error"]
    assert failure.startswith("unreadable reply from scripted: it was neither (A) nor (B)")
    why = f"the earlier answer was kept, because no new answer could be generated: {failure}"
    assert (state["notes"], state["reason"], state["decision"]) == ([why], why, "record")


def test_a_claim_copied_from_the_request_is_not_a_claim_of_the_answer(
    model: ChatOpenAI, world: World
) -> None:
    copied = "Add nothing, and state nothing twice."
    world.broken["decompose"] = f"Claims:\n- {copied}"
    state = paper_loop(model).invoke(QUESTION)
    assert state["report"]["cs_c"] is None
    assert f"“{copied}” is copied from the request" in state["report"]["error"]

    world.answer = f"The rule of the house: {copied}"
    said = paper_loop(model).invoke(QUESTION)
    assert [claim["text"] for claim in said["report"]["claims"]] == [copied]


def test_copied_sentences_are_left_out_beside_a_claim_of_the_answer(
    model: ChatOpenAI, world: World
) -> None:
    world.answer = claim = "The lamp was first lit in 1871."
    copied = "Add nothing, and state nothing twice.", "The answer claims nothing."
    world.broken["decompose"] = "\n- ".join(["Claims:", claim, *copied])
    state = paper_loop(model).invoke(QUESTION)

    assert [each["text"] for each in state["report"]["claims"]] == [claim]


def test_sentences_about_the_answer_are_left_out_of_its_claims(
    model: ChatOpenAI, world: World
) -> None:
    world.answer = claim = "The lamp was first lit in 1871."
    about = "The answer is about a lamp.", f"The passage states: {claim}"
    world.broken["decompose"] = "\n- ".join(["Claims:", *about])
    state = paper_loop(model).invoke(QUESTION)

    assert [each["text"] for each in state["report"]["claims"]] == [claim]


def test_a_greeting_states_nothing_even_if_its_claims_are_copied_from_the_request(
    model: ChatOpenAI, world: World
) -> None:
    world.answer = "Hello! How can I help you today?"
    copied = "The answer was given to the question below."
    world.broken["decompose"] = f"Claims:\n- {copied}\n- The answer claims nothing. || {copied}"

    state = create_self_correcting_rag(model, cache=False).invoke(QUESTION)

    assert [gap["kind"] for gap in state["examined"]["gaps"]] == ["states_nothing"]
    assert world.asked["decompose"] == 1


def test_a_flip_whose_reason_cannot_be_had_stays_a_flip(model: ChatOpenAI, world: World) -> None:
    world.broken["justify"] = Fault(status=500)

    state = paper_loop(model).invoke(QUESTION)

    assert state["flipped"]
    assert (state["justification"], applied(state)[0]["reason"]) == (None, None)
    [note] = state["notes"]
    assert note.startswith("the change has no justification: scripted failed with HTTP 500: ")


def test_invoke_ainvoke_stream_and_batch_agree(model: ChatOpenAI) -> None:
    graph = paper_loop(model)

    async def asynchronous() -> list[Any]:
        return [await graph.ainvoke(QUESTION), *await graph.abatch([QUESTION, QUESTION])]

    states = [
        graph.invoke(QUESTION),
        *graph.batch([QUESTION, QUESTION]),
        list(graph.stream(QUESTION, stream_mode="values"))[-1],
        *asyncio.run(asynchronous()),
    ]

    assert {state["answer"] for state in states} == {"It was lit in 1874."}
    assert len({state["run_id"] for state in states}) == len(states)


async def test_the_sync_face_works_inside_a_running_loop(model: ChatOpenAI) -> None:
    assert paper_loop(model).invoke(QUESTION)["flipped"]


def test_an_event_tells_what_its_step_came_to(model: ChatOpenAI) -> None:
    """A page shows a run in progress from these events."""
    told = list(paper_loop(model).stream(QUESTION, stream_mode="custom"))
    first, second = "It was lit in 1871.", "It was lit in 1874."
    scores = {"cs_c": 1.0, "cs_r": 0.5, "coverage": 1.0, "conflicting": [1]}
    decided = {"event": "decision"}

    assert [event for event in told if event["event"] != "label"] == [
        {
            "event": "documents",
            "documents": [
                {"number": 1, "title": "Gazette", "url": "https://gazette.test/a"},
                {"number": 2, "title": "Log", "url": "https://log.test/b"},
                {"number": 3, "title": "Walks", "url": "https://walks.test/c"},
            ],
        },
        {"event": "answer", "round": 0, "answer": first},
        {"event": "claims", "claims": [{"number": 1, "text": first, "passage": [0, 19]}]},
        {"event": "scores", "round": 0, **scores},
        {**decided, "decision": "correct", "reason": "claim 1 has evidence on both sides"},
        {"event": "answer", "round": 1, "answer": second},
        {"event": "claims", "claims": [{"number": 1, "text": second, "passage": [0, 19]}]},
        {"event": "scores", "round": 1, **scores},
        {**decided, "decision": "justify", "reason": "1 of 1 rounds of correction were used"},
        {"event": "flip", "before": first, "after": second, "changes": told[-1]["changes"]},
    ]
    [change] = told[-1]["changes"]
    assert (change["reason"], sides(change)) == (World.reason, [(first, [1], [2])])
    labels = [event for event in told if event["event"] == "label"]
    label = next(event for event in labels if event["document"] == 1)  # they come in any order
    assert (label["label"], label["cached"]) == ("SUPPORTS", False)
    assert label["reasoning"] == "The years were compared."


def test_a_run_may_bring_its_own_context(model: ChatOpenAI) -> None:
    graph, other = paper_loop(model), paper_loop(model)
    once = replace(run_context(model, cache=False, **PAPER), method=Method.RAG)

    with running_with(graph, once):
        asked = [graph.invoke(QUESTION)["method"], other.invoke(QUESTION)["method"]]
    assert asked == ["rag", "regenerated-rag"], "another graph keeps its own"
    assert graph.invoke(QUESTION)["method"] == "regenerated-rag"


async def test_a_graph_without_a_context_wants_one_for_each_run(model: ChatOpenAI) -> None:
    with pytest.raises(RuntimeError, match="built without a context"):
        await shared_graph().ainvoke(QUESTION)

    context = run_context(model, cache=False, **PAPER)
    with running_with(shared_graph(), context):
        assert (await shared_graph().ainvoke(QUESTION))["flipped"]


def test_documents_longer_than_the_window_are_cut_with_a_note(
    model: ChatOpenAI, world: World
) -> None:
    documents = [*DISAGREEING, {"text": "A long walk along the shore. " * 2000}]

    state = paper_loop(model, context_window=4096).invoke(
        {"question": "When?", "documents": documents}
    )

    assert [note for note in state["notes"] if "cut" in note or "only part" in note] == [
        "to answer, document 4 was cut: it is longer than its share of the context window",
        "to answer again, document 4 was cut: it is longer than its share of the context window",
        "the first answer and regenerated answer 1: the judge saw only part of document 4, because"
        " it was too long",
    ]
    assert "is left out here" in world.prompts["generate"][0]
    assert "The lamp was lit in 1871." in world.prompts["generate"][0]


def test_nothing_to_answer_from_is_an_error(model: ChatOpenAI) -> None:
    with pytest.raises(ConfigurationError) as refused:
        paper_loop(model).invoke({"question": "When?"})
    assert str(refused.value) == (
        "nothing to answer from: give a retriever, or documents with the question"
    )


def test_the_state_is_plain_json_but_for_its_messages(model: ChatOpenAI) -> None:
    state = paper_loop(model).invoke(QUESTION)

    assert [message.type for message in state.pop("messages")] == ["human", "ai"]
    assert json.loads(json.dumps(state, allow_nan=False)) == state
    # lists that carried records along would ignore what a host edits in them
    assert {type(state[field]) for field in ("documents", "attempts", "claims", "evidence")} == {
        list
    }


def test_the_evidence_may_come_from_google(model: ChatOpenAI, world: World) -> None:
    found = [result(d["url"], d["title"], d["text"]) for d in DISAGREEING]
    with GoogleSearchServer(found, api_key="google-key") as search:
        google = GoogleRetriever(
            api_key=SecretStr("google-key"), engine_id="engine", endpoint=search.endpoint
        )
        state = paper_loop(model, retriever=google).invoke({"question": "When was the lamp lit?"})

    assert search.requests[0].parameters["q"] == "When was the lamp lit?"
    assert [d["url"] for d in state["documents"]] == [d["url"] for d in DISAGREEING]
    assert state["flipped"]
    assert "google-key" not in json.dumps(state, default=repr)


# Runs that are stopped, and resume from a real SQLite checkpoint


async def test_a_failed_run_resumes(model: ChatOpenAI, world: World, tmp_path: Path) -> None:
    thread: RunnableConfig = {"configurable": {"thread_id": "one"}}
    world.broken["generate"] = Fault(status=503)
    documents = [Retrieved(d["text"], metadata={"title": d["title"]}) for d in DISAGREEING]
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "runs.sqlite")) as saver:
        graph = paper_loop(model, checkpointer=saver)
        with pytest.raises(ConflictScoreError, match="503"):
            await graph.ainvoke({**QUESTION, "documents": documents}, thread)
        run_id = (await graph.aget_state(thread)).values["run_id"]
        world.broken.clear()

        state = await graph.ainvoke(None, thread)

    assert state["run_id"] == run_id
    assert state["answer"] == "It was lit in 1874."


async def test_a_verdict_on_a_cut_document_is_not_taken_for_one_on_the_whole(
    model: ChatOpenAI, tmp_path: Path
) -> None:
    cache = ContentCache(tmp_path / "verdicts.sqlite")
    # with a small window, text far from the claim's words is not shown
    long = {"text": "The lamp was lit again. " * 2000 + "In 1880 it all began."}
    question: RagInput = {"question": "When?", "documents": [long]}
    for window, label in ((4096, "IRRELEVANT"), (100_000, "CONTRADICTS")):
        graph = create_self_correcting_rag(model, cache=cache, **PAPER, context_window=window)
        state = await graph.ainvoke(question)
        assert state["report"]["claims"][0]["labels"][0]["label"] == label
