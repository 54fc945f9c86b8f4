"""``--labeler`` as a user types it."""

import json
from pathlib import Path
from typing import get_args

import click
import pytest
from click.testing import CliRunner

from conflictscore.cli import main
from conflictscore.cli.options import with_model_choice
from conflictscore.labelers import LABELERS, LabelerName
from tests.fakes.openai_server import OpenAIServer
from tests.world import PAPER_OPTIONS, World


def test_every_labeler_can_be_named_on_the_command_line() -> None:
    command = click.command()(with_model_choice(lambda: None))
    [option] = [parameter for parameter in command.params if parameter.name == "labeler"]
    assert tuple(LABELERS) == get_args(LabelerName)
    assert isinstance(option, click.Option)
    assert all(f"{name}: {kind.summary}" in str(option.help) for name, kind in LABELERS.items())


def test_an_answer_is_scored_with_all_pairs_in_one_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-user")
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.txt").write_text("The lamp was lit in 1871.")
    (docs / "b.txt").write_text("The lamp was lit in 1874.")
    world = World()
    with OpenAIServer(world) as server:
        endpoint = ["--model", "scripted", "--base-url", server.base_url]
        question = ["ask", *PAPER_OPTIONS, "When was the lamp lit in 1871?", "--docs", str(docs)]
        shown = CliRunner().invoke(main, [*question, *endpoint, "--labeler", "matrix", "--json"])
    assert shown.exit_code == 0, shown.stderr
    [claim] = json.loads(shown.stdout)["report"]["claims"]
    assert claim["conflicting"]
    assert world.asked["batch"] == 2
    assert world.asked["label"] == 0
