"""Measuring a labeler on pairs that people labelled: resume, failures, calibration."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from measurements import label_accuracy
from measurements.label_accuracy import calibration_error
from tests.fakes.openai_server import Fault, OpenAIServer
from tests.world import World

YEARS = {"SUPPORTS": "It was 1871.", "CONTRADICTS": "It was 1874.", "IRRELEVANT": "It is white."}


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    """Four groups of three documents each, one a label."""
    file = tmp_path / "groups.jsonl"
    group = {"claim": "1871.", "docs": [{"text": t, "label": k} for k, t in YEARS.items()]}
    file.write_text("".join(json.dumps(group | {"id": n}) + "\n" for n in range(4)))
    return file


def _measure(pairs: Path, server: OpenAIServer, *more: str) -> Result:
    out = str(pairs.with_name("rows.jsonl"))
    endpoint = ["--model", "m", "--base-url", server.base_url]
    return CliRunner().invoke(
        label_accuracy.main, [str(pairs), *endpoint, "--out", out, "--pairs", "6", *more]
    )


@pytest.mark.parametrize("labeler", ["json", "choice"])
def test_a_labeler_that_is_always_right_scores_one(pairs: Path, labeler: str) -> None:
    with OpenAIServer(World()) as server:
        shown = _measure(pairs, server, "--labeler", labeler)

    assert shown.exit_code == 0, shown.output
    assert "6 pairs, accuracy 1.000, macro-F1 1.000" in shown.stdout
    assert "6 pairs, 6 calls" in shown.stdout


def test_the_same_command_goes_on_after_a_kill_without_paying_twice(pairs: Path) -> None:
    world = World()
    with OpenAIServer(world) as server:
        _measure(pairs, server)
        rows = pairs.with_name("rows.jsonl")
        lines = rows.read_text().splitlines(keepends=True)
        rows.write_text("".join(lines[:4]) + lines[4][:20])
        shown = _measure(pairs, server)

    assert world.asked["choice"] == 6 + 2
    assert "6 pairs, accuracy 1.000" in shown.stdout
    assert len(rows.read_text().splitlines()) == 6


def test_a_pair_that_failed_counts_as_wrong(pairs: Path) -> None:
    world = World(broken={"label": Fault(status=400)})
    with OpenAIServer(world) as server:
        shown = _measure(pairs, server, "--labeler", "json")

    assert "accuracy 0.000" in shown.stdout


def test_calibration_error_is_how_far_confidence_is_from_being_right() -> None:
    assert calibration_error([(0.95, True)] * 19 + [(0.95, False)]) == pytest.approx(0)
    assert calibration_error([(0.9, True), (0.9, False)]) == pytest.approx(0.4)
    assert calibration_error([(1.0, True), (0.5, False)]) == pytest.approx(0.25)
