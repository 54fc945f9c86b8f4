from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from conflictscore.cli import main
from tests.fakes.openai_server import OpenAIServer
from tests.local_model import smollm2_path as smollm2_path
from tests.world import DISAGREEING, PAPER_OPTIONS, World

Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def _cache_of_the_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def endpoint(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The options that name the scripted model, whose key is set."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-user")
    with OpenAIServer(world, api_key="sk-secret-of-the-user") as server:
        yield ["--model", "scripted", "--base-url", server.base_url]


@pytest.fixture
def run(endpoint: list[str]) -> Run:
    """Run a command with the scripted model; ``ask`` runs the paper's loop."""

    def invoke(command: str, *args: str | Path) -> Result:
        paper = PAPER_OPTIONS if command == "ask" else ()
        return CliRunner().invoke(main, [command, *paper, *map(str, args), *endpoint])

    return invoke


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file for each of the documents that disagree."""
    docs = tmp_path / "docs"
    docs.mkdir()
    for document in DISAGREEING:
        text = f"# {document['title']}\n\n{document['text']}\n"
        (docs / f"{document['title'].lower()}.md").write_text(text)
    return docs
