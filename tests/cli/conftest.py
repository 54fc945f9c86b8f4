from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.openai_server import OpenAIServer
from tests.local_model import smollm2_path as smollm2_path
from tests.world import DISAGREEING, World


@pytest.fixture(autouse=True)
def _cache_of_the_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def endpoint(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The options that name the scripted model, whose key is set."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-user")
    with OpenAIServer(world, api_key="sk-secret-of-the-user") as server:
        yield ["--model", "scripted", "--base-url", server.base_url]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A file for each of the documents that disagree."""
    docs = tmp_path / "docs"
    docs.mkdir()
    for document in DISAGREEING:
        text = f"# {document['title']}\n\n{document['text']}\n"
        (docs / f"{document['title'].lower()}.md").write_text(text)
    return docs
