"""Questions that continue a conversation, and first answers that already exist."""

import re
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolCall, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from conflictscore.errors import ConflictScoreError, InputError
from conflictscore.loop.state import RagInput
from tests.fakes.openai_server import Fault
from tests.talking import LAMP, STANDING_ALONE, Shelf, Talk
from tests.world import DISAGREEING, paper_loop

QUESTION: RagInput = {"question": "When was it lit?", "history": LAMP}
ALONE: RagInput = {"question": STANDING_ALONE, "documents": DISAGREEING}
EMPTY_DRAFT = "draft_answer is empty; omit it to have the question answered$"
OPTIONS = ["It was 1871.", "It was 1874."]
CALLED = ToolCall(name="search", args={"query": "lamp"}, id="1")
BEFORE = [(turn["role"], turn["content"]) for turn in LAMP]


@pytest.fixture
def world() -> Talk:
    return Talk()


# The question


@pytest.mark.parametrize("face", ["sync", "async"])
async def test_a_follow_up_question_is_rewritten_to_stand_alone(
    model: ChatOpenAI, world: Talk, face: str
) -> None:
    shelf = Shelf()
    graph = paper_loop(model, retriever=shelf)

    state = graph.invoke(QUESTION) if face == "sync" else await graph.ainvoke(QUESTION)

    assert shelf.queries == [STANDING_ALONE]
    assert (state["asked"], state["question"]) == ("When was it lit?", STANDING_ALONE)
    assert STANDING_ALONE in world.prompts["generate"][0]
    assert STANDING_ALONE in world.prompts["regenerate"][0]
    assert STANDING_ALONE in world.prompts["justify"][0]
    [prompt] = world.prompts["contextualize"]
    assert "\nuser: Tell me of Vennick lighthouse.\nassistant: It stands on the point" in prompt
    assert "last message:\nWhen was it lit?\n" in prompt
    assert "harbour office" not in prompt
    assert state["flipped"]


@pytest.mark.parametrize(
    ("broken", "reason"), [(Fault(status=500), "HTTP 500"), (" ", "it was empty")]
)
def test_a_question_that_cannot_be_rewritten_is_taken_as_it_was_asked(
    model: ChatOpenAI, world: Talk, broken: Fault | str, reason: str
) -> None:
    world.broken["contextualize"] = broken
    shelf = Shelf()

    state = paper_loop(model, retriever=shelf).invoke(QUESTION)

    assert shelf.queries == ["When was it lit?"]
    assert state["question"] == state["asked"] == "When was it lit?"
    [note] = state["notes"]
    assert "as it was asked, without its conversation" in note
    assert reason in note


# The conversation


def test_answers_are_asked_for_after_the_conversation_and_nothing_else_is(
    model: ChatOpenAI, world: Talk
) -> None:
    paper_loop(model, retriever=Shelf()).invoke(QUESTION)

    for step in ("generate", "regenerate", "justify"):
        [said] = world.conversations(step)
        assert said == [*BEFORE, ("user", world.prompts[step][0])]
    for step in ("contextualize", "decompose", "label"):
        for said in world.conversations(step):
            assert [role for role, _ in said] == ["user"]
    for step in ("decompose", "label"):
        assert not any("Vennick" in prompt for prompt in world.prompts[step])


def test_a_note_counts_the_turns_that_are_left_out_of_a_long_conversation(
    model: ChatOpenAI, world: Talk
) -> None:
    turns = [{**turn, "content": "a walk along the shore " * 12} for turn in LAMP[1:] * 40]
    asked: RagInput = {**QUESTION, "history": turns, "documents": DISAGREEING}

    state = paper_loop(model, context_window=4096).invoke(asked)

    [said] = world.conversations("generate")
    [note] = state["notes"]
    assert note.startswith(f"the {81 - len(said)} oldest turns were left out, since the convers")


# A conversation in LangGraph's own forms


@pytest.mark.parametrize(
    "history",
    [
        [SystemMessage(BEFORE[0][1]), HumanMessage(BEFORE[1][1]), AIMessage(BEFORE[2][1])],
        BEFORE,
        [
            *LAMP[:2],
            AIMessage("", tool_calls=[CALLED]),
            ToolMessage("x", tool_call_id="1"),
            LAMP[2],
        ],
    ],
)
@pytest.mark.parametrize("named", ["history", "messages"])
def test_a_conversation_is_given_as_messages_pairs_or_mappings(
    model: ChatOpenAI, world: Talk, history: list[Any], named: str
) -> None:
    shelf = Shelf()
    start: Any = {"question": "When was it lit?", "history": history}
    if named == "messages":
        start = {"messages": [*history, ("user", "When was it lit?")]}

    state = paper_loop(model, retriever=shelf).invoke(start)

    assert shelf.queries == [STANDING_ALONE]
    assert world.conversations("generate")[0][:-1] == BEFORE
    assert state["asked"] == "When was it lit?"
    assert state["messages"][-1].text == state["answer"] == "It was lit in 1874."
    told = state["messages"][-1].response_metadata["conflictscore"]
    assert (told["checked"], told["flipped"], told["run_id"]) == ("fully", True, state["run_id"])


def test_a_question_given_with_a_whole_prompt_is_the_question(
    model: ChatOpenAI, world: Talk
) -> None:
    shelf = Shelf()
    prompt = "Answer as a sailor would. When was it lit?"

    start: Any = {"question": STANDING_ALONE, "messages": [("user", prompt)]}

    state = paper_loop(model, retriever=shelf).invoke(start)

    assert shelf.queries == [STANDING_ALONE]
    assert [message.text for message in state["messages"]] == [prompt, state["answer"]]


@pytest.mark.parametrize("form", ["question", "messages"])
def test_a_thread_is_a_conversation(model: ChatOpenAI, world: Talk, form: str) -> None:
    thread: RunnableConfig = {"configurable": {"thread_id": "one"}}
    shelf = Shelf()
    graph = paper_loop(model, retriever=shelf, checkpointer=InMemorySaver())

    def ask(question: str, **more: Any) -> dict[str, Any]:
        said: Any = question if form == "question" else [("user", question)]
        asked: Any = {form: said, **more}
        state: dict[str, Any] = graph.invoke(asked, thread)
        return state

    first = ask(
        "Was it 1871 or 1874?", options=OPTIONS, draft_answer="It was 1874.", documents=DISAGREEING
    )
    second = ask("When was it lit?")

    assert first["answer"] == "It was 1874."
    assert shelf.queries == [STANDING_ALONE]  # the first question's documents are not the second's
    assert second["options"] == []
    assert second["first_answer"] == "It was lit in 1871."
    assert second["run_id"] != first["run_id"]
    assert second["usage"]["calls"] == len(world.said) - first["usage"]["calls"]
    assert len(second["attempts"]) == 2
    [prompt] = world.prompts["contextualize"]
    assert "\nuser: Was it 1871 or 1874?\nassistant: It was 1874." in prompt
    said = [message.text for message in second["messages"]]
    assert said == ["Was it 1871 or 1874?", "It was 1874.", "When was it lit?", second["answer"]]


def test_a_thread_without_a_retriever_keeps_its_documents(model: ChatOpenAI) -> None:
    thread: RunnableConfig = {"configurable": {"thread_id": "one"}}
    graph = paper_loop(model, checkpointer=InMemorySaver())
    one: Any = {"question": "When?", "documents": DISAGREEING[0]}
    graph.invoke(one, thread)

    kept = graph.invoke({"question": "When was it lit?"}, thread)
    replaced = graph.invoke({"question": "When?", "documents": DISAGREEING}, thread)

    assert [document["text"] for document in kept["documents"]] == [DISAGREEING[0]["text"]]
    assert len(replaced["documents"]) == 3


async def test_a_question_after_a_failed_one_starts_afresh(model: ChatOpenAI, world: Talk) -> None:
    thread: RunnableConfig = {"configurable": {"thread_id": "one"}}
    shelf = Shelf()
    graph = paper_loop(model, retriever=shelf, checkpointer=InMemorySaver())
    world.broken["decompose"] = Fault(status=401)
    with pytest.raises(ConflictScoreError):
        await graph.ainvoke({"question": "Who?", "documents": DISAGREEING[2:]}, thread)
    world.broken.clear()

    state = await graph.ainvoke({"question": "When was it lit?", "history": LAMP}, thread)

    assert len(state["documents"]) == 3
    assert state["answer"] == "It was lit in 1874."


@pytest.mark.parametrize("face", ["sync", "async"])
@pytest.mark.parametrize("draft", [{}, {"draft_answer": "It was lit in 1871."}])
async def test_the_final_answer_alone_is_streamed_as_a_message(
    model: ChatOpenAI, face: str, draft: Any
) -> None:
    graph = paper_loop(model)
    start: Any = {**ALONE, **draft}

    if face == "sync":
        streamed = list(graph.stream(start, stream_mode="messages"))
    else:
        streamed = [one async for one in graph.astream(start, stream_mode="messages")]

    said: Any = [message for message, _ in streamed]
    assert [(message.type, message.text) for message in said] == [("ai", "It was lit in 1874.")]


# The first answer


def test_a_first_answer_that_exists_already_is_scored_and_not_made_again(
    model: ChatOpenAI, world: Talk
) -> None:
    state = paper_loop(model).invoke({**ALONE, "draft_answer": " It was lit in 1871.\n"})

    assert world.asked["generate"] == 0
    assert state["first_answer"] == "It was lit in 1871."
    assert state["report"]["claims"][0]["contradicts"] == [2]
    assert state["answer"] == "It was lit in 1874."
    assert "<answer>\nIt was lit in 1871.\n</answer>" in world.prompts["regenerate"][0]


# What is refused


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ({"history": [*LAMP, {"role": "stranger", "content": "x"}]}, "history, turn 4: Unexp"),
        ({"history": [{"role": "user"}]}, "history, turn 1: Message dict must contain"),
        ({"history": [("user", " ")]}, "history, turn 1: the message has no text$"),
        ({"history": {"role": "user", "content": "x"}}, "history is dict, not a list"),
        ({"messages": [("user", "When?"), 3]}, "messages, turn 2: Unsupported message type"),
        ({"messages": [("assistant", "Hello.")], "question": ""}, "the question is empty"),
        ({"history": LAMP, "question": " "}, "the question is empty"),
        ({"history": LAMP, "options": ["Same", "same"]}, "two options are equal"),
        (
            {"history": LAMP, "options": [*map(str, range(27))]},
            "multiple choice allows at most 26 options",
        ),
        ({"history": LAMP, "documents": [{"text": " "}]}, "document 1, field text: it is empty"),
        ({"draft_answer": " "}, EMPTY_DRAFT),
        ({"draft_answer": 1871}, "draft_answer is int, not a string$"),
        ({"question": 1871}, "the question is int, not a string$"),
        ({"options": "AB"}, "options is str, not a list of texts$"),
        ({"options": ["1871", 1874]}, "option 2 is int, not a string$"),
        ({"history": LAMP, "draft_answer": ""}, EMPTY_DRAFT),
        (
            {"draft_answer": "C", "options": OPTIONS},
            "draft_answer is not one of the options; give the full text of an option$",
        ),
        ({"documents": 3}, "documents is int, not a list$"),
        ({"documents": [{"title": "x"}]}, "document 1, field text"),
    ],
)
def test_what_cannot_be_used_is_one_clear_line_before_anything_is_paid_for(
    model: ChatOpenAI, world: Talk, start: Any, message: str
) -> None:
    shelf = Shelf()
    asked: Any = {"question": "When was it lit?", **start}

    with pytest.raises(InputError) as refused:
        paper_loop(model, retriever=shelf).invoke(asked)

    assert re.match(message, str(refused.value))
    assert "\n" not in str(refused.value)
    assert world.said == []
    assert shelf.queries == []
