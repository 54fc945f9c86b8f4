"""A scripted world, which a module may replace by its own, and the model that speaks for it."""

from collections.abc import Iterator

import pytest
from langchain_openai import ChatOpenAI

from tests.fakes.openai_server import OpenAIServer
from tests.world import World, scripted_model


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def server(world: World) -> Iterator[OpenAIServer]:
    with OpenAIServer(world) as running:
        yield running


@pytest.fixture
def model(server: OpenAIServer) -> ChatOpenAI:
    return scripted_model(server)
