"""Other middleware that redacts, refuses or writes messages of its own around ours."""

import json
from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    ModelCallLimitMiddleware,
    PIIMiddleware,
    SummarizationMiddleware,
    hook_config,
)
from langchain_core.documents import Document
from langchain_core.exceptions import ModelRefusalError
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from conflictscore.errors import UncheckedAnswerError
from conflictscore.middleware.tool_updates import is_redacted
from conflictscore.records import GapKind
from tests.fakes.openai_server import ChatRequest, OpenAIServer
from tests.middleware.agents import (
    CORRECTED,
    QUESTION,
    AgentWorld,
    Invoke,
    agent_of,
    call_tool,
    texts,
)
from tests.middleware.test_agent_stack import BOTH_ORDERS, THREAD, AtSecondAnswers
from tests.world import DISAGREEING, scripted_model

SECRET = "ida@light.test"
PRIVATE = [{**each, "text": f"{each['text']} Ask {SECRET}."} for each in DISAGREEING]


def beside(first: bool, *others: Any) -> dict[str, Any]:
    return {"inside" if first else "outside": list(others)}


def verdict_of(state: dict[str, Any]) -> dict[str, Any]:
    verdict: dict[str, Any] = state["messages"][-1].response_metadata["conflictscore"]
    return verdict


@tool
def search_texts(query: str) -> str:
    """Search."""
    return json.dumps(PRIVATE)


@tool(response_format="content_and_artifact")
def search_documents(query: str) -> tuple[str, list[Document]]:
    """Search."""
    documents = [Document(each["text"], metadata={"title": each["title"]}) for each in PRIVATE]
    return "\n\n".join(each["text"] for each in PRIVATE), documents


class TestRedactedResults:
    """What another middleware redacts in a tool's result is neither stored nor sent by ours."""

    @BOTH_ORDERS
    @pytest.mark.parametrize("strategy", ["redact", "mask", "hash"])
    @pytest.mark.parametrize("tool_used", [search_texts, search_documents])
    def test_they_are_read_as_redacted(
        self, agent_world: AgentWorld, first: bool, strategy: Any, tool_used: Any
    ) -> None:
        agent_world.tools = (tool_used.name,)
        pii = PIIMiddleware("email", strategy=strategy, apply_to_tool_results=True)
        with OpenAIServer(agent_world) as server:
            agent = agent_of(scripted_model(server), tools=[tool_used], **beside(first, pii))
            state = agent.invoke(QUESTION)
            sent = json.dumps([request.body for request in server.requests])

        assert state["conflict"]["flipped"]
        assert len(state["conflict"]["documents"]) == len(PRIVATE)
        assert SECRET not in json.dumps(state["conflict"])
        assert SECRET not in sent

    def test_a_later_turn_does_not_read_them_from_the_artifact(
        self, agent_world: AgentWorld
    ) -> None:
        agent_world.tools = ("search_documents",)
        pii = PIIMiddleware("email", apply_to_tool_results=True)
        with OpenAIServer(agent_world) as server:
            about = {"checkpointer": InMemorySaver()}
            agent = agent_of(
                scripted_model(server), tools=[search_documents], inside=[pii], about=about
            )
            agent.invoke(QUESTION, THREAD)
            agent_world.tools = ()
            state = agent.invoke(QUESTION, THREAD)
            sent = json.dumps([request.body for request in server.requests])

        assert len(state["conflict"]["documents"]) == len(PRIVATE)
        assert SECRET not in json.dumps(state["conflict"]) + sent

    @BOTH_ORDERS
    def test_a_question_stays_redacted_if_its_message_is_removed(
        self, agent_world: AgentWorld, first: bool
    ) -> None:
        pii = PIIMiddleware("email")
        summing = SummarizationMiddleware(
            model=FakeListChatModel(responses=["A summary."] * 9),
            trigger=("messages", 3),
            keep=("messages", 1),
        )
        agent_world.tools = ("search_texts",)
        agent_world.instead["tools"] = lambda request: _once(agent_world, request, "search_texts")
        asked = {"role": "user", "content": f"When was the lamp lit, by {SECRET}?"}
        with OpenAIServer(agent_world) as server:
            around = beside(first, pii, summing)
            agent = agent_of(scripted_model(server), tools=[search_texts], **around)
            state = agent.invoke({"messages": [asked]})

        assert "summary" in state["messages"][0].text.casefold()
        assert state["conflict"]["question"] == "When was the lamp lit, by [REDACTED_EMAIL]?"

    @pytest.mark.parametrize(
        ("now", "redacted"),
        [
            ("The lamp was lit by [a person] in 1871, said the keeper.", True),
            ("[REDACTED_NAME]", True),
            ("Too large: saved as /large/1.", False),
            ("Note: edited. The lamp was lit by Ida in 1871, said the keeper.", False),
            ("The lamp was lit by Ida in 1871, said the keeper.", False),
            ("", False),
        ],
    )
    def test_a_stub_is_no_redaction(self, now: str, redacted: bool) -> None:
        original = ToolMessage("The lamp was lit by Ida in 1871, said the keeper.", tool_call_id="")

        assert is_redacted(ToolMessage(now, tool_call_id=""), original) is redacted


def raise_refusal() -> None:
    raise ModelRefusalError


@BOTH_ORDERS
def test_a_refused_second_answer_leaves_the_first_one(
    agent_model: ChatOpenAI, invoke: Invoke, first: bool
) -> None:
    refusing = AtSecondAnswers(raise_refusal)
    if not first:  # only middleware inside ours sees the second answer
        refusing.concerns = lambda request: False  # type: ignore[method-assign]

    state = invoke(agent_of(agent_model, **beside(first, refusing)), QUESTION)

    kept = "It was lit in 1871." if first else CORRECTED[-1]
    assert texts(state["messages"]) == [*CORRECTED[:-1], kept]
    assert any("it was a refusal" in note for note in state["conflict"]["notes"]) is first


class Writing(AgentMiddleware[Any, Any, Any]):
    """Puts a message of its own in the place of the answer."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        last = state["messages"][-1]
        if last.tool_calls:
            return None
        return {"messages": [AIMessage(self.text or last.text, id=last.id)]}


class Changing(AgentMiddleware[Any, Any, Any]):
    """Changes the text of the answer, but keeps the message's metadata."""

    def __init__(self, template: str) -> None:
        super().__init__()
        self.template = template

    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        last = state["messages"][-1]
        if last.tool_calls:
            return None
        text = self.template.format(last.text)
        return {"messages": [last.model_copy(update={"content": text})]}


class TestLastMessage:
    """The last message has a verdict, and the state's run is about this message."""

    @BOTH_ORDERS
    @pytest.mark.parametrize(
        ("template", "checked", "kind"),
        [
            ("{} It cost 5000 francs.", "partly", GapKind.UNCLAIMED),
            ("{} I hope this helps!", "fully", None),
            ("It was lit in 1899 by Napoleon.", "no", GapKind.NOT_ANSWERED),
            ("It was [removed] in ****.", "fully", None),
        ],
    )
    def test_text_that_other_middleware_adds_was_not_checked(
        self,
        agent_model: ChatOpenAI,
        first: bool,
        template: str,
        checked: str,
        kind: GapKind | None,
    ) -> None:
        state = agent_of(agent_model, **beside(first, Changing(template))).invoke(QUESTION)

        verdict = verdict_of(state)
        assert (verdict["checked"], verdict["kind"]) == (checked, kind)
        assert verdict["run_id"] == state["conflict"]["run_id"]
        assert state["conflict"]["checked"] == checked

    def test_an_answer_with_added_text_is_not_fully_checked(self, agent_model: ChatOpenAI) -> None:
        adding = Changing("{} It cost 5000 francs.")

        with pytest.raises(UncheckedAnswerError):
            agent_of(agent_model, inside=[adding], require="fully").invoke(QUESTION)

    @BOTH_ORDERS
    def test_one_that_other_middleware_wrote_was_not_checked(
        self, agent_model: ChatOpenAI, invoke: Invoke, first: bool
    ) -> None:
        state = invoke(agent_of(agent_model, **beside(first, Writing("Blocked."))), QUESTION)

        assert state["messages"][-1].text == "Blocked."
        assert verdict_of(state)["checked"] == state["conflict"]["checked"] == "no"
        assert verdict_of(state)["kind"] == GapKind.NOT_ANSWERED
        assert verdict_of(state)["run_id"] == state["conflict"]["run_id"]
        assert "1874" not in json.dumps(state["conflict"])

    @BOTH_ORDERS
    def test_a_copy_of_the_answer_keeps_its_verdict(
        self, agent_model: ChatOpenAI, invoke: Invoke, first: bool
    ) -> None:
        plain = invoke(agent_of(agent_model), QUESTION)
        state = invoke(agent_of(agent_model, **beside(first, Writing(""))), QUESTION)

        same = {**verdict_of(plain), "run_id": state["conflict"]["run_id"]}
        assert verdict_of(state) == same
        assert verdict_of(state)["flipped"]

    @BOTH_ORDERS
    def test_one_about_a_limit_says_so_though_an_answer_was_checked_before(
        self, agent_model: ChatOpenAI, agent_world: AgentWorld, invoke: Invoke, first: bool
    ) -> None:
        class Again(AgentMiddleware[Any, Any, Any]):
            @hook_config(can_jump_to=["model"])
            def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
                if state["messages"][-1].tool_calls:
                    return None
                return {"messages": [HumanMessage("Name a source.")], "jump_to": "model"}

        limit: Any = ModelCallLimitMiddleware(run_limit=2, exit_behavior="end")
        state = invoke(agent_of(agent_model, **beside(first, Again(), limit)), QUESTION)

        assert "limit" in state["messages"][-1].text
        assert verdict_of(state)["kind"] == GapKind.NOT_ANSWERED
        assert state["conflict"]["answer"] == state["messages"][-1].text

    def test_one_that_is_refused_gives_way_to_the_builders_text(
        self, agent_model: ChatOpenAI, invoke: Invoke
    ) -> None:
        limit: Any = ModelCallLimitMiddleware(run_limit=1, exit_behavior="end")
        settings = {"require": "fully", **beside(True, limit)}

        state = invoke(agent_of(agent_model, refusal="Ask our staff.", **settings), QUESTION)

        assert state["messages"][-1].text == "Ask our staff."
        assert verdict_of(state)["checked"] == "no"
        with pytest.raises(UncheckedAnswerError):
            invoke(agent_of(agent_model, **settings), QUESTION)


@BOTH_ORDERS
def test_a_request_that_other_middleware_adds_is_not_the_users_question(
    agent_model: ChatOpenAI, agent_world: AgentWorld, invoke: Invoke, first: bool
) -> None:
    class Once(AgentMiddleware[Any, Any, Any]):
        @hook_config(can_jump_to=["model"])
        def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
            asked = any(each.text == "Name a source." for each in state["messages"])
            if state["messages"][-1].tool_calls or asked:
                return None
            return {"messages": [HumanMessage("Name a source.")], "jump_to": "model"}

    agent_world.instead["tools"] = lambda request: (
        agent_world.answer
        if any(each["role"] == "tool" for each in request.messages)
        else call_tool(request, "search", query="lamp")
    )
    state = invoke(agent_of(agent_model, **beside(first, Once())), QUESTION)

    assert state["conflict"]["question"] == "When was the lamp lit?"
    assert len(state["conflict"]["documents"]) == len(DISAGREEING)


@BOTH_ORDERS
def test_the_note_on_an_edited_call_is_not_part_of_its_result(
    agent_model: ChatOpenAI, invoke: Invoke, first: bool
) -> None:
    @tool
    def search(query: str) -> list[dict[str, str]]:
        """Search."""
        return DISAGREEING

    person: Any = HumanInTheLoopMiddleware(interrupt_on={"search": True})
    about = {"checkpointer": InMemorySaver()}
    agent = agent_of(agent_model, tools=[search], about=about, **beside(first, person))
    edit = {"type": "edit", "edited_action": {"name": "search", "args": {"query": "light"}}}

    invoke(agent, QUESTION, THREAD)
    state = invoke(agent, Command(resume={"decisions": [edit]}), THREAD)

    assert "human reviewer" in state["messages"][2].text
    assert [each["text"] for each in state["conflict"]["documents"]] == [
        each["text"] for each in DISAGREEING
    ]


class TestCommands:
    """Tools that return a ``Command``, as hand-over tools and deepagents' tasks do."""

    @pytest.fixture
    def inner(self) -> Iterator[Any]:
        with OpenAIServer(AgentWorld()) as server:
            yield agent_of(scripted_model(server))

    @pytest.mark.parametrize("summarized", [False, True])
    def test_an_inner_agents_documents_are_read_from_one(
        self, agent_model: ChatOpenAI, agent_world: AgentWorld, inner: Any, summarized: bool
    ) -> None:
        @tool
        def task(query: str, call: Annotated[str, InjectedToolCallId]) -> Command[Any]:
            """Ask a researcher."""
            answer = inner.invoke(QUESTION)["messages"][-1].text
            return Command(update={"messages": [ToolMessage(answer, tool_call_id=call)]})

        agent_world.tools = ("task",)
        summing = SummarizationMiddleware(
            model=FakeListChatModel(responses=["A summary."] * 9),
            trigger=("messages", 3),
            keep=("messages", 1),
        )
        if summarized:  # the script cannot count tool messages that are gone
            agent_world.instead["tools"] = lambda request: _once(agent_world, request)

        inside = [summing] if summarized else []
        state = agent_of(agent_model, tools=[task], inside=inside).invoke(QUESTION)

        assert [each["text"] for each in state["conflict"]["documents"]] == [
            each["text"] for each in DISAGREEING
        ]
        assert verdict_of(state)["checked"] == "fully"

    def test_parallel_agents_may_return_their_runs_to_one_parent(
        self, agent_model: ChatOpenAI, agent_world: AgentWorld
    ) -> None:
        @tool
        def task(query: str, call: Annotated[str, InjectedToolCallId]) -> Command[Any]:
            """Ask a researcher, whose state is returned."""
            message = ToolMessage("The tower is white.", tool_call_id=call)
            return Command(update={"messages": [message], "conflict": {"run_id": call}})

        class Twice(AgentMiddleware[Any, Any, Any]):
            def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
                last = state["messages"][-1]
                if len(last.tool_calls) != 1:
                    return None
                [call] = last.tool_calls
                calls = [call, {**call, "id": "another"}]
                return {"messages": [last.model_copy(update={"tool_calls": calls})]}

        agent_world.tools = ("task", "task")
        state = create_agent_with_ours(agent_model, [task], Twice())

        assert verdict_of(state)["run_id"] == state["conflict"]["run_id"]
        assert state["conflict"]["answer"] == state["messages"][-1].text


def create_agent_with_ours(model: Any, tools: list[Any], *others: Any) -> dict[str, Any]:
    state: dict[str, Any] = agent_of(model, tools=tools, inside=list(others)).invoke(QUESTION)
    return state


def _once(world: AgentWorld, request: ChatRequest, name: str = "task") -> Any:
    return call_tool(request, name, query="lamp") if world.asked["tools"] == 1 else world.answer
