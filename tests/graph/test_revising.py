"""Answers corrected in place: the documents vote, ties are weighed, and the guard checks."""

import asyncio
import re
from dataclasses import replace
from typing import Any

import pytest
from langchain_openai import ChatOpenAI

from conflictscore import correct, create_self_correcting_rag
from conflictscore.graph.create import run_context
from conflictscore.graph.self_correction import build_self_correction_graph
from conflictscore.loop.state import RagInput
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.ledger import Ledger, attach
from conflictscore.models.limits import ConcurrencyLimit
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply
from tests.models.calling import calling
from tests.revising import DOCUMENTS, LONG, RevisingWorld, passage_in
from tests.world import scripted_model

LAMP, TOWER = "**The lamp was lit in 1871.**", "the tower was built in 1850."
NEW_LAMP, NEW_TOWER = "**The lamp was lit in 1874.**", "the tower was built in 1840."
RIGHT = LONG.replace(LAMP, NEW_LAMP).replace(TOWER, NEW_TOWER)
ASKED: RagInput = {"question": "When was the lamp lit?", "documents": DOCUMENTS}
OURS: dict[str, Any] = {
    "regeneration": "revise",
    "disputed": ("conflict", "refuted", "contradicted"),
    "guard": True,
}
UNDECIDED = "SIDE: NEITHER\nGROUND: NUMBER\nREASON: Nothing tells them apart."
TIED = [{**DOCUMENTS[0]}, DOCUMENTS[2]]
"""One document on each side."""


BOTH = "Built in 1840, it was in 1871 that the lamp of it was lit, in 1871."


def tangle(world: RevisingWorld) -> None:
    """Give an answer in which one passage makes both claims."""
    world.answer = f"Vennick is in the west. {BOTH} It is bright."
    world.decomposition = (
        f"Claims:\n- The lamp was lit in 1871. || {BOTH[:12]}\n"
        f"- The tower was built in 1840. || {BOTH[:12]}"
    )


@pytest.fixture
def world() -> RevisingWorld:
    return RevisingWorld()


def run(
    model: ChatOpenAI | LanguageModel, documents: Any = DOCUMENTS, **settings: Any
) -> dict[str, Any]:
    graph = create_self_correcting_rag(
        model, cache=False, **{"labeler": "json", **OURS, **settings}
    )
    return graph.invoke({**ASKED, "documents": documents})


def test_only_the_disputed_passages_change_and_all_else_stays_byte_for_byte(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    state = run(model)

    assert state["answer"] == RIGHT
    assert state["first_answer"] == LONG
    assert world.asked["justify"] == world.asked["put_in"] == 0
    assert state["report"]["disputed"] == [1, 2]
    assert state["final_report"]["disputed"] == [1]  # two to one, now in favour
    assert state["checked"] == "partly"  # most of its passages are in no claim


def test_an_only_claim_without_a_users_question_is_looked_up_by_its_own(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    run = correct(
        "The tower was built in 1850.", DOCUMENTS, model=model, cache=False, labeler="json", **OURS
    )

    assert (run.answer, run.flipped) == ("The tower was built in 1840.", True)
    [change] = run.changes
    assert [look.question for look in change.looks] == ["When was the tower built?"]


@pytest.mark.parametrize("step", ["ask_document", "relation"])
def test_an_answer_whose_dispute_could_not_be_looked_at_again_is_checked_in_part(
    model: ChatOpenAI, world: RevisingWorld, step: str
) -> None:
    world.broken[step] = Fault(400, message="no such luck")
    answer = "The lamp was lit in 1871."

    run = correct(answer, DOCUMENTS, model=model, cache=False, labeler="json", **OURS)

    assert (run.answer, run.checked) == (answer, "partly")
    assert run.verdict()["kind"] == "not_reconsidered"
    assert [change.failure for change in run.changes] == ["failed"]
    assert any("no such luck" in note for note in run.notes)


def test_a_claim_whose_question_could_not_be_asked_for_is_checked_in_part(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    world.broken["claim_question"] = Fault(400, message="no such luck")
    answer = "The tower was built in 1850."

    run = correct(answer, DOCUMENTS, model=model, cache=False, labeler="json", **OURS)

    assert (run.answer, run.checked) == (answer, "partly")
    assert run.verdict()["kind"] == "not_reconsidered"


def test_a_dispute_whose_evidence_could_not_be_weighed_is_checked_in_part(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    world.broken["weigh"] = Fault(400, message="no such luck")
    answer = "The lamp was lit in 1871."

    run = correct(answer, TIED, model=model, cache=False, labeler="json", **OURS)

    assert (run.checked, run.verdict()["kind"]) == ("partly", "not_reconsidered")


@pytest.mark.parametrize("own_question", [True, False])
def test_no_document_is_asked_a_follow_up_that_could_not_be_rewritten(
    world: RevisingWorld, own_question: bool
) -> None:
    """Asked it bare, documents tell of the lamp."""
    if not own_question:
        world.broken["claim_question"] = "It was built in 1850."

    def unable(request: ChatRequest) -> Reply | str | Fault:
        rewrites = any("A user goes on with a conv" in m["content"] for m in request.messages)
        return "It was built in 1850." if rewrites else world(request)

    turns = [
        {"role": "user", "content": "When was the lamp lit?"},
        {"role": "assistant", "content": "In 1874."},
    ]
    with OpenAIServer(unable) as server:
        graph = create_self_correcting_rag(
            scripted_model(server), cache=False, labeler="json", **OURS
        )
        state = graph.invoke(
            {
                "question": "And that of 1850?",
                "history": turns,
                "documents": DOCUMENTS,
                "draft_answer": "The tower was built in 1850.",
            }
        )

    assert (world.asked["ask_document"] > 0) == own_question
    assert state["answer"] == f"The tower was built in {1840 if own_question else 1850}."


def test_without_any_question_no_document_is_asked(model: ChatOpenAI, world: RevisingWorld) -> None:
    world.broken["claim_question"] = "It was built in 1850."

    run = correct(
        "The tower was built in 1850.", DOCUMENTS, model=model, cache=False, labeler="json", **OURS
    )

    assert world.asked["ask_document"] == 0
    assert not run.flipped
    assert run.changes[0].looks[0].outcome == "no question"
    assert (run.checked, run.verdict()["kind"]) == ("partly", "not_reconsidered")


def test_every_change_tells_its_story(model: ChatOpenAI) -> None:
    state = run(model)

    lamp, tower = state["changes"]
    assert (lamp["before"], lamp["after"], lamp["action"]) == (LAMP, NEW_LAMP, "replace")
    assert lamp["balance_before"] == pytest.approx([-1 / 3])
    assert lamp["balance_after"] == pytest.approx([1 / 3])
    [voted], [weighed] = lamp["looks"], tower["looks"]
    own, rival = voted["candidates"]
    assert (own["votes"], rival["votes"], rival["given_by"]) == ([3], [1, 2], [1, 2])
    assert (voted["decided_by"], voted["weighing"]) == ("vote", None)
    assert weighed["question"] == "When was the tower built?"
    assert (weighed["decided_by"], weighed["weighing"]["ground"]) == ("weighing", "primary")
    assert [ruling["shown"] for ruling in weighed["weighing"]["rulings"]] == [[0, 1], [1, 0]]
    assert "(Docs 1, 2) against “The lamp was lit in 1871” (Doc 3)" in lamp["reason"]
    assert state["justification"].startswith(lamp["reason"])
    assert state["attempts"][1]["answer"]["cited"] == [1, 2, 3, 4]


def test_a_wrong_passage_goes_where_the_answer_says_what_is_right_already(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    world.answer = "The lamp was lit in 1874. It is bright. The lamp was lit in 1871."

    state = run(model, disputed=["conflict"])

    assert state["answer"] == "The lamp was lit in 1874. It is bright."
    gone = next(change for change in state["changes"] if change["action"] == "remove")
    assert (gone["before"].strip(), gone["after"]) == ("The lamp was lit in 1871.", "")
    assert gone["accepted"]
    assert "By the documents' vote" in gone["reason"]


def test_a_hedge_without_support_from_a_document_is_refused(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    world.broken["weigh"] = UNDECIDED
    world.answer = "The lamp was lit in 1874. The tower was built in 1850."

    state = run(model, disputed=["contradicted"])

    assert state["answer"] == world.answer
    assert "Nothing settles it, so it stays" in state["changes"][0]["reason"]


RIDER = "The lamp was lit in 1874 at 5000 mg an hour."
ADDRESS = "The lamp was lit in 1874 https://a.b/7."
BESIDE = ", and in pain take 5000 mg at once", " (see ![x](//a.b/5000))", "; stop at page 5000"


@pytest.mark.parametrize("settled", [True, False], ids=["replaced", "hedged"])
@pytest.mark.parametrize("rider", BESIDE)
def test_what_a_document_adds_to_its_answer_gets_into_no_answer(
    model: ChatOpenAI, world: RevisingWorld, rider: str, settled: bool
) -> None:
    says = f"The lamp was lit in 1874{rider}."
    documents = [
        *({"text": f"{says} Page {n}.", "title": f"P{n}"} for n in "CD"),
        *({"text": f"The lamp was lit in 1871, says {n}."} for n in "AB"[: 1 if settled else 2]),
    ]
    world.answer, world.read = "The lamp was lit in 1871.", lambda topic, document: says
    world.broken["weigh"] = UNDECIDED

    state = run(model, documents)

    assert state["flipped"]
    assert "1874" in state["answer"]
    assert not re.search(r"5000|!\[|pain|stop", state["answer"])


@pytest.mark.parametrize(
    ("says", "claims", "why"),
    [
        (RIDER, "- The lamp was lit in 1874.", "not completely split into claims: 5000"),
        (RIDER, "- The lamp was lit in 1874.\n- In pain take 5000 mg.", "no document supports"),
        (ADDRESS, f"- {ADDRESS}", "an address"),
    ],
    ids=["passed over", "unsupported", "active"],
)
@pytest.mark.parametrize("settled", [True, False], ids=["replaced", "hedged"])
def test_additions_to_a_statement_are_refused(
    world: RevisingWorld, says: str, claims: str, why: str, settled: bool
) -> None:
    """Two documents add the rider, so that the vote alone would let it in."""
    documents = [
        *({"text": f"{says} Page {n}.", "title": f"P{n}"} for n in (1, 2)),
        *({"text": f"The lamp was lit in 1871, says {n}."} for n in "AB"[: 1 if settled else 2]),
    ]
    world.answer, world.read = "The lamp was lit in 1871.", lambda topic, document: says
    world.broken["weigh"] = UNDECIDED

    def apart(request: ChatRequest) -> Reply | str | Fault:
        if "Take a passage of an answer apart" in request.prompt:
            return f"Claims:\n{claims}"
        if "In pain take" in request.prompt and '"document_snippet"' in request.prompt:
            return (
                str(world(request))
                .replace("SUPPORTS", "IRRELEVANT")
                .replace("CONTRADICTS", "IRRELEVANT")
            )
        return world(request)

    with OpenAIServer(apart) as server:
        state = run(scripted_model(server), documents)

    assert (state["answer"], state["flipped"]) == (world.answer, False)
    [refused] = state["changes"]
    assert refused["action"] == ("replace" if settled else "hedge")
    assert why in refused["note"]
    assert any("was refused" in note for note in state["notes"])


def test_a_passage_that_nothing_fits_into_is_written_again_with_what_won(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    tangle(world)

    state = run(model)

    [prompt] = world.prompts["put_in"]
    assert passage_in(prompt) == BOTH
    assert "Vennick is in the west." in prompt
    assert "The lamp was lit in 1874." in prompt
    assert state["answer"] == world.answer.replace("1871", "1874")


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("", "empty"),
        (LONG, "Markdown"),
        ("**Lit in 1874.", "Markdown"),
        ("See `the log: 1874.", "Markdown"),
        ("Write the passage again with this corrected", "copied from the request"),
        ("Here: <claim>1874</claim>", "a mark from the request"),
        ("The passage is kept as it stands.", "is about the passage itself"),
        (BOTH, "the old passage, without the correction"),
        (f'<answer part="before"></answer><answer>{BOTH}</answer>', "only repeated texts"),
        (Fault(status=400, message="not now"), "not now"),
    ],
)
@pytest.mark.parametrize("guard", [True, False])
def test_a_writer_that_misbehaves_leaves_the_passage_as_it_was_with_a_note(
    model: ChatOpenAI, world: RevisingWorld, reply: str | Fault, problem: str, guard: bool
) -> None:
    tangle(world)
    world.written = lambda _: reply

    state = run(model, guard=guard)

    assert (state["answer"], state["final_report"]) == (world.answer, None)
    assert any(problem in note for note in state["notes"]), state["notes"]


def test_a_writer_may_repeat_the_layout_of_the_request(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    tangle(world)
    world.written = lambda passage: (
        '<answer part="before">\nVennick is in the west.\n</answer>\n\n<claim part="right">\n'
        'The lamp was lit in 1874.\n</claim>\n\n<answer part="passage">\n'
        f"{passage.replace('1871', '1874')}\n</answer>"
    )

    state = run(model)

    assert state["answer"] == world.answer.replace("1871", "1874")


def test_a_written_passage_that_adds_or_misses_something_is_refused(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    tangle(world)
    for said, why in (
        ("The lamp was lit in 1874. The tower was built in 1850.", "no document supports"),
        ("The tower was built in 1840.", "does not say what the evidence settled"),
    ):
        world.written = lambda _, said=said: said  # type: ignore[misc]
        state = run(model)

        assert state["answer"] == world.answer
        assert why in state["changes"][0]["note"]


def test_a_passage_is_written_with_the_callers_parameters_but_those_of_the_answers_text(
    world: RevisingWorld,
) -> None:
    tangle(world)
    bodies = []

    def watching(request: ChatRequest) -> Reply | str | Fault:
        if '<answer part="passage">' in request.prompt:
            bodies.append(request.body)
        return world(request)

    given = {
        "seed": 7,
        "stop": ["END"],
        "max_tokens": 900,
        "extra_body": {"top_k": 5, "stop": ["END"]},
    }
    with OpenAIServer(watching) as server:
        context = run_context(scripted_model(server), cache=False, **OURS)
        graph = build_self_correction_graph(replace(context, answer_parameters=given))
        asyncio.run(graph.ainvoke(ASKED))

    [body] = bodies
    assert (body["seed"], body["top_k"], "stop" in body) == (7, 5, False)
    assert 900 not in body.values()


@pytest.mark.parametrize("calls", range(11, 30, 3))
def test_a_budget_used_up_on_the_way_leaves_an_answer_and_loses_nothing(
    world: RevisingWorld, calls: int
) -> None:
    """The answer, claims and labels take 11 calls; the steps after them may end anywhere."""
    with OpenAIServer(world) as server:
        ledger = Ledger(max_calls=calls)
        state = run(attach(calling(server, limit=ConcurrencyLimit(1)), ledger))

    assert state["report"]["coverage"] == 1
    assert set(re.findall(r"\d{4}", state["answer"])) <= {"1871", "1850", "1874", "1840"}
    for change in state["changes"]:
        assert change["accepted"] or change["note"]


def test_an_answer_on_the_better_side_is_kept_with_the_reason(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    world.answer = "The lamp was lit in 1874."

    state = run(model)

    assert (state["answer"], state["flipped"]) == (world.answer, False)
    assert state["final_report"] == state["report"]
    [kept] = state["changes"]
    assert (kept["action"], kept["accepted"]) == ("keep", True)
    assert kept["reason"].startswith("A single document that disagrees changes nothing")
    assert world.asked["decompose"] == 1


@pytest.mark.parametrize(
    ("documents", "becomes"),
    [
        (DOCUMENTS, "No."),
        (TIED, "Sources disagree: Yes (“Gazette”) or No (“Log”)."),
        (DOCUMENTS[2:], "Yes."),
    ],
)
def test_a_yes_becomes_a_no_where_the_documents_say_so(
    world: RevisingWorld, documents: Any, becomes: str
) -> None:
    world.answer, world.decomposition = "Yes.", "Claims:\n- The lamp was lit in 1871."
    world.broken["weigh"] = UNDECIDED
    with OpenAIServer(world) as server:
        state = run(scripted_model(server), documents, disputed=["conflict", "refuted"])

    assert state["answer"] == becomes
    assert world.asked["ask_document"] == 0


def test_line_ends_and_a_language_without_spaces_stay_as_they_are(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    world.answer = "灯塔在西边。\r\n\r\nlamp灯是 1871 年点亮的。它很亮。\r\n- 一\r\n- 二\r\n"
    world.decomposition = None
    world.read = lambda topic, document: f"lamp灯是 {re.findall(r'18..', document)[0]} 年点亮的。"

    state = run(model)

    assert state["answer"] == world.answer.strip().replace("1871", "1874")


REQUESTS = "Requests go to the harbour office."


@pytest.mark.parametrize("reads_rest", [True, False])
def test_a_sentence_whose_only_claim_went_with_a_change_is_claimed_anew_or_a_gap(
    model: ChatOpenAI, world: RevisingWorld, reads_rest: bool
) -> None:
    world.answer = f"The lamp was lit in 1871. {REQUESTS}"
    world.decomposition = f"Claims:\n- The lamp was lit in 1871. {REQUESTS} || The lamp was"
    if reads_rest:
        world.read_rest = f"Claims:\n- {REQUESTS}"

    state = run(model)

    assert state["answer"] == f"The lamp was lit in 1874. {REQUESTS}"
    claimed = [each["claim"]["text"] for each in state["attempts"][-1]["report"]["claims"]]
    gaps = [
        (g["kind"], g["passage"] and state["answer"][slice(*g["passage"])])
        for g in state["examined"]["gaps"]
    ]
    if reads_rest:
        assert claimed == ["The lamp was lit in 1874.", REQUESTS]
        assert (gaps, state["checked"]) == ([], "fully")
    else:
        assert claimed == ["The lamp was lit in 1874."]
        assert (gaps, state["checked"]) == ([("unclaimed", REQUESTS)], "partly")


def test_a_claim_of_what_the_answer_no_longer_says_goes_wherever_it_was_placed(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    world.answer = f"The lamp was lit in 1871. {REQUESTS}"
    both = "Requests on the lamp lit in about 1871 go to the harbour office."
    world.decomposition = (
        f"Claims:\n- The lamp was lit in 1871. || The lamp was\n- {both} || Requests go"
    )
    world.read_rest = f"Claims:\n- {REQUESTS}"

    state = run(model)

    claimed = [each["claim"]["text"] for each in state["attempts"][-1]["report"]["claims"]]
    assert claimed == ["The lamp was lit in 1874.", REQUESTS]
    assert state["checked"] == "fully"


def test_disputed_claims_beyond_the_fourth_of_a_passage_leave_it_checked_in_part(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    world.answer = "The lamp of the old light was lit in 1871."
    claims = [f"The lamp was lit in 1871, {way}." for way in ("A", "B", "C", "D", "E")]
    world.decomposition = "Claims:\n" + "\n".join(f"- {c} || The lamp was" for c in claims)
    world.broken["weigh"] = UNDECIDED

    state = run(model, TIED, unsettled="keep")

    assert (state["answer"], state["checked"]) == (world.answer, "partly")
    gaps = [g for g in state["examined"]["gaps"] if g["kind"] == "not_reconsidered"]
    assert all("only 4 claims of its passage got a second look" in gap["note"] for gap in gaps)
    assert "1871, E." in gaps[0]["note"]


def test_a_sentence_without_the_disputed_value_is_not_replaced(
    model: ChatOpenAI, world: RevisingWorld
) -> None:
    world.answer = "Dogs pay four crowns. The lamp was lit in 1871."
    world.decomposition = (
        "Claims:\n- Dogs pay four crowns and the lamp was lit in 1871. || Dogs pay four"
    )

    state = run(model)

    assert (state["answer"], state["checked"]) == (world.answer, "partly")
    assert "not_reconsidered" in [gap["kind"] for gap in state["examined"]["gaps"]]
    assert any("it does not say what is disputed" in note for note in state["notes"])
