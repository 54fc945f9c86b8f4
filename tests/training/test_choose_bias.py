"""How readily a side is taken: chosen on some claims, measured on the others."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from training import choose_bias
from training.choose_bias import Chosen, choose, main, shifted
from training.figures import verdicts
from training.pairs import LABELS, Pair

ROWS = {
    "SUPPORTS": (0.2, 0.1, 0.7),
    "CONTRADICTS": (0.1, 0.4, 0.5),
    "IRRELEVANT": (0.05, 0.05, 0.9),
}
"""A model that takes sides too seldom."""


def pairs() -> list[Pair]:
    return [
        Pair(f"Claim {number}.", f"A document, {label}.", label, source, "people")
        for source in ("toy", "ramdocs_questions")
        for number in range(40)
        for label in LABELS
    ]


def windows() -> np.ndarray:
    return np.array([ROWS[pair.label] for pair in pairs()])


def test_a_bias_of_nothing_changes_nothing() -> None:
    np.testing.assert_allclose(shifted(windows(), Chosen(0.0, 0.0)), windows())


def test_a_bias_is_what_is_added_to_the_logits() -> None:
    said = shifted(np.array([[0.2, 0.3, 0.5]]), Chosen(1.0, -0.5))
    expected = np.add(np.log([0.2, 0.3, 0.5]), [1.0, -0.5, 0.0])
    np.testing.assert_allclose(np.log(said[0]) - np.log(said[0, 2]), expected - expected[2])


def test_a_model_that_takes_sides_too_seldom_is_set_right() -> None:
    owner = np.arange(len(pairs()))
    bias = choose(windows(), owner, pairs())
    given = verdicts(shifted(windows(), bias), owner, len(pairs()))
    assert [LABELS[place] for place in given] == [pair.label for pair in pairs()]
    assert bias.supports > 1.2, "no less tells them apart"
    assert bias.contradicts > 0.2


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(choose_bias, "measured_on", lambda _: pairs())
    path = tmp_path / "windows.npz"
    np.savez(path, probabilities=windows(), owner=np.arange(len(pairs())))
    return path


def test_figures_without_and_with_the_bias_are_printed_for_both_parts(kept: Path) -> None:
    result = CliRunner().invoke(main, ["--data", str(kept.parent), "--windows", str(kept)])
    assert result.exit_code == 0, result.output
    first, *rows = result.output.splitlines()
    assert first.startswith("--supports 1.")
    assert "| people's | others | none | 0.333 | 0.167 | 0.000 |" in rows
    assert "| answers | others | chosen | 1.000 | 1.000 | 1.000 |" in rows


def test_of_several_models_the_one_that_is_worth_more_is_chosen(kept: Path) -> None:
    blind = kept.with_name("blind.npz")
    np.savez(blind, probabilities=windows()[::-1], owner=np.arange(len(pairs())))
    told = ["--data", str(kept.parent), "--windows", str(blind), "--windows", str(kept)]
    result = CliRunner().invoke(main, told)
    assert result.exit_code == 0, result.output
    first, second, best, *rows = result.output.splitlines()
    assert first.startswith(f"{blind}: --supports ")
    assert second.startswith(f"{kept}: --supports 1.")
    assert second.endswith("(mean 1.0000)")
    assert best == f"best: {kept}"
    assert "| answers | others | chosen | 1.000 | 1.000 | 1.000 |" in rows


def test_windows_of_other_data_are_refused(kept: Path) -> None:
    np.savez(kept, probabilities=windows()[:3], owner=np.arange(3))
    result = CliRunner().invoke(main, ["--data", str(kept.parent), "--windows", str(kept)])
    assert result.exit_code == 1
    assert "windows of other data" in result.output
