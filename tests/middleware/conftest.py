"""An agent's world, its model, and the two ways to invoke an agent."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_openai import ChatOpenAI

from conflictscore.middleware import SelfCorrectingChatModel
from tests.fakes.openai_server import OpenAIServer
from tests.middleware.agents import AgentWorld, Invoke
from tests.talking import Shelf
from tests.world import PAPER, scripted_model


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def chat(server: OpenAIServer, shelf: Shelf) -> SelfCorrectingChatModel:
    return SelfCorrectingChatModel(scripted_model(server), shelf, content_cache=False, **PAPER)


@pytest.fixture
def agent_world() -> AgentWorld:
    return AgentWorld()


@pytest.fixture
def agent_model(agent_world: AgentWorld) -> Iterator[ChatOpenAI]:
    with OpenAIServer(agent_world) as server:
        yield scripted_model(server)


@pytest.fixture(params=["invoke", "ainvoke"])
def invoke(request: pytest.FixtureRequest) -> Iterator[Invoke]:
    """Invokes an agent in one of the two ways."""
    runner = asyncio.Runner()

    def synchronously(agent: Any, *args: Any, **options: Any) -> Any:
        return agent.invoke(*args, **options)

    def asynchronously(agent: Any, *args: Any, **options: Any) -> Any:
        return runner.run(agent.ainvoke(*args, **options))

    with runner:
        yield synchronously if request.param == "invoke" else asynchronously
