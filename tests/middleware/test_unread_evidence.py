"""Evidence that the model saw and the check did not read is named, in every host."""

import json
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool

from conflictscore.middleware import SelfCorrectingChatModel
from conflictscore.middleware.entrypoints import with_later_gaps
from conflictscore.middleware.messages import asked_in
from conflictscore.records import Examined, Gap, GapKind, Run
from tests.fakes.openai_server import OpenAIServer
from tests.middleware.agents import QUESTION, AgentWorld, agent_of
from tests.talking import Shelf
from tests.world import PAPER, scripted_model

AGREEING = [
    {"text": "The lamp was lit in 1871.", "title": "Gazette"},
    {"text": "They lit the lamp in 1871, says the log.", "title": "Log"},
]
QUESTION_TEXT = "When was the lamp lit?"
KEEPER = "The first keeper was Odile Marr."
CLAIMS = f"Claims:\n- It was lit in 1871.\n- {KEEPER}"


@tool
def search(query: str) -> str:
    """Search for documents."""
    return json.dumps(AGREEING)


@pytest.fixture
def world() -> AgentWorld:
    return AgentWorld()


@pytest.fixture
def model(world: AgentWorld) -> Any:
    with OpenAIServer(world) as server:
        yield scripted_model(server)


def verdict_of(message: AIMessage) -> tuple[str, str | None]:
    verdict = message.response_metadata["conflictscore"]
    return verdict["checked"], verdict["kind"]


def pdf() -> dict[str, str]:
    return {"type": "file", "base64": "JVBERi0=", "mime_type": "application/pdf"}


def test_a_system_message_after_the_question_is_a_text_that_the_check_does_not_read() -> None:
    messages = [SystemMessage("Be brief."), HumanMessage(QUESTION_TEXT), SystemMessage(KEEPER)]

    assert asked_in(messages).unread() == {"the system prompt": f"Be brief.\n{KEEPER}"}


def test_a_gap_that_the_loop_does_not_know_is_logged_without_quotation(
    caplog: pytest.LogCaptureFixture,
) -> None:
    run = Run(run_id="run-7", examined=Examined(), checked="fully", answer=KEEPER)
    gap = Gap(kind=GapKind.UNFINISHED_ANSWER, note=f"{KEEPER} may be incomplete")

    with caplog.at_level("WARNING"):
        once = with_later_gaps(run, gap)
        again = with_later_gaps(once, gap)

    assert (once.checked, again) == ("partly", once)
    [line] = caplog.messages
    assert line == "run run-7: the answer was only in part checked: the answer may be incomplete"


def test_an_agent_names_a_file_in_a_users_message(model: BaseChatModel) -> None:
    question = {"type": "text", "text": "When was the lamp lit?"}
    message = HumanMessage([question, pdf()])

    state = agent_of(model, tools=[search]).invoke({"messages": [message]})

    assert verdict_of(state["messages"][-1]) == ("partly", GapKind.EVIDENCE_LEFT_OUT)
    [gap] = state["conflict"]["examined"]["gaps"]
    assert "the user's messages contain file" in gap["note"]
    assert verdict_of(agent_of(model, tools=[search]).invoke(QUESTION)["messages"][-1]) == (
        "fully",
        None,
    )


@tool
def archive() -> str:
    """Look into the archive."""
    return f"Keepers: {KEEPER} She was paid in oil."


@pytest.mark.parametrize(("sources", "is_named"), [(["search"], True), (["archive"], False)])
def test_a_claim_that_only_a_tool_outside_sources_states_is_named(
    model: BaseChatModel, world: AgentWorld, sources: list[str], is_named: bool
) -> None:
    world.answer, world.decomposition = f"It was lit in 1871. {KEEPER}", CLAIMS
    world.tools = ("search", "archive")

    agent = agent_of(model, tools=[search, archive], sources=sources, max_rounds=0)
    state = agent.invoke(QUESTION)

    notes = [gap["note"] for gap in state["conflict"]["examined"]["gaps"]]
    note = f"“{KEEPER}” is in the result of archive, which is not read as a document"
    assert (note in notes) is is_named
    assert verdict_of(state["messages"][-1])[0] == "partly"


@pytest.mark.parametrize(
    ("prompt", "is_named"),
    [
        (f"You help visitors. {KEEPER} Be brief.", True),
        ("You help visitors of a lighthouse. Name the first keeper only if asked.", False),
    ],
)
def test_a_claim_that_only_the_system_prompt_states_is_named(
    model: BaseChatModel, world: AgentWorld, prompt: str, is_named: bool
) -> None:
    world.answer, world.decomposition = f"It was lit in 1871. {KEEPER}", CLAIMS
    expected = ("partly", GapKind.EVIDENCE_LEFT_OUT) if is_named else ("fully", None)

    agent = agent_of(model, tools=[search], about={"system_prompt": prompt}, max_rounds=0)
    state = agent.invoke(QUESTION)
    assert verdict_of(state["messages"][-1]) == expected

    chat = SelfCorrectingChatModel(model, content_cache=False, **{**PAPER, "max_rounds": 0})
    question = [SystemMessage(prompt), HumanMessage("When was the lamp lit?")]
    reply = chat.invoke(question, documents=[each["text"] for each in AGREEING])
    assert verdict_of(reply) == expected


def test_a_claim_that_documents_mention_may_stand_in_the_system_prompt_too(
    model: BaseChatModel,
) -> None:
    prompt = "The lamp was lit in 1871, as every visitor should know."

    shelf = Shelf(found=AGREEING)
    chat = SelfCorrectingChatModel(model, shelf, content_cache=False, **PAPER)
    reply = chat.invoke([SystemMessage(prompt), HumanMessage("When was the lamp lit?")])

    assert verdict_of(reply) == ("fully", None)
