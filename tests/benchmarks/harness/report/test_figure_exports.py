"""The figures of runs as CSV and LaTeX."""

import csv
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from conflictscore.benchmarks.harness.report.figure_exports import export_figures
from conflictscore.errors import InputError
from tests.benchmarks.harness.report.lamps import HOSTILE, choice, run


@cache
def runs() -> list[Any]:
    return [run("run_one", [choice("a", 1, 0), choice("b", 0, 1), choice("c", 0, None)])]


def test_a_cell_of_a_table_is_a_row_of_the_csv(tmp_path: Path) -> None:
    out = tmp_path / "figures.csv"
    count = export_figures(runs(), out)
    with out.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len({row["table"] for row in rows}) <= count
    found = {(row["table"], row["row"], row["column"]): row["value"] for row in rows}
    assert found["Accuracy", "rag", "%"] == "66.7"
    assert found["Accuracy", "rag", "paper %"] == "84.21"
    pairs = "Against control-rag, question by question: accuracy"
    assert {"corrected", "harmed", "p", "Holm"} <= {c for t, _, c in found if t == pairs}


@pytest.mark.parametrize("suffix", [".csv", ".tex"])
def test_hostile_names_are_neither_formulas_nor_commands(tmp_path: Path, suffix: str) -> None:
    names = ["=1+1", "\\input{/etc/passwd}", HOSTILE]
    out = tmp_path / f"figures{suffix}"
    export_figures([run(name, [choice("a", 1, 0)]) for name in names], out)
    text = out.read_text("utf-8")
    assert suffix == ".csv" or "\\input{" not in text
    assert suffix == ".tex" or not any(line.startswith("=") for line in text.splitlines())


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX on this machine")
def test_latex_takes_the_tables(tmp_path: Path) -> None:
    export_figures(runs(), tmp_path / "figures.tex")
    document = "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\\input{figures}"
    (tmp_path / "main.tex").write_text(document + "\\end{document}")
    made = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "main"], cwd=tmp_path
    )
    assert made.returncode == 0


def test_tables_are_whole_in_latex(tmp_path: Path) -> None:
    out = tmp_path / "figures.tex"
    count = export_figures(runs(), out)
    text = out.read_text()
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == count
    assert r"run\_one: Accuracy" in text
    for table in text.split(r"\toprule")[1:]:
        rows = [line for line in table.partition(r"\bottomrule")[0].splitlines() if "&" in line]
        assert len({row.count("&") - row.count(r"\&") for row in rows}) == 1


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.csv or \.tex"):
        export_figures(runs(), tmp_path / "figures.pdf")
