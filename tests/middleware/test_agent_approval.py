"""A person approves or rejects a flip, and no call is paid for twice."""

import json
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from conflictscore.errors import InputError
from conflictscore.loop.examining import ONE_DOCUMENT
from conflictscore.middleware import approval
from conflictscore.records import Examined, Gap, GapKind, Run
from tests.middleware.agents import CORRECTED, QUESTION, AgentWorld, Invoke, agent_of, texts
from tests.nodes.steps import PROMPTS, attempt, claim_with, revision, scored
from tests.world import applied, sides

THREAD: RunnableConfig = {"configurable": {"thread_id": "one"}}
FIRST = [*CORRECTED[:-1], "It was lit in 1871."]
EDITED = {"name": "x", "args": {"answer": "1872."}}


def reviewed(model: ChatOpenAI, **more: Any) -> Any:
    """An agent whose flips a person approves."""
    return agent_of(model, approve_flips=True, about={"checkpointer": InMemorySaver()}, **more)


def test_a_flip_waits_for_a_person_with_all_that_they_need_to_decide(
    agent_model: ChatOpenAI, agent_world: AgentWorld, invoke: Invoke
) -> None:
    state = invoke(reviewed(agent_model), QUESTION, THREAD)

    [waiting] = state["__interrupt__"]
    asked = waiting.value
    assert asked["action"] == "approve_flip"
    assert asked["question"] == "When was the lamp lit?"
    assert (asked["before"], asked["after"]) == ("It was lit in 1871.", "It was lit in 1874.")
    assert asked["justification"] == agent_world.reason
    assert [sides(change) for change in asked["changes"]] == [[("It was lit in 1871.", [1], [2])]]
    assert (
        '- Document 2 (Log; log.test): "The log says the lamp was lit in 1874."'
        in asked["evidence"]
    )
    assert asked["documents"][1]["url"] == "https://log.test/b"
    assert (asked["cs_c"], asked["cs_r"]) == (1.0, 0.5)
    assert json.loads(json.dumps(asked)) == asked
    assert "weighted" not in asked
    assert texts(state["messages"]) == FIRST
    assert state["conflict"] is None
    assert "conflict_proposal" not in state


@tool("search", response_format="content_and_artifact")
def two_topics(query: str) -> tuple[str, list[Document]]:
    """Search for documents."""
    texts = "The lamp: 1871.", "The lamp: 1874.", "The tower: 1840.", "The tower: 1850."
    return "\n".join(texts), [Document(text) for text in texts]


def test_who_decides_on_a_flip_is_shown_the_evidence_that_changed_the_answer(
    agent_model: ChatOpenAI, agent_world: AgentWorld, invoke: Invoke
) -> None:
    agent_world.answer = "The lamp was lit in 1871."
    agent_world.regenerated = ["The tower was built in 1840."] * 2

    [waiting] = invoke(reviewed(agent_model, tools=[two_topics], max_rounds=2), QUESTION, THREAD)[
        "__interrupt__"
    ]

    assert agent_world.asked["regenerate"] == 2
    [change] = waiting.value["changes"]
    assert [claim for claim, *_ in sides(change)] == ["The lamp was lit in 1871."]
    assert '- Document 2 (unknown): "The lamp: 1874."' in waiting.value["evidence"]
    assert "1850" not in waiting.value["evidence"]


@pytest.mark.parametrize(
    ("decision", "said", "flipped"),
    [
        ("approve", "It was lit in 1874.", True),
        ("reject", "It was lit in 1871.", False),
        ({"edit": "Sources differ: 1871 or 1874."}, "Sources differ: 1871 or 1874.", True),
        ({"edit": "it was lit in 1871."}, "it was lit in 1871.", False),
        ({"decisions": [{"type": "approve"}]}, "It was lit in 1874.", True),
        ({"decisions": [{"type": "reject", "message": "No."}]}, "It was lit in 1871.", False),
        ({"decisions": [{"type": "edit", "edited_action": EDITED}]}, "1872.", True),
        ({"type": "edit", "text": "1872."}, "1872.", True),
    ],
)
def test_the_decision_is_what_the_agent_says_and_nothing_is_asked_of_a_model_again(
    agent_model: ChatOpenAI,
    agent_world: AgentWorld,
    invoke: Invoke,
    decision: Any,
    said: str,
    flipped: bool,
) -> None:
    agent = reviewed(agent_model)
    invoke(agent, QUESTION, THREAD)
    paid = dict(agent_world.asked)

    state = invoke(agent, Command(resume=decision), THREAD)

    assert dict(agent_world.asked) == paid
    assert texts(state["messages"]) == [*CORRECTED[:-1], said]
    run = state["conflict"]
    assert (run["answer"], run["flipped"]) == (said, flipped)
    assert [change["after"] for change in applied(run)][-1:] == ([said] if flipped else [])
    assert run["first_answer"] == "It was lit in 1871."
    assert [a["answer"]["text"] for a in run["attempts"]] == [FIRST[-1], CORRECTED[-1]]
    short = state["messages"][-1].response_metadata["conflictscore"]
    assert (short["run_id"], short["flipped"]) == (state["conflict"]["run_id"], flipped)
    approved = said == "It was lit in 1874."
    assert (run["final_report"] is None) != approved
    assert any("a person" in note for note in run["notes"]) != approved


def test_the_verdict_after_a_rejection_is_on_the_first_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before, after = "It was lit in 1871, by Ida.", "It was lit in 1874."
    claim = claim_with("+-", "It was lit in 1871.")
    unclaimed = Gap(kind=GapKind.UNCLAIMED, note="no claim covers “by Ida”", passage=(20, 26))
    run = Run(
        question="When was it lit?",
        answer=after,
        first_answer=before,
        attempts=(
            attempt(scored(claim), before, gaps=(unclaimed,)),
            attempt(scored(claim_with("-+", after)), after, round=1),
        ),
        changes=(revision(before, after, claims=(claim,)),),
        examined=Examined(gaps=(ONE_DOCUMENT,)),
        checked="partly",
    )
    proposal = approval.propose(AIMessage(before, id="1"), AIMessage(after), run)
    monkeypatch.setattr(approval, "interrupt", lambda request: "reject")

    update = approval.decide_on(proposal, AIMessage(before, id="1"), PROMPTS, 0.5)

    kinds = [gap["kind"] for gap in update["conflict"]["examined"]["gaps"]]
    assert kinds == [GapKind.UNCLAIMED, GapKind.ONE_DOCUMENT]
    assert (update["conflict"]["answer"], update["conflict"]["checked"]) == (before, "partly")


@pytest.mark.parametrize(
    "wrong",
    [
        *("yes", True, {"edit": " "}, {"edit": 1}, {"edit": "x", "y": 1}, {"decisions": []}),
        {"decisions": [{"type": "respond", "message": "x"}]},
    ],
)
def test_an_invalid_decision_is_refused_with_a_list_of_the_valid_ones(
    agent_model: ChatOpenAI, agent_world: AgentWorld, invoke: Invoke, wrong: Any
) -> None:
    agent = reviewed(agent_model)
    invoke(agent, QUESTION, THREAD)

    for _ in range(2):
        with pytest.raises(InputError, match="is not a decision; resume with 'approve', 'reject'"):
            invoke(agent, Command(resume=wrong), THREAD)
    state = invoke(agent, Command(resume="approve"), THREAD)

    assert texts(state["messages"]) == CORRECTED
    assert agent_world.asked["generate"] == 1


@pytest.mark.parametrize(
    ("decision", "said"), [("approve", ["It was lit in 1874."]), ("reject", [])]
)
def test_who_streams_sees_what_the_decision_changed_and_it_alone(
    agent_model: ChatOpenAI, decision: str, said: list[str]
) -> None:
    agent = reviewed(agent_model)

    before = [m for m, _ in agent.stream(QUESTION, THREAD, stream_mode="messages") if m.text]
    after = agent.stream(Command(resume=decision), THREAD, stream_mode="messages")

    assert [m.text for m in before] == FIRST[-2:]
    assert [m.text for m, _ in after] == said


def test_a_question_in_the_place_of_a_decision_forgets_the_flip(
    agent_model: ChatOpenAI, agent_world: AgentWorld, invoke: Invoke
) -> None:
    agent = reviewed(agent_model)
    invoke(agent, QUESTION, THREAD)
    agent_world.answer, agent_world.tools = "You are welcome.", ()

    state = invoke(agent, {"messages": [HumanMessage("Thank you!")]}, THREAD)

    assert "__interrupt__" not in state
    assert texts(state["messages"]) == [*FIRST, "Thank you!", "You are welcome."]
