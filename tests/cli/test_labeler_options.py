"""Options of a labeler as a user types them, after its name."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from conflictscore.cli import main
from tests.fakes.openai_server import OpenAIServer
from tests.labelers.judging import verdict
from tests.world import World

Run = Callable[..., Result]
LAMP = "The lamp was lit in 1871."


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def run(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-user")
    Path("lamp.txt").write_text(LAMP)
    with OpenAIServer(world) as server:

        def invoke(*args: str) -> Result:
            endpoint = ["--model", "scripted", "--base-url", server.base_url]
            return CliRunner().invoke(main, [*args, *endpoint])

        yield invoke


def test_a_side_without_a_quote_is_no_verdict_where_the_user_says_so(
    run: Run, world: World
) -> None:
    world.broken["label"] = verdict(snippet="It was lit in 1874.")
    Path("log.txt").write_text("It was lit in 1874.")
    docs = ["--docs", "lamp.txt", "--docs", "log.txt"]
    shown = run("score", "--answer", LAMP, *docs, "--labeler", "json:unquoted=unlabelled", "--json")
    assert shown.exit_code == 0, shown.stderr
    labels = json.loads(shown.stdout)["report"]["claims"][0]["labels"]
    assert [label["label"] for label in labels] == ["UNLABELLED", "SUPPORTS"]
    assert world.asked["label"] == 2, "neither is asked about again"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--labeler", "choice:unquoted=again"], "the options of choice are none"),
        (["--labeler", "json:unquoted=never"], "unknown unquoted 'never'; one of keep"),
        (["--labeler", "matrix:unquoted=keep"], "the options of matrix are none"),
        (["--labeler", "cascade:certain=often"], "certain is 'often'; give 0 to 1"),
        (["--labeler", "jsn"], "labeler is 'jsn'; give one of json, choice"),
    ],
)
def test_an_option_of_another_labeler_is_refused(run: Run, options: list[str], told: str) -> None:
    refused = run("score", "--answer", LAMP, "--docs", "lamp.txt", *options)
    assert refused.exit_code == 2
    assert told in refused.stderr
