"""A run's figures are recomputed from its folder by independent code."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from conflictscore.cli import main as cli
from measurements.recompute import compared, main
from measurements.recompute_run import Run
from measurements.recompute_study import study_figures
from tests.benchmarks.harness.quiz import RIGHT, WRONG, Quiz, lamps, run_quiz
from tests.fakes.openai_server import Fault

METHODS = ("rag", "control-rag", "regenerated-rag", "guarded-rag", "resample", "placebo")
OUT_OF_ORDER = Fault(status=500, message="out of order")


@pytest.mark.parametrize("free_form", [False, True])
async def test_every_figure_is_found_again_and_a_changed_one_is_named(
    tmp_path: Path, *, free_form: bool
) -> None:
    quiz = Quiz(
        first={1: RIGHT, 5: RIGHT},
        second={1: WRONG, 2: WRONG},
        failing={("regenerate", 3): OUT_OF_ORDER, ("generate", 6): OUT_OF_ORDER},
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


async def test_a_study_is_found_again_from_the_folders_of_its_runs(tmp_path: Path) -> None:
    quizzes = {
        "a": Quiz(first={1: RIGHT}, second={1: WRONG}, failing={("regenerate", 3): OUT_OF_ORDER}),
        "b": Quiz(first={1: RIGHT, 2: RIGHT}, second={0: WRONG, 1: WRONG}),
    }
    for name, quiz in quizzes.items():
        await run_quiz(tmp_path / name, quiz, lamps(5), methods=(*METHODS[:3], "placebo"))
    folders = [str(tmp_path / name) for name in quizzes]
    shown = CliRunner().invoke(cli, ["report", *folders, "--json"])
    study = tmp_path / "study.json"
    study.write_text(shown.stdout)

    result = CliRunner().invoke(main, [*folders, "--study", str(study)])
    assert result.exit_code == 0, result.output
    assert result.output.count(" 0 differ") == 3

    [reported] = json.loads(shown.stdout)
    reported["transitions"][1]["harmed"]["value"] += 0.1
    recomputed = study_figures({name: Run(tmp_path / name) for name in quizzes}, reported)
    differing = [where for where, is_same in compared(recomputed, reported) if not is_same]
    assert differing == ["transitions[1].harmed.value"]
