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
    docs = [{"text": f"Page {n}: 1871", "label": "SUPPORTS"} for n in range(2)]
    claims = [{"id": str(n), "claim": f"Lit {n} in 1871.", "docs": docs} for n in range(8)]
    Path("lamps_groups.jsonl").write_text("\n".join(map(json.dumps, claims)))
    Path("lamp.txt").write_text(LAMP)
    with OpenAIServer(world) as server:

        def invoke(*args: str) -> Result:
            endpoint = ["--model", "scripted", "--base-url", server.base_url]
            return CliRunner().invoke(main, [*args, *endpoint])

        yield invoke


def test_what_calibrate_wrote_is_what_the_scores_are_made_with(run: Run) -> None:
    made = run("calibrate", "--data", "lamps_groups.jsonl", "--labeler", "choice")
    assert made.exit_code == 0, made.stderr
    fitted = json.loads(Path("calibration.json").read_text())

    score = ["score", "--answer", LAMP, "--docs", "lamp.txt", "--json", "--labeler"]
    plain = run(*score, "choice")
    calibrated = run(*score, "choice:calibration=calibration.json")
    assert calibrated.exit_code == 0, calibrated.stderr
    before, after = (
        json.loads(shown.stdout)["report"]["claims"][0]["labels"][0]["score"]
        for shown in (plain, calibrated)
    )
    assert fitted["calibration"]["temperature"] != 1
    assert before != after


def test_a_calibration_of_other_templates_is_refused(run: Run) -> None:
    run("calibrate", "--data", "lamps_groups.jsonl", "--labeler", "choice")
    Path("mine").mkdir()
    Path("mine/label_rules.txt").write_text("Judge kindly.")
    options = ["--labeler", "choice:calibration=calibration.json", "--prompts", "mine"]
    refused = run("score", "--answer", LAMP, "--docs", "lamp.txt", *options)
    assert refused.exit_code == 2
    assert "calibration.json was fitted for the prompt " in refused.stderr


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
        (["--labeler", "choice:unquoted=again"], "the options of choice are calibration=…"),
        (["--labeler", "json:unquoted=never"], "unknown unquoted 'never'; one of keep"),
        (["--labeler", "matrix:calibration=c.json"], "the options of matrix are none"),
        (["--labeler", "cascade:certain=often"], "certain is 'often'; give 0 to 1"),
        (["--labeler", "jsn"], "labeler is 'jsn'; give one of json, choice"),
    ],
)
def test_an_option_of_another_labeler_is_refused(run: Run, options: list[str], told: str) -> None:
    refused = run("score", "--answer", LAMP, "--docs", "lamp.txt", *options)
    assert refused.exit_code == 2
    assert told in refused.stderr
