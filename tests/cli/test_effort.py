"""``--effort`` and ``--set``, and the number of options of a command."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from conflictscore.cli import main

Logged = Callable[..., dict[str, Any]]


@pytest.fixture
def logged(tmp_path: Path, folder: Path, endpoint: list[str]) -> Logged:
    log = tmp_path / "runs.jsonl"

    def ask(*args: str) -> dict[str, Any]:
        asked = ["ask", "When?", *args, "--docs", str(folder), *endpoint, "--log", str(log)]
        done = CliRunner().invoke(main, asked)
        assert done.exit_code == 0, done.output
        entry: dict[str, Any] = json.loads(log.read_text().splitlines()[-1])
        return entry

    return ask


def test_an_effort_sets_what_goes_together_and_the_log_tells_it(logged: Logged) -> None:
    run = logged("--effort", "paper")
    settings = run["settings"]
    assert settings["effort"] == "paper"
    assert settings["prompts"]["set"] == "paper"
    assert settings["regeneration"] == "paper"
    assert settings["disputed"] == ["conflict"]
    assert settings["guard"] is False
    assert settings["min_coverage"] is None
    assert run["models"]["labeler"].startswith("json(")


def test_an_option_counts_more_than_the_effort_beside_it(logged: Logged) -> None:
    settings = logged("--max-rounds", "2", "--set", "guard=true", "--effort", "paper")["settings"]
    assert (settings["max_rounds"], settings["guard"]) == (2, True)
    assert settings["regeneration"] == "paper"


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ("guard", "--set guard: write NAME=VALUE"),
        ("gard=false", "there is no setting 'gard'; did you mean guard?"),
        ("guard=perhaps", "guard is 'perhaps'; give True or False"),
        ("min-coverage=2", "min_coverage is 2.0; give 0 to 1, or None"),
        ("disputed=conflict,all", "give a list of any of conflict"),
        ("prompts=mine", "there is no setting 'prompts'"),
        ("max-claims=12", "there is no setting 'max_claims' here; use --max-claims"),
    ],
)
def test_a_wrong_setting_is_one_line_and_exit_code_2(wrong: str, line: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("It was lit in 1871.")
    asked = ["ask", "When?", "--model", "m", "--set", wrong, "--docs", str(tmp_path)]
    shown = CliRunner().invoke(main, asked)

    assert shown.exit_code == 2
    assert line in shown.stderr
    assert len(shown.stderr.splitlines()) == 1


@pytest.mark.parametrize(("command", "most"), [("ask", 25), ("serve", 34)])
def test_a_command_has_few_options_and_its_help_shows_every_one_in_groups(
    command: str, most: int
) -> None:
    shown = CliRunner().invoke(main, [command, "--help"]).output
    context = click.Context(main.commands[command])
    options = [
        param.opts[0]
        for param in main.commands[command].get_params(context)
        if isinstance(param, click.Option)
    ]

    assert len(options) <= most
    assert all(option in shown for option in options)
    assert "Models and labels:" in shown
