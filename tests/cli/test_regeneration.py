"""``conflictscore ask --regeneration`` as a user types it, against a loopback server."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from conflictscore.cli import main
from tests.fakes.openai_server import OpenAIServer
from tests.world import DISAGREEING, PAPER_OPTIONS, World

Run = Callable[..., Result]


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def ask(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-user")
    docs = tmp_path / "docs"
    docs.mkdir()
    for document in DISAGREEING:
        (docs / f"{document['title']}.txt").write_text(document["text"])
    with OpenAIServer(world) as server:

        def invoke(*args: str | Path) -> Result:
            fixed = ["--docs", str(docs), "--model", "scripted", "--base-url", server.base_url]
            return CliRunner().invoke(
                main, ["ask", "When?", *PAPER_OPTIONS, *map(str, args), *fixed]
            )

        yield invoke


def test_another_regeneration_is_refused(ask: Run) -> None:
    refused = ask("--set", "regeneration=best")
    assert refused.exit_code == 2
    assert "regeneration is 'best'; give one of paper, revise" in refused.stderr


def test_what_was_searched_for_further_is_shown_step_by_step_and_in_json_and_log(
    ask: Run, tmp_path: Path
) -> None:
    log = tmp_path / "runs.jsonl"
    further = ("--set", "look_further=disputed")
    shown = ask(*further)
    printed = json.loads(ask(*further, "--json", "--log", log).stdout)

    lines = [" ".join(line.split()) for line in shown.stdout.splitlines()]
    came = "“lamp diary 1871”: known 1, 2, 3"
    assert lines[lines.index("Looked further") + 1] == came
    assert "Looked further" not in ask().stdout
    logged = json.loads(log.read_text())
    for told in (printed, logged):
        assert [search["known"] for search in told["searches"]] == [[1, 2, 3]] * 2
    assert logged["settings"]["look_further"] == "disputed"
