"""``--effort`` and ``--help-all``: what most people need, and all the rest behind it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from conflictscore import EFFORTS, LoopSettings
from conflictscore.cli import main
from tests.fakes.openai_server import OpenAIServer
from tests.world import DISAGREEING, World

Logged = Callable[..., dict[str, Any]]


@pytest.fixture
def logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Logged]:
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-user")
    docs, log = tmp_path / "docs", tmp_path / "runs.jsonl"
    docs.mkdir()
    for document in DISAGREEING:
        (docs / f"{document['title']}.txt").write_text(document["text"])
    with OpenAIServer(World()) as server:

        def ask(*args: str) -> dict[str, Any]:
            model = ["--model", "scripted", "--base-url", server.base_url]
            asked = ["ask", "When?", *args, "--docs", str(docs), *model, "--log", str(log)]
            done = CliRunner().invoke(main, asked)
            assert done.exit_code == 0, done.output
            entry: dict[str, Any] = json.loads(log.read_text().splitlines()[-1])
            return entry

        yield ask


def test_an_effort_sets_what_goes_together_and_the_log_tells_it(logged: Logged) -> None:
    run = logged("--effort", "paper")

    assert run["effort"] == "paper"
    assert run["prompts"]["set"] == "paper"
    assert run["correction"]["regeneration"] == "paper"
    assert run["correction"]["disputed"] == ["conflict"]
    assert run["correction"]["guard"] is False
    assert run["models"]["labeler"].startswith("json(")


def test_an_option_counts_more_than_the_effort_beside_it(logged: Logged) -> None:
    run = logged("--max-rounds", "2", "--guard", "--effort", "paper")

    assert run["max_rounds"] == 2
    assert run["correction"]["guard"] is True
    assert run["correction"]["regeneration"] == "paper"


def test_without_one_the_defaults_hold(logged: Logged) -> None:
    run = logged()

    assert run["effort"] is None
    assert run["correction"]["regeneration"] == "revise"


@pytest.mark.parametrize("effort", EFFORTS)
def test_every_effort_is_a_set_of_settings_that_the_loop_takes(effort: Any) -> None:
    assert LoopSettings(**EFFORTS[effort]).effort == effort


@pytest.mark.parametrize("command", ["ask", "serve"])
def test_help_shows_a_dozen_options_and_says_where_the_others_are(command: str) -> None:
    brief = CliRunner().invoke(main, [command, "--help"]).output
    everything = CliRunner().invoke(main, [command, "--help-all"]).output
    options = [
        param.opts[0] for param in main.commands[command].params if isinstance(param, click.Option)
    ]

    assert all(option in everything for option in options)
    assert f"{command} --help-all" in " ".join(brief.split())
    assert brief.count("\n  -") < 18 < everything.count("\n  -")
    assert "Models and labels:" in everything
