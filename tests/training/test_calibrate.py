"""Fitting recovers a known temperature."""

import json
import random
from math import exp, log
from pathlib import Path

import pytest
from click.testing import CliRunner

from conflictscore.benchmarks.conflict_detection.reliability import calibration_error
from conflictscore.labelers.calibration import Calibration
from conflictscore.labelers.nli.labeler import CALIBRATION_FILE, NliLabeler
from conflictscore.labelers.nli.model import NliModel
from conflictscore.records import Label
from tests.nli_model import make_nli_model
from training.calibrate import Scored, fit_temperature, main

_LABELS = (Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT)


def said_by(temperature: float, count: int) -> list[Scored]:
    """Pairs whose labels are drawn with the probabilities at a temperature."""
    true, rng = Calibration(temperature=temperature, fitted_on="made"), random.Random(0)
    found = list[Scored]()
    for _ in range(count):
        weights = [exp(rng.gauss(0, 1.5)) for _ in _LABELS]
        logprobs = {k: log(w / sum(weights)) for k, w in zip(_LABELS, weights, strict=True)}
        probabilities = true.probabilities(logprobs)
        [gold] = rng.choices(_LABELS, [probabilities[label] for label in _LABELS])
        found.append((gold, logprobs))
    return found


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_the_temperature_that_was_put_in_is_found(temperature: float) -> None:
    assert fit_temperature(said_by(temperature, 4000)) == pytest.approx(temperature, rel=0.1)


def test_calibration_error_is_how_far_confidence_is_from_being_right() -> None:
    assert calibration_error([(0.95, True)] * 19 + [(0.95, False)]) == pytest.approx(0)
    assert calibration_error([(0.9, True), (0.9, False)]) == pytest.approx(0.4)
    assert calibration_error([(1.0, True), (0.5, False)]) == pytest.approx(0.25)


def test_a_labeler_that_is_always_right_gets_a_finite_temperature() -> None:
    sure = {Label.SUPPORTS: -0.1, Label.CONTRADICTS: -3.0, Label.IRRELEVANT: -3.0}
    assert 0.04 < fit_temperature([(Label.SUPPORTS, sure)]) <= 1


def test_the_file_is_the_one_that_the_labeler_reads(tmp_path: Path) -> None:
    folder = make_nli_model(tmp_path)
    docs = [{"text": "It was lit in 1871.", "label": "SUPPORTS"}, {"text": "No.", "label": "MIXED"}]
    groups = tmp_path / "lamps.jsonl"
    groups.write_text(json.dumps({"id": "1", "claim": "It was lit in 1871.", "docs": docs}))
    out = tmp_path / CALIBRATION_FILE
    done = CliRunner().invoke(main, [str(groups), "--model", str(folder), "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert done.stdout.count("expected calibration error") == 2
    used = NliLabeler(NliModel(folder)).calibration
    assert used.fitted_on == "1 pairs of lamps"
