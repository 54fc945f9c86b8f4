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
    assert isinstance(option.type, click.Choice)
    assert tuple(option.type.choices) == get_args(LabelerName)
    assert tuple(LABELERS) == get_args(LabelerName)


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


@pytest.mark.parametrize("labeler", ["whole-answer", "salient"])
def test_what_chooses_the_claims_of_an_answer_has_no_use_where_claims_are_given(
    labeler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-user")
    data = tmp_path / "lamps_groups.jsonl"
    text = {"text": "The lamp was lit in 1871.", "label": "SUPPORTS"}
    data.write_text(json.dumps({"id": "one", "claim": text["text"], "docs": [text]}) + "\n")
    command = [
        "bench",
        "conflict-detection",
        "--data",
        str(data),
        "--model",
        "m",
        "--labeler",
        labeler,
    ]
    refused = CliRunner().invoke(main, [*command, "--base-url", "http://127.0.0.1:9/v1"])
    assert refused.exit_code == 2
    said = "chooses among the claims of an answer; here the claims are given: use json"
    assert f"--labeler {labeler} {said}" in refused.stderr
