"""How far an answer was checked: the verdict travels with the message, and can be required."""

import json
from typing import Any

import pytest
from langchain.agents.middleware import (
    AgentMiddleware,
    PIIMiddleware,
    SummarizationMiddleware,
)
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool

from conflictscore import correct
from conflictscore.errors import InputError, UncheckedAnswerError
from conflictscore.middleware import (
    ConflictScoreMiddleware,
    SelfCorrectingChatModel,
    carry_verdict,
    self_correct,
)
from conflictscore.middleware.messages import asked_in
from conflictscore.middleware.outer_verdict import documents_behind
from conflictscore.middleware.turn_memory import TurnMemory, begun, brought_up_to_date
from conflictscore.records import Gap, GapKind, Run
from tests.fakes.openai_server import ChatRequest, OpenAIServer, Reply
from tests.middleware.agents import QUESTION, AgentWorld, agent_of, call_tool
from tests.talking import Shelf
from tests.world import DISAGREEING, PAPER, scripted_model

AGREEING = ["The lamp was lit in 1871.", "They lit the lamp in 1871, says the log."]
UNCLAIMED = "It was lit in 1871. It cost 5000 francs."
ONE_CLAIM = "Claims:\n- It was lit in 1871."


@pytest.fixture
def world() -> AgentWorld:
    return AgentWorld()


@pytest.fixture
def model(world: AgentWorld) -> Any:
    with OpenAIServer(world) as server:
        yield scripted_model(server)


def last_of(state: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    message = state["messages"][-1]
    return str(message.text), message.response_metadata["conflictscore"]


class TestRequire:
    def test_an_answer_that_is_checked_less_is_an_error_without_its_words(
        self, model: BaseChatModel, world: AgentWorld
    ) -> None:
        world.answer, world.decomposition = UNCLAIMED, ONE_CLAIM

        with pytest.raises(UncheckedAnswerError) as refused:
            agent_of(model, require="fully", max_rounds=0).invoke(QUESTION)

        assert refused.value.verdict["checked"] == "partly"
        assert refused.value.verdict["kind"] == GapKind.UNCLAIMED
        assert "5000" not in str(refused.value)

    def test_or_gives_way_to_the_builders_text(
        self, model: BaseChatModel, world: AgentWorld
    ) -> None:
        world.answer, world.decomposition = UNCLAIMED, ONE_CLAIM
        agent = agent_of(model, require="fully", refusal="Please ask our staff.", max_rounds=0)

        text, verdict = last_of(agent.invoke(QUESTION))

        assert text == "Please ask our staff."
        assert verdict["checked"] == "partly"

    def test_partly_lets_it_pass(self, model: BaseChatModel, world: AgentWorld) -> None:
        world.answer, world.decomposition = UNCLAIMED, ONE_CLAIM

        text, _ = last_of(agent_of(model, require="partly", max_rounds=0).invoke(QUESTION))

        assert text == UNCLAIMED

    def test_one_that_states_nothing_passes(self, model: BaseChatModel, world: AgentWorld) -> None:
        world.tools, world.answer = (), "Hello! How can I help you?"

        text, verdict = last_of(agent_of(model, require="fully").invoke(QUESTION))

        assert text == world.answer
        assert verdict["kind"] == GapKind.STATES_NOTHING

    def test_it_holds_for_functions_chat_models_and_given_answers(
        self, model: BaseChatModel, world: AgentWorld
    ) -> None:
        world.decomposition = ONE_CLAIM
        known: Any = {"judge": model, "cache": False, "require": "fully", **PAPER}

        @self_correct(**known)
        def answer(question: str, documents: Any) -> str:
            return UNCLAIMED

        with pytest.raises(UncheckedAnswerError):
            answer("When?", documents=AGREEING)
        with pytest.raises(UncheckedAnswerError):
            correct(UNCLAIMED, AGREEING, model=model, cache=False, require="fully", **PAPER)
        world.answer, world.tools = UNCLAIMED, ()
        chat = SelfCorrectingChatModel(
            model, Shelf(found=DISAGREEING), content_cache=False, require="fully", max_rounds=0
        )
        with pytest.raises(UncheckedAnswerError):
            chat.invoke("When?")
        reply = chat.model_copy(update={"refusal": "Please ask our staff."}).invoke("When?")
        assert reply.text == "Please ask our staff."
        assert reply.response_metadata["conflictscore"]["checked"] != "fully"
        assert UNCLAIMED not in repr(reply)

    def test_a_wrong_requirement_is_an_input_error(self) -> None:
        with pytest.raises(InputError, match="'wholly'"):
            ConflictScoreMiddleware(require="wholly")  # type: ignore[arg-type]


def test_the_settings_that_an_error_lists_can_all_be_given() -> None:
    with pytest.raises(TypeError, match="did you mean effort") as raised:
        ConflictScoreMiddleware(efort="fast")  # type: ignore[call-arg]

    named = str(raised.value).partition("The settings are ")[2].split(", ")
    assert {"require", "judge", "effort"} <= {*named}
    assert "self" not in named


def test_a_verdict_takes_at_most_600_bytes_for_any_run() -> None:
    for kind in GapKind:
        run = Run(question="q" * 9000, run_id="é" * 5000, answer="a").with_gaps(
            Gap(kind=kind, note="x" * 9000)
        )
        run = run.model_copy(update={"run_id": "f" * 5000})

        assert len(json.dumps(run.verdict()).encode()) <= 600


@pytest.mark.parametrize("ours_first", [True, False])
def test_what_was_redacted_is_neither_in_the_message_nor_in_the_run(
    model: BaseChatModel, world: AgentWorld, ours_first: bool
) -> None:
    world.answer = world.regenerated = "It was lit by ida@light.test in 1871."
    pii = PIIMiddleware("email", strategy="redact", apply_to_output=True)
    around: Any = {"inside": [pii]} if ours_first else {"outside": [pii]}

    state = agent_of(model, **around).invoke(QUESTION)

    text, verdict = last_of(state)
    assert "[REDACTED_EMAIL]" in text
    assert "ida@light.test" not in json.dumps([verdict, state["conflict"]])


class TestTurn:
    """The question and the evidence of a turn, whatever other middleware does to its messages."""

    @pytest.mark.parametrize("ours_first", [True, False])
    def test_a_summary_in_the_middle_changes_neither(
        self, model: BaseChatModel, world: AgentWorld, ours_first: bool
    ) -> None:
        def search_twice(request: ChatRequest) -> Reply | str:
            calls = world.asked["tools"]  # not counted in the messages, which are summarized
            if calls > len(world.tools):
                return world.answer
            return call_tool(request, world.tools[calls - 1], query="lamp")

        world.tools, world.instead = ("search_a", "search_b"), {"tools": search_twice}

        @tool(response_format="content_and_artifact")
        def search_a(query: str) -> tuple[str, list[Document]]:
            """Search."""
            return "found", [Document(DISAGREEING[0]["text"], metadata={"title": "Gazette"})]

        @tool(response_format="content_and_artifact")
        def search_b(query: str) -> tuple[str, list[Document]]:
            """Search."""
            return "found", [Document(DISAGREEING[1]["text"], metadata={"title": "Log"})]

        summing = SummarizationMiddleware(
            model=FakeListChatModel(responses=["A summary."] * 9),
            trigger=("messages", 4),
            keep=("messages", 2),
        )
        around: Any = {"inside": [summing]} if ours_first else {"outside": [summing]}

        state = agent_of(model, tools=(search_a, search_b), **around).invoke(QUESTION)

        assert "summary" in str(state["messages"][0].text).casefold()
        assert state["conflict"]["question"] == "When was the lamp lit?"
        assert [d["title"] for d in state["conflict"]["documents"]] == ["Gazette", "Log"]
        assert state["conflict"]["flipped"]

    def test_a_result_with_a_stub_in_its_place_is_read_whole(
        self, model: BaseChatModel, world: AgentWorld
    ) -> None:
        class Offloading(AgentMiddleware):
            def wrap_tool_call(self, request: Any, handler: Any) -> Any:
                result = handler(request)
                return ToolMessage(
                    "Too large: saved as /large/1.", tool_call_id=result.tool_call_id, name="search"
                )

        state = agent_of(model, outside=[Offloading()]).invoke(QUESTION)

        assert len(state["conflict"]["documents"]) == len(DISAGREEING)

    def test_results_that_are_gone_in_another_process_are_named(self) -> None:
        call = {"name": "search", "args": {}, "id": "1", "type": "tool_call"}
        asked = HumanMessage("When?", id="q")
        turn = begun([asked])
        state: dict[str, Any] = {
            "messages": [asked, AIMessage("", tool_calls=[call])],
            "conflict_turn": turn,
        }
        state["conflict_turn"] = brought_up_to_date(state)
        state["messages"] = [HumanMessage("Here is a summary of the conversation: none.")]

        memory = TurnMemory()

        assert [gap.kind for gap in memory.lost(state)] == [GapKind.EVIDENCE_LEFT_OUT]
        assert [str(each.text) for each in memory.messages(state)] == ["When?"]

    def test_it_is_not_kept_in_the_state_once_the_turn_is_over(
        self, model: BaseChatModel, world: AgentWorld
    ) -> None:
        agent = agent_of(model)
        state = agent.invoke(QUESTION)

        assert not state.get("conflict_turn")


@pytest.mark.parametrize(
    ("tool", "result", "is_named"),
    [
        ("ask_expert", "The lamp was first lit in 1874.", True),
        ("ask_expert", "I do not know.", False),
        ("ask_expert", "这座灯塔的灯于一八七四年首次点亮,此后每晚都亮着,直到战争开始。", True),
        ("ask_expert", "已发送给张三。", False),
        ("save_note", "已保存:这座灯塔的灯于一八七四年首次点亮,此后每晚都亮着。", True),
        ("calculator", "1874", False),
        ("save_note", "Saved: when was the lamp first lit?", False),
    ],
)
def test_a_short_result_that_concerns_the_question_is_named_if_it_is_not_read(
    tool: str, result: str, is_named: bool
) -> None:
    call = {"name": tool, "args": {}, "id": "1", "type": "tool_call"}
    messages = [
        HumanMessage("When was the lamp first lit?"),
        AIMessage("", tool_calls=[call]),
        ToolMessage(result, name=tool, tool_call_id="1"),
    ]

    gaps = asked_in(messages).left_out

    assert [gap.kind for gap in gaps] == [GapKind.EVIDENCE_LEFT_OUT] * is_named


@pytest.mark.parametrize(
    ("block", "is_named"),
    [
        ({"type": "audio", "base64": "UklGRg==", "mime_type": "audio/wav"}, True),
        ({"type": "hologram", "data": "1874"}, True),
        ({"type": "text", "text": "The tower is white."}, False),
        ({"type": "article", "content": "The tower is white.", "url": "https://a.test/"}, False),
    ],
)
def test_a_block_without_text_is_named_even_if_its_list_is_written_as_json(
    block: dict[str, str], is_named: bool
) -> None:
    call = {"name": "search", "args": {}, "id": "1", "type": "tool_call"}
    blocks = [{"type": "text", "text": "The lamp was lit in 1871."}, block]
    messages = [
        HumanMessage("When was the lamp first lit?"),
        AIMessage("", tool_calls=[call]),
        ToolMessage(json.dumps(blocks), name="search", tool_call_id="1"),
    ]

    gaps = asked_in(messages).left_out

    assert [gap.kind for gap in gaps] == [GapKind.EVIDENCE_LEFT_OUT] * is_named
    assert all(block["type"] in gap.note for gap in gaps)


def test_a_block_without_a_type_is_named_as_such() -> None:
    block: Any = {"value": "1874"}
    messages = [
        HumanMessage([block, {"type": "text", "text": "When was the lamp lit?"}]),
        ToolMessage([block], name="search", tool_call_id="1"),
    ]
    question = asked_in(messages)

    [gap] = question.left_out
    assert gap.note.startswith("search returned a block without a type, which is not read")
    assert question.attached == ("a block without a type",)


@pytest.mark.parametrize(
    ("tool", "is_named"), [("write_todos", False), ("update_report", True), ("ask_expert", True)]
)
def test_the_long_receipt_of_a_tool_that_writes_is_no_evidence(tool: str, is_named: bool) -> None:
    content = "The lamp of the tower was first lit in 1871, says the gazette of the harbour town."
    told = content if tool != "update_report" else content.replace("1871", "1874") * 9
    call = {"name": tool, "args": {"todos": [{"content": content}]}, "id": "1", "type": "tool_call"}
    if tool == "update_report":
        call["args"] = {}
    messages = [
        HumanMessage("When was the lamp first lit?"),
        AIMessage("", tool_calls=[call]),
        ToolMessage(f"Updated to [{told}]", name=tool, tool_call_id="1"),
    ]

    gaps = asked_in(messages, sources=None).left_out

    assert [gap.kind for gap in gaps] == [GapKind.EVIDENCE_LEFT_OUT] * is_named


@pytest.mark.parametrize(
    ("name", "result", "is_read"),
    [
        ("glob_search", "/gazette.txt\n/logs/1871.txt", False),
        ("ls", "['/gazette.txt', '/logs/', '/walks/the_lamp_was_lit.md']", False),
        ("web_search", '["https://log.test/1871", "https://walks.test/c?lamp=1"]', False),
        ("ls", "\n".join(f"/pages/{number}.txt" for number in range(40)), False),
        ("search", "1871/05/09", True),
        ("grep_search", "/gazette.txt:1:The lamp was lit in 1871.", True),
    ],
)
def test_a_list_of_files_or_addresses_is_no_document(name: str, result: str, is_read: bool) -> None:
    call = {"name": name, "args": {}, "id": "1", "type": "tool_call"}
    messages = [
        HumanMessage("When was the lamp lit?"),
        AIMessage("", tool_calls=[call]),
        ToolMessage(result, name=name, tool_call_id="1"),
    ]
    question = asked_in(messages)

    assert bool(question.documents) is is_read
    assert question.left_out == ()


def test_the_line_before_the_text_of_a_file_is_not_part_of_it() -> None:
    call = {"name": "read_file", "args": {}, "id": "1", "type": "tool_call"}
    text = "@@ lines 1-1 of 1 @@\nThe lamp was lit in 1871."
    messages = [
        HumanMessage("When was the lamp lit?"),
        AIMessage("", tool_calls=[call]),
        ToolMessage(text, name="read_file", tool_call_id="1"),
    ]

    [document] = asked_in(messages).documents

    assert document.text == "The lamp was lit in 1871."


class TestOuterAnswer:
    """The answer of a supervisor, or of an agent whose tool is another agent."""

    def test_a_repeated_answer_gets_the_verdict_on_it(
        self, model: BaseChatModel, world: AgentWorld
    ) -> None:
        messages = agent_of(model).invoke(QUESTION)["messages"]
        text, verdict = str(messages[-1].text), messages[-1].response_metadata["conflictscore"]

        [carried] = carry_verdict({"messages": [*messages, AIMessage(f" {text}\n", id="last")]})[
            "messages"
        ]

        assert (carried.id, carried.text) == ("last", f" {text}\n")
        assert carried.response_metadata["conflictscore"] == verdict

    def test_an_answer_in_other_words_is_unchecked_and_names_the_checked_ones(
        self, model: BaseChatModel, world: AgentWorld
    ) -> None:
        messages = agent_of(model).invoke(QUESTION)["messages"]
        inner = messages[-1].model_copy(update={"name": "résumé" * 90})
        many = [inner.model_copy(update={"id": str(number)}) for number in range(9)]

        [carried] = carry_verdict({"messages": [*messages, *many, AIMessage("In May 1874.")]})[
            "messages"
        ]

        verdict = carried.response_metadata["conflictscore"]
        assert (verdict["checked"], verdict["kind"]) == ("no", GapKind.REWRITTEN)
        assert {each["checked"] for each in verdict["inner"]} == {"fully"}
        assert len(json.dumps(verdict).encode()) <= 600

    def test_an_answer_from_unchecked_ones_is_not_said_to_be_from_checked_ones(
        self, model: BaseChatModel, world: AgentWorld
    ) -> None:
        world.tools = ()
        messages = agent_of(model).invoke(QUESTION)["messages"]

        [carried] = carry_verdict({"messages": [*messages, AIMessage("In May 1874.")]})["messages"]

        verdict = carried.response_metadata["conflictscore"]
        assert (verdict["checked"], verdict["kind"]) == ("no", GapKind.NO_DOCUMENTS)
        assert [each["checked"] for each in verdict["inner"]] == ["no"]

    def test_an_answer_of_a_turn_in_which_nothing_was_checked_says_so(
        self, model: BaseChatModel, world: AgentWorld
    ) -> None:
        messages = agent_of(model).invoke(QUESTION)["messages"]
        later = [*messages, HumanMessage("And the tower?"), AIMessage("It is white.")]

        [carried] = carry_verdict({"messages": later})["messages"]

        verdict = carried.response_metadata["conflictscore"]
        assert (verdict["checked"], verdict["kind"]) == ("no", GapKind.NO_DOCUMENTS)

    def test_hand_overs_and_messages_with_a_verdict_are_left_alone(
        self, model: BaseChatModel, world: AgentWorld
    ) -> None:
        messages = agent_of(model).invoke(QUESTION)["messages"]
        call: Any = {"name": "transfer", "args": {}, "id": "1", "type": "tool_call"}

        assert carry_verdict({"messages": messages}) == {}
        assert carry_verdict({"messages": [*messages, AIMessage("", tool_calls=[call])]}) == {}
        assert carry_verdict({"messages": messages[:1]}) == carry_verdict({"messages": []}) == {}

    @pytest.mark.parametrize("asynchronous", [False, True])
    async def test_an_agent_that_is_a_tool_hands_on_the_documents_of_its_run(
        self, model: BaseChatModel, world: AgentWorld, asynchronous: bool
    ) -> None:
        with OpenAIServer(AgentWorld()) as server:
            inner = agent_of(scripted_model(server))

            @tool("ask_researcher")
            def ask(query: str) -> str:
                """Ask a researcher."""
                return str(inner.invoke(QUESTION)["messages"][-1].text)

            @tool("ask_researcher")
            async def ask_async(query: str) -> str:
                """Ask a researcher."""
                return str((await inner.ainvoke(QUESTION))["messages"][-1].text)

            world.tools = ("ask_researcher",)
            outer = agent_of(model, tools=(ask_async if asynchronous else ask,))
            state = await outer.ainvoke(QUESTION) if asynchronous else outer.invoke(QUESTION)

        text, verdict = last_of(state)
        assert documents_behind(ToolMessage("?", tool_call_id="1"), [state["conflict"]]) == []
        assert (text, verdict["checked"], verdict["flipped"]) == (
            "It was lit in 1874.",
            "fully",
            True,
        )
        assert [each["text"] for each in state["conflict"]["documents"]] == [
            each["text"] for each in DISAGREEING
        ]
