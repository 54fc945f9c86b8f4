"""A chatbot's world, and the upstream that serves it."""

from collections.abc import Iterator

import pytest

from conflictscore.graph.create import create_self_correcting_rag
from tests.fakes.openai_server import OpenAIServer
from tests.local_model import smollm2_path as smollm2_path
from tests.middleware.service.serving import QUESTION, UPSTREAM_KEY, ChatWorld, Served, serving
from tests.talking import Shelf


@pytest.fixture(scope="session", autouse=True)
def _warm() -> None:
    """Make a first call, which loads libraries for seconds, before any test's clock runs."""
    with OpenAIServer(ChatWorld()) as server:
        create_self_correcting_rag("m", Shelf(), base_url=server.base_url, cache=False).invoke(
            {"question": QUESTION}
        )


@pytest.fixture
def world() -> ChatWorld:
    return ChatWorld()


@pytest.fixture
def upstream(world: ChatWorld, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    """An upstream that admits only this service."""
    monkeypatch.setenv("OPENAI_API_KEY", UPSTREAM_KEY)
    with OpenAIServer(world, api_key=UPSTREAM_KEY) as server:
        yield server


@pytest.fixture
def served(upstream: OpenAIServer) -> Iterator[Served]:
    """A service in front of it, with its default settings."""
    with serving(upstream) as running:
        yield running
