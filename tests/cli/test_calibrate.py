"""``conflictscore calibrate`` as a user types it, against a loopback server."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from conflictscore.cli import OneLineErrors
from conflictscore.cli.calibrate import calibrate
from conflictscore.errors import ConfigurationError
from conflictscore.labelers.calibration import read_calibration
from conflictscore.labelers.nli.labeler import CALIBRATION_FILE, NliLabeler
from tests.fakes.openai_server import Fault, OpenAIServer
from tests.nli_model import make_nli_model
from tests.world import World

Run = Callable[..., Result]
YEARS = {"SUPPORTS": "1871", "CONTRADICTS": "1874", "IRRELEVANT": ""}


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def lamps(tmp_path: Path) -> Path:
    """Claims that the scripted model judges right, and one document a claim that it gets wrong."""
    lines = []
    for n in range(12):
        docs = [{"text": f"Page {n}: {y}", "label": label} for label, y in YEARS.items()]
        docs.append({"text": f"Other page {n}: 1874", "label": "SUPPORTS"})
        lines.append(json.dumps({"claim": f"Lit {n} in 1871.", "split": "train", "docs": docs}))
    path = tmp_path / "lamps_groups.jsonl"
    path.write_text("\n".join(lines))
    return path


@pytest.fixture
def run(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-user")
    program = OneLineErrors("conflictscore", commands={"calibrate": calibrate})
    with OpenAIServer(world, api_key="sk-secret-of-the-user") as server:

        def invoke(*args: str | Path) -> Result:
            endpoint = ["--model", "scripted", "--base-url", server.base_url]
            return CliRunner().invoke(program, ["calibrate", *map(str, args), *endpoint])

        yield invoke


def test_a_calibration_is_written_for_this_labeler_and_model_alone(
    run: Run, lamps: Path, tmp_path: Path
) -> None:
    shown = run("--data", lamps, "--labeler", "choice")

    assert shown.exit_code == 0, shown.stderr
    path = tmp_path / "calibration.json"
    said = json.loads(path.read_text())
    assert (said["labeler"], said["model"]) == ("choice", "scripted")
    prompt = said["prompt_sha256"]
    calibration = read_calibration(path, labeler="choice", model="scripted", prompt_sha256=prompt)
    assert calibration.temperature > 1  # it is always sure, and one label in four is wrong
    assert calibration.fitted_on == "48 pairs of lamps_groups"
    for labeler, model, other in (
        ("nli", "scripted", prompt),
        ("choice", "another", prompt),
        ("choice", "scripted", "0" * 64),
    ):
        with pytest.raises(ConfigurationError, match="was fitted for the"):
            read_calibration(path, labeler=labeler, model=model, prompt_sha256=other)
    assert "temperature" in shown.stdout
    assert re.search(r"0\.\d to .* 75\.0 .*#+\|?#*\.", shown.stdout)
    assert "48 of 48 pairs" in shown.stderr
    assert "failed" not in shown.stderr


def test_what_was_asked_is_not_asked_again(run: Run, lamps: Path, world: World) -> None:
    first, again = (
        run("--data", lamps, "--labeler", "choice", "--bias", "--json", "--quiet") for _ in "12"
    )
    assert world.asked["choice"] == 48
    assert json.loads(first.stdout) == json.loads(again.stdout)
    figures = json.loads(first.stdout)
    assert figures["held_out"]["n"] == 48
    assert figures["held_out"]["before"]["accuracy"] == 0.75
    assert set(figures["fitted"]["calibration"]["bias"]) == {"SUPPORTS", "CONTRADICTS"}


def test_the_nli_labeler_takes_up_what_was_fitted_for_it_and_no_other_model(
    run: Run, world: World, tmp_path: Path
) -> None:
    folder = make_nli_model(tmp_path / "small-nli")
    other = make_nli_model(tmp_path / "other-nli", order=("neutral", "entailment", "contradiction"))
    pairs = tmp_path / "piers_pairs.jsonl"
    with pairs.open("w") as lines:
        for year in ("1871", "1874", "1900", "1902"):
            for lit in ("lit", "not lit", "built"):
                label = {"lit": "SUPPORTS", "not lit": "CONTRADICTS"}.get(lit, "IRRELEVANT")
                text = f"The lamp was {lit} in {year}." if lit != "built" else "The fog is white."
                pair = {"claim": f"The lamp was lit in {year}.", "document": text, "label": label}
                lines.write(json.dumps(pair) + "\n")

    nli = ("--labeler", f"nli:model={folder}")
    shown = run("--data", pairs, *nli, "--out", folder / CALIBRATION_FILE)

    assert shown.exit_code == 0, shown.stderr
    assert not world.asked
    assert "Calibration of nli(small-nli)" in shown.stdout
    assert NliLabeler.open(folder).calibration.fitted_on == "12 pairs of piers_pairs"
    shutil.copy(folder / CALIBRATION_FILE, other)
    with pytest.raises(ConfigurationError, match="was fitted for the model"):
        NliLabeler.open(other)
    of_other = ("--labeler", f"nli:model={other}", "--out", other / CALIBRATION_FILE)
    assert run("--data", pairs, *of_other).exit_code == 0
    assert NliLabeler.open(other).calibration.fitted_on == "12 pairs of piers_pairs"


def test_a_sample_has_as_many_of_each_label(run: Run, lamps: Path) -> None:
    shown = run("--data", lamps, "--labeler", "choice", "--sample", "30", "--split", "train")
    assert "30 of 30 pairs" in shown.stderr


def test_pairs_that_fail_are_left_out_and_counted(run: Run, lamps: Path, world: World) -> None:
    world.broken["choice"] = Fault(status=400)
    shown = run("--data", lamps, "--labeler", "choice")
    assert shown.exit_code == 1
    assert "48 of 48 pairs, 48 failed" in shown.stderr
    assert "choice(scripted) failed on every pair, on the first because: " in shown.stderr
    assert "HTTP 400" in shown.stderr


def test_a_key_that_is_refused_is_one_line(
    run: Run, lamps: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-another")
    shown = run("--data", lamps, "--labeler", "choice", "--quiet")
    assert shown.exit_code != 0
    assert "OPENAI_API_KEY" in shown.stderr
    assert shown.stderr.count("\n") == 1
    assert "sk-another" not in shown.output


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["--labeler", "json"], "json(scripted) gives no probabilities; use --labeler choice"),
        (["--labeler", "choice", "--split", "x"], "no labelled pair of the split 'x'"),
        (["--labeler", "choice", "--data", "lamps_groups.jsonl"] * 2, "it is given twice"),
        (["--labeler", "nli:calibration=c.json"], "this command makes the calibration"),
        (["--labeler", "choice", "--out", "a/b"], "--out a/b: the folder a does not exist"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line_and_costs_nothing(
    run: Run, lamps: Path, world: World, args: list[str], complaint: str
) -> None:
    shown = run("--data", lamps, *args)
    assert shown.exit_code == 2
    assert complaint in shown.stderr
    assert shown.stderr.count("\n") == 1
    assert not world.asked
