"""A run's figures are recomputed from its folder by independent code."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from measurements.recompute import main
from tests.benchmarks.harness.quiz import RIGHT, WRONG, Quiz, lamps, run_quiz
from tests.fakes.openai_server import Fault

METHODS = ("rag", "control-rag", "regenerated-rag", "guarded-rag")


@pytest.mark.parametrize("free_form", [False, True])
async def test_every_figure_is_found_again_and_a_changed_one_is_named(
    tmp_path: Path, *, free_form: bool
) -> None:
    quiz = Quiz(
        first={1: RIGHT, 5: RIGHT},
        second={1: WRONG, 2: WRONG},
        failing={("regenerate", 3): Fault(status=500, message="out of order")},
    )
    methods = (*METHODS, "pipeline") if free_form else METHODS
    await run_quiz(tmp_path / "run", quiz, lamps(7, free_form=free_form), methods=methods)

    result = CliRunner().invoke(main, [str(tmp_path / "run")])
    assert result.exit_code == 0, result.output
    assert "figures recomputed, 0 differ" in result.output

    path = tmp_path / "run" / "figures.json"
    figures = json.loads(path.read_text())
    figures["paired"][1]["harmed"] += 1
    path.write_text(json.dumps(figures))
    result = CliRunner().invoke(main, [str(tmp_path / "run")])
    assert result.exit_code == 1
    assert "paired[1].harmed" in result.output
