"""``--labeler NAME:OPTION=VALUE`` as a user types it."""

import json
from functools import partial
from pathlib import Path
from typing import get_args

import click
import pytest
from click.testing import Result

from conflictscore.cli.options import with_model_choice
from conflictscore.labelers import LABELERS, LabelerName
from tests.cli.conftest import Run
from tests.nli_model import make_nli_model
from tests.world import World

LAMP = "The lamp was lit in 1871."


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("docs").mkdir()
    texts = {"a": "The lamp was lit in 1874.", "b": "Bananas ripen.", "c": LAMP}
    for name, text in texts.items():
        Path(f"docs/{name}.txt").write_text(text)
    make_nli_model(tmp_path / "small-nli")


@pytest.fixture
def score(run: Run) -> Run:
    return partial(run, "score", "--details", "--answer", LAMP, "--docs", "docs", "--labeler")


def pairs(outcome: Result) -> list[tuple[str | None, str]]:
    """Stage and label of each pair of the one claim."""
    assert outcome.exit_code == 0, outcome.output
    [claim] = json.loads(outcome.stdout)["report"]["claims"]
    return [(pair["stage"], pair["label"]) for pair in claim["labels"]]


def test_every_labeler_can_be_named() -> None:
    command = click.command()(with_model_choice(lambda: None))
    [option] = [parameter for parameter in command.params if parameter.name == "labeler"]
    assert tuple(LABELERS) == get_args(LabelerName)
    assert isinstance(option, click.Option)
    assert all(f"{name}: {kind.summary}" in str(option.help) for name, kind in LABELERS.items())


def test_of_a_cascade_every_verdict_says_which_stage_decided_it(score: Run, world: World) -> None:
    assert pairs(score("cascade:model=small-nli", "--json")) == [
        ("json(scripted)", "CONTRADICTS"),
        ("nli(small-nli)", "IRRELEVANT"),
        ("json(scripted)", "SUPPORTS"),
    ]
    assert world.asked["label"] == 2
    shown = score("cascade:model=small-nli").stdout
    assert "pairs decided by: json(scripted) 2, nli(small-nli) 1" in shown
    assert "json(scripted) 3" in score("cascade:model=small-nli,certain=1").stdout


def test_an_nli_model_judges_and_no_judge_is_called(score: Run, world: World) -> None:
    assert [label for _, label in pairs(score("nli:model=small-nli", "--json"))][-1] == "SUPPORTS"
    assert world.asked["decompose"] > 0
    assert world.asked["label"] == world.asked["choice"] == world.asked["batch"] == 0


@pytest.mark.parametrize(
    ("labeler", "told"),
    [
        ("json:unquoted=again", "the options of json are none"),
        ("nli:model=nowhere", "there is no NLI model nowhere"),
    ],
)
def test_a_wrong_labeler_or_option_is_one_line(
    score: Run, world: World, labeler: str, told: str
) -> None:
    refused = score(labeler)
    assert refused.exit_code == 2
    [line] = refused.stderr.splitlines()
    assert told in line
    assert not world.asked


def test_what_was_searched_for_further_is_shown_step_by_step_and_in_json_and_log(run: Run) -> None:
    ask = partial(run, "ask", "When?", "--details", "--docs", "docs")
    further = ("--set", "look_further=disputed")
    lines = [" ".join(line.split()) for line in ask(*further).stdout.splitlines()]
    came = "“lamp diary 1871”: already known 1, 2, 3"
    assert lines[lines.index("Further searches") + 1] == came
    assert "Further searches" not in ask().stdout
    printed = json.loads(ask(*further, "--json", "--log", "runs.jsonl").stdout)
    logged = json.loads(Path("runs.jsonl").read_text())
    for told in (printed, logged):
        assert [search["known"] for search in told["searches"]] == [[1, 2, 3]] * 2
    assert logged["settings"]["look_further"] == "disputed"
