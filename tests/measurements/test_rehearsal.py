"""A whole study without a paid model: the report finds the planted effect, and nothing else."""

from dataclasses import replace
from pathlib import Path

import pytest

from conflictscore.benchmarks.harness.definition import Form
from measurements.rehearsal import FORMS, play
from measurements.rehearsal_world import World
from tests.benchmarks.truthfulqa.files import row, write_csv

DISPUTED = World(questions=24, pages=4, true=0.5, misconception=0.5, seeds=2)
"""Half of a question's pages state it, and half state the opposite."""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    questions = [
        row(
            f"When was lamp {n} lit?",
            **{
                "Best Answer": f"Lamp {n} was lit in 1874",
                "Best Incorrect Answer": f"Lamp {n} was lit in 1871",
                "Correct Answers": f"Lamp {n} was lit in 1874; In 1874, lamp {n} was lit",
                "Incorrect Answers": f"Lamp {n} was lit in 1871; Lamp {n} was never lit",
            },
        )
        for n in range(30)
    ]
    write_csv(tmp_path / "TruthfulQA.csv", questions)
    return tmp_path / "TruthfulQA.csv"


def test_a_planted_gain_is_found_with_its_interval(data: Path, tmp_path: Path) -> None:
    harmful = replace(DISPUTED, corrected=0.0, harmed=0.7)
    played, study, runs = play(data, "multiple-choice", harmful, 0, tmp_path / "out")
    assert played.holds("gain")
    assert played.planted["gain"] == pytest.approx(-0.7 * 0.8421 * (1 - 2 * 0.5**4))
    assert played.p_holm is not None
    assert played.p_holm < 0.05
    assert played.holds("harm")
    assert (study.runs, study.in_all) == (("seed-0", "seed-1"), 24)
    assert all(run.figures.ended == 24 for run in runs)


@pytest.mark.parametrize("form", FORMS)
def test_nothing_is_found_where_nothing_was_planted(form: Form, data: Path, tmp_path: Path) -> None:
    even = replace(DISPUTED, corrected=0.0, harmed=0.0, noise=0.1)
    played, study, _ = play(data, form, even, 0, tmp_path / "out")
    assert played.planted["gain"] == 0
    assert played.p_value == 1
    pooled = {(pair.method, pair.against): pair for pair in study.pairs}
    assert all((pair.p_holm or 1) > 0.05 for pair in pooled.values())
    if form == "free-form":
        # two judgements with an error rate of one in ten differ in eighteen of a hundred cases
        noise = study.noise[0].answers
        assert noise.low is not None
        assert noise.high is not None
        assert noise.low <= 2 * 0.1 * 0.9 <= noise.high
