"""``--labeler cascade`` as a user types it: the model judges what words and NLI leave open."""

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

_ANSWER = "The lamp was lit in 1871."


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def run(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-user")
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.txt").write_text("The lamp was lit in 1874.")
    (docs / "b.txt").write_text("Bananas ripen.")
    (docs / "c.txt").write_text("The lamp was lit in 1871.")
    with OpenAIServer(world) as server:

        def invoke(model: Path | str, *args: str | Path) -> Result:
            command = ["score", "--answer", _ANSWER, "--docs", docs, "--model", "scripted"]
            command += ["--base-url", server.base_url, "--labeler", f"cascade:model={model}"]
            return CliRunner().invoke(main, [*map(str, [*command, *args])])

        yield invoke


def test_every_verdict_says_which_stage_decided_it(run: Run, world: World, tmp_path: Path) -> None:
    folder = make_nli_model(tmp_path / "small-nli")
    outcome = run(folder, "--json")
    assert outcome.exit_code == 0, outcome.output
    [claim] = json.loads(outcome.stdout)["report"]["claims"]
    assert [(pair["stage"], pair["label"]) for pair in claim["labels"]] == [
        ("json(scripted)", "CONTRADICTS"),
        ("nli(small-nli)", "IRRELEVANT"),
        ("json(scripted)", "SUPPORTS"),
    ]
    assert world.asked["label"] == 2


def test_a_person_is_shown_how_many_pairs_each_stage_decided(run: Run, tmp_path: Path) -> None:
    outcome = run(make_nli_model(tmp_path / "small-nli"))
    assert "pairs decided by: json(scripted) 2, nli(small-nli) 1" in outcome.stdout


def test_without_an_nli_model_it_says_how_to_give_one(run: Run, world: World) -> None:
    refused = run("nowhere")
    assert refused.exit_code == 2
    assert "there is no NLI model nowhere" in refused.stderr
    assert not world.asked


def test_claims_that_are_given_go_through_the_same_stages(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-user")
    texts = [(_ANSWER, "SUPPORTS"), ("The stone says: fog.", "IRRELEVANT")]
    docs = [{"text": text, "label": label} for text, label in texts]
    row = {"id": "one", "claim": _ANSWER, "docs": docs, "has_conflict": False}
    data = tmp_path / "lamps_groups.jsonl"
    data.write_text(json.dumps(row) + "\n")
    folder = make_nli_model(tmp_path / "small-nli")
    command = ["bench", "conflict-detection", "--data", data, "--out", tmp_path / "v.jsonl"]
    command += ["--labeler", f"cascade:model={folder},certain=0.9"]
    command += ["--model", "scripted", "--json"]
    with OpenAIServer(world) as server:
        outcome = CliRunner().invoke(main, [*map(str, command), "--base-url", server.base_url])
    assert outcome.exit_code == 0, outcome.output
    figures = json.loads(outcome.stdout)
    assert figures["labeler"] == "cascade(nli(small-nli), json(scripted))"
    assert world.asked["label"] == 1
    assert "decompose" not in world.asked


def test_how_certain_nli_must_be_is_the_users_choice(
    run: Run, world: World, tmp_path: Path
) -> None:
    folder = make_nli_model(tmp_path / "small-nli")
    assert "json(scripted) 3" in run(f"{folder},certain=1").stdout
