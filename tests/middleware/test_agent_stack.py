"""The middleware among others, and its behaviour on failures."""

import importlib
import re
import sys
from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    ModelCallLimitMiddleware,
    ModelRetryMiddleware,
)
from langchain_core.runnables import RunnableConfig
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from pydantic import SecretStr

from conflictscore.errors import ConfigurationError, InputError, install_hint
from conflictscore.middleware import ConflictScoreMiddleware
from tests.fakes.openai_server import Fault, OpenAIServer, Reply
from tests.middleware.agents import (
    CORRECTED,
    QUESTION,
    AgentWorld,
    Invoke,
    agent_of,
    call_tool,
    search,
    texts,
)
from tests.revising import RevisingAgentWorld
from tests.talking import Failing
from tests.world import scripted_model

THREAD: RunnableConfig = {"configurable": {"thread_id": "one"}}

BOTH_ORDERS = pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
"""Whether our middleware is first in the list, and so the outermost."""


def stack(model: Any, first: bool, other: AgentMiddleware[Any, Any, Any], **settings: Any) -> Any:
    """An agent with another middleware besides ours, and stored threads."""
    beside = {"inside" if first else "outside": [other]}
    return agent_of(model, **beside, about={"checkpointer": InMemorySaver()}, **settings)


def retry(**settings: Any) -> ModelRetryMiddleware[Any, Any]:
    return ModelRetryMiddleware(initial_delay=0, jitter=False, **settings)


# Retries and fallbacks


def test_retries_further_in_apply_to_the_second_answer(
    agent_model: ChatOpenAI, agent_world: AgentWorld, invoke: Invoke
) -> None:
    agent_world.failing["regenerate"] = 1

    state = invoke(stack(agent_model, True, retry(max_retries=1)), QUESTION, THREAD)

    assert texts(state["messages"]) == CORRECTED
    assert (agent_world.asked["generate"], agent_world.asked["regenerate"]) == (1, 2)


def test_a_second_answer_that_fails_does_not_restart_outer_retries(
    agent_model: ChatOpenAI, agent_world: AgentWorld, invoke: Invoke
) -> None:
    agent_world.failing["regenerate"] = 1

    state = invoke(stack(agent_model, False, retry(max_retries=1)), QUESTION, THREAD)

    assert texts(state["messages"])[-1] == "It was lit in 1871."
    assert agent_world.asked["generate"] == 1
    [note] = state["conflict"]["notes"]
    assert note.startswith("the earlier answer was kept, because no new answer could be generated")
    assert "HTTP 503" in note


@pytest.mark.parametrize(
    ("step", "said", "note", "checks"),
    [
        ("generate", "Model call failed", "the model failed", 0),
        ("regenerate", "It was lit in 1871.", "not a text answer", 1),
    ],
)
def test_an_error_in_the_place_of_an_answer_is_not_scored_and_replaces_none(
    agent_model: ChatOpenAI,
    agent_world: AgentWorld,
    invoke: Invoke,
    step: str,
    said: str,
    note: str,
    checks: int,
) -> None:
    agent_world.failing[step] = 9
    failing = retry(max_retries=0, on_failure="continue")

    state = invoke(stack(agent_model, True, failing), QUESTION, THREAD)

    assert state["messages"][-1].text.startswith(said)
    assert agent_world.asked["decompose"] == checks
    [noted] = state["conflict"]["notes"]
    assert note in noted


# Limits, people and guards


@BOTH_ORDERS
def test_a_second_look_is_not_a_separate_step_for_a_limit_on_model_calls(
    agent_model: ChatOpenAI, invoke: Invoke, first: bool
) -> None:
    limit: Any = ModelCallLimitMiddleware(run_limit=2, exit_behavior="error")

    state = invoke(stack(agent_model, first, limit), QUESTION, THREAD)

    assert texts(state["messages"]) == CORRECTED


@BOTH_ORDERS
def test_a_person_who_approves_tools_is_asked_as_ever(
    agent_model: ChatOpenAI, agent_world: AgentWorld, invoke: Invoke, first: bool
) -> None:
    person: Any = HumanInTheLoopMiddleware(interrupt_on={"search": True})
    agent = stack(agent_model, first, person, approve_flips=True)

    asked = invoke(agent, QUESTION, THREAD)
    found = invoke(agent, Command(resume={"decisions": [{"type": "approve"}]}), THREAD)
    state = invoke(agent, Command(resume="approve"), THREAD)

    assert asked["__interrupt__"][0].value["action_requests"][0]["name"] == "search"
    assert found["__interrupt__"][0].value["action"] == "approve_flip"
    assert texts(state["messages"]) == CORRECTED
    assert agent_world.asked["generate"] == agent_world.asked["regenerate"] == 1


class AtSecondAnswers(AgentMiddleware[Any, Any, Any]):
    """Does something before a second answer is requested."""

    def __init__(self, act: Callable[[], object]) -> None:
        super().__init__()
        self.act = act

    def concerns(self, request: Any) -> bool:
        said = request.messages[-1].text
        return "on which the documents disagree" in said or "Write the passage again" in said

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        if self.concerns(request):
            self.act()
        return handler(request)

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        if self.concerns(request):
            self.act()
        return await handler(request)


def refuse() -> None:
    raise PermissionError("over budget")


def test_what_another_middleware_raises_or_asks_is_not_swallowed(
    agent_model: ChatOpenAI, invoke: Invoke
) -> None:
    with pytest.raises(PermissionError, match="over budget"):
        invoke(stack(agent_model, True, AtSecondAnswers(refuse)), QUESTION, THREAD)

    answers: list[Any] = []
    asking = AtSecondAnswers(lambda: answers.append(interrupt("go on?")))
    agent = stack(agent_model, True, asking)

    asked = invoke(agent, QUESTION, THREAD)
    state = invoke(agent, Command(resume="yes"), THREAD)

    assert asked["__interrupt__"][0].value == "go on?"
    assert answers == ["yes"]
    assert texts(state["messages"]) == CORRECTED


class AskingModel(ChatOpenAI):
    """Asks a person before a document is read for the second look."""

    def _generate(self, messages: list[Any], *more: Any, **named: Any) -> Any:
        if "Reply with one short full sentence that repeats" in messages[-1].text:
            interrupt("may it be read?")
        return super()._generate(messages, *more, **named)


def test_an_interrupt_inside_the_second_look_is_not_swallowed() -> None:
    with OpenAIServer(RevisingAgentWorld()) as server:
        model = AskingModel(
            model="scripted",
            base_url=server.base_url,
            api_key=SecretStr("key"),
            use_responses_api=False,
        )
        ours = ConflictScoreMiddleware(cache=False)
        saver = InMemorySaver()
        agent: Any = create_agent(model, [search], middleware=[ours], checkpointer=saver)
        state = agent.invoke(QUESTION, THREAD)

    assert state["__interrupt__"][0].value == "may it be read?"


# The second answer


@pytest.mark.parametrize(
    "unusable",
    [
        lambda request: call_tool(request, "search", query="more"),
        lambda _: " ",
        lambda _: Reply("It was lit", finish_reason="length"),
        lambda _: Fault.raw(b"{}"),
    ],
    ids=["a call of a tool", "nothing", "half an answer", "no completion"],
)
def test_a_second_answer_that_cannot_be_used_leaves_the_first_with_a_note(
    agent_model: ChatOpenAI, agent_world: AgentWorld, invoke: Invoke, unusable: Any
) -> None:
    agent_world.instead["regenerate"] = unusable

    state = invoke(agent_of(agent_model), QUESTION)

    assert texts(state["messages"]) == [*CORRECTED[:-1], "It was lit in 1871."]
    assert state["conflict"]["report"]["cs_c"] == 1.0
    [note] = state["conflict"]["notes"]
    assert note.startswith("the earlier answer was kept")


def test_what_a_model_fails_with_shows_no_key(
    agent_world: AgentWorld, invoke: Invoke, caplog: pytest.LogCaptureFixture
) -> None:
    agent_world.instead["regenerate"] = lambda _: Fault(500, message="no: key hush-hush-key")
    with OpenAIServer(agent_world) as server:
        model = scripted_model(server).model_copy()
        model.openai_api_key = SecretStr("hush-hush-key")
        state = invoke(agent_of(model), QUESTION)

    assert "HTTP 500" in state["conflict"]["notes"][0]
    assert "hush-hush-key" not in str(state) + caplog.text


# The check


def test_a_search_that_fails_leaves_the_answer_and_shows_no_key(
    agent_model: ChatOpenAI, invoke: Invoke, caplog: pytest.LogCaptureFixture
) -> None:
    quoting_its_key = Failing(error=ConnectionError("https://search.test/?key=hush-hush-key"))

    state = invoke(agent_of(agent_model, tools=[], retriever=quoting_its_key), QUESTION)

    [note] = state["conflict"]["notes"]
    assert note.endswith("its check failed: ConnectionError")
    assert texts(state["messages"])[-1] == "It was lit in 1871."
    assert "hush-hush-key" not in str(state) + caplog.text
    raising = agent_of(agent_model, tools=[], retriever=quoting_its_key, on_failure="raise")
    with pytest.raises(ConnectionError):
        invoke(raising, QUESTION)


# Settings


def test_a_wrong_setting_is_an_error_also_where_failures_pass(
    agent_model: ChatOpenAI, invoke: Invoke
) -> None:
    with pytest.raises(InputError, match="max_rounds is -1"):
        invoke(agent_of(agent_model, max_rounds=-1), QUESTION)
    with pytest.raises(InputError, match="on_failure is 'ignore'"):
        ConflictScoreMiddleware(on_failure="ignore")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="sources is 'search'; give a list of tool names"):
        ConflictScoreMiddleware(sources="search")
    with pytest.raises(ConfigurationError, match="labeler is 'none'; give one of json"):
        invoke(agent_of(agent_model, labeler="none"), QUESTION)


def test_without_langchain_the_middleware_names_the_extra_and_the_rest_works(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "langchain"]:
        monkeypatch.setitem(sys.modules, name, None)
    package = importlib.import_module("conflictscore.middleware")
    for name in ("agent", "agent_turn", "decorator"):
        monkeypatch.delitem(sys.modules, f"conflictscore.middleware.{name}", raising=False)
        monkeypatch.delattr(package, name, raising=False)  # else later tests would meet two of it
    for name in ("ConflictScoreMiddleware", "self_correct"):  # names used before are cached
        monkeypatch.delattr(package, name, raising=False)

    with pytest.raises(ConfigurationError, match=re.escape(install_hint("langchain"))):
        _ = package.ConflictScoreMiddleware
    assert callable(package.self_correct())
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = package.no_such_name
