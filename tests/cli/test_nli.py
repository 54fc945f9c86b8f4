"""``--labeler nli`` as a user types it: the model splits answers, and the NLI model judges."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from conflictscore.cli import main
from tests.fakes.openai_server import OpenAIServer
from tests.nli_model import make_nli_model
from tests.world import World

Run = Callable[..., Result]


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.txt").write_text("The lamp was lit in 1871.")
    (folder / "b.txt").write_text("The lamp was not lit in 1871.")
    return folder


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def run(world: World, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-user")
    with OpenAIServer(world) as server:

        def invoke(*args: str | Path) -> Result:
            command = ["ask", "When was the lamp lit?", "--docs", docs]
            endpoint = ["--model", "scripted", "--base-url", server.base_url, "--json"]
            return CliRunner().invoke(main, [*map(str, [*command, *endpoint, *args])])

        yield invoke


def test_the_model_in_the_folder_judges_and_no_judge_is_called(
    run: Run, world: World, tmp_path: Path
) -> None:
    folder = make_nli_model(tmp_path / "small-nli")
    outcome = run("--labeler", f"nli:model={folder}")
    assert outcome.exit_code == 0, outcome.output
    report = json.loads(outcome.stdout)["report"]
    [claim] = report["claims"]
    assert claim["conflicting"]
    assert {pair["snippet"] for pair in claim["labels"]} == {
        "The lamp was lit in 1871.",
        "The lamp was not lit in 1871.",
    }
    assert world.asked["decompose"] > 0
    assert world.asked["label"] == world.asked["choice"] == 0


def test_the_model_that_comes_with_the_package_needs_no_name(run: Run, world: World) -> None:
    outcome = run("--labeler", "nli")
    assert outcome.exit_code == 0, outcome.output
    [claim] = json.loads(outcome.stdout)["report"]["claims"]
    assert claim["conflicting"]
    assert world.asked["label"] == world.asked["choice"] == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--labeler", "json:model=x"], "the options of json are unquoted=…"),
        (["--labeler", "nli:model=nowhere"], "there is no NLI model nowhere"),
    ],
)
def test_a_model_that_is_missing_is_one_clear_line(run: Run, options: list[str], said: str) -> None:
    refused = run(*options)
    assert refused.exit_code == 2
    assert said in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1
