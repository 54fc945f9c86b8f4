import pytest
from langchain_openai import ChatOpenAI

from tests.fakes.openai_server import OpenAIServer
from tests.world import scripted_model


@pytest.fixture
def model(server: OpenAIServer) -> ChatOpenAI:
    return scripted_model(server)
