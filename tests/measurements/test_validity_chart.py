"""The chart of what is left of a difference when labels are wrong."""

from pathlib import Path

from click.testing import CliRunner

from conflictscore.benchmarks.validity.label_noise import noise_figures
from conflictscore.benchmarks.validity.validity_cards import ValidityFigures
from measurements.validity_chart import main
from tests.benchmarks.conflict_detection.claims import C, N, S, claim_group, judged


def test_every_way_of_labelling_with_errors_is_a_point(tmp_path: Path) -> None:
    groups = [
        judged(claim_group(str(number), (S, (C, N)[number % 2])), (S, (C, N)[number % 3 > 0]))
        for number in range(24)
    ]
    figures = ValidityFigures(labeler="nli", noise=(noise_figures("lamps", groups),))
    (tmp_path / "figures.json").write_text(figures.model_dump_json(), "utf-8")
    ran = CliRunner().invoke(main, [str(tmp_path / "figures.json"), str(tmp_path / "chart.svg")])
    assert ran.exit_code == 0, ran.output
    drawn = (tmp_path / "chart.svg").read_text("utf-8")
    assert drawn.count("<circle") == 5, "people's own labels are not drawn"
    assert ">lamps, labeler<" in drawn
