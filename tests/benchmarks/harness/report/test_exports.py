"""Answers as tables, and figures as CSV and LaTeX."""

import csv
import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from conflictscore.benchmarks.harness.records import MethodResult, Question
from conflictscore.benchmarks.harness.report.exports import export_answers, export_figures
from conflictscore.errors import InputError
from conflictscore.records import Usage
from tests.benchmarks.harness.report.lamps import HOSTILE, choice, free, graded, run


@cache
def runs() -> list[Any]:
    return [
        run("run_one", [choice("a", 1, 0), choice("b", 0, 1, refused=True), choice("c", 0, None)]),
        run("run two", [free("a", ("It was 1871.", False), ("It was 1874.", None))]),
    ]


def as_csv(out: Path) -> list[dict[str, str]]:
    with out.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def answers(folder: Path, given: list[Any]) -> list[dict[str, Any]]:
    """The rows of the table, which are equal in both formats."""
    for suffix in (".csv", ".jsonl"):
        export_answers(given, folder / f"answers{suffix}")
    rows = [json.loads(line) for line in (folder / "answers.jsonl").read_text("utf-8").splitlines()]

    def cell(value: Any) -> str:
        if isinstance(value, list):
            return json.dumps(value, ensure_ascii=False)
        return "" if value is None else str(value)

    assert [{name: cell(value) for name, value in row.items()} for row in rows] == [
        {name: value.removeprefix("'") for name, value in row.items()}
        for row in as_csv(folder / "answers.csv")
    ]
    return rows


def row(rows: list[Any], of: str, name: str, method: str) -> Any:
    (found,) = [r for r in rows if (r["run"], r["id"], r["method"]) == (of, name, method)]
    return found


def test_there_is_a_row_for_each_question_and_method_of_each_run(tmp_path: Path) -> None:
    rows = answers(tmp_path, runs())
    methods = sum(len(result.methods) for run in runs() for result in run.results)
    assert len({(r["run"], r["id"], r["method"]) for r in rows}) == len(rows) == methods

    corrected = row(rows, "run_one", "a", "regenerated-rag")
    assert corrected["question"] == "When was the lamp of a lit?"
    assert corrected["options"] == ["It was lit in 1874.", "It was lit in 1871."]
    assert (corrected["gold"], corrected["option"], corrected["accuracy"]) == (0, 0, True)
    assert (corrected["flipped"], corrected["kind"]) == (True, "correction")
    assert (corrected["cs_c"], corrected["cs_r"], corrected["coverage"]) == (0, 0, 1)
    assert (corrected["step"], corrected["calls"], corrected["seconds"]) == ("loop", 5, 2.5)

    refused = row(rows, "run_one", "b", "guarded-rag")
    assert (refused["flipped"], refused["kind"]) == (False, None)
    assert (refused["guard_accepted"], refused["guard_note"]) == (False, "no better evidence")
    assert row(rows, "run_one", "b", "regenerated-rag")["kind"] == "harm"

    failed = row(rows, "run_one", "c", "regenerated-rag")
    assert failed["error"] == "the model did not answer (503)"
    assert {failed[name] for name in ("answer", "accuracy", "flipped", "kind", "cs_c")} == {None}
    unjudged = row(rows, "run two", "a", "regenerated-rag")
    assert (unjudged["truthful"], unjudged["kind"]) == (None, "unjudged")
    assert unjudged["truthful_error"] == "the judge's reply could not be read"
    assert (unjudged["calls"], unjudged["seconds"]) == (None, None)


def test_a_grade_is_a_number_and_stands_with_the_type_that_was_told(tmp_path: Path) -> None:
    used = Usage(calls=3, input_tokens=500, cache_read_tokens=384, output_tokens=40)
    spent = {"pipeline": {"model-a": used}}
    rows = answers(tmp_path, [run("graded", [graded("a", 0.5, 1.0, usage=spent)])])
    assert "accuracy" not in rows[0]
    again = row(rows, "graded", "a", "regenerated-rag")
    told = (again["recall"], again["recall_explanation"], again["kind"])
    assert told == (1.0, "1 of 2", "correction")
    assert (again["conflict_type"], again["predicted_type"]) == ("outdated", None)
    other = row(rows, "graded", "a", "pipeline")
    assert (other["predicted_type"], other["step"], other["calls"]) == (
        *("misinformation", "pipeline", 3),
    )
    assert (other["input_tokens"], other["cache_read_tokens"]) == (500, 384)


@pytest.mark.parametrize("start", [*"=+-@\t\r\n\uff1d\uff0d", "\u200b=", "\u202f\u200c\u200d="])
def test_no_spreadsheet_takes_a_text_for_a_formula(tmp_path: Path, start: str) -> None:
    text = f'{start}HYPERLINK("http://evil.test";"click, here")'
    rows = answers(tmp_path, [run("run", [free("a", (text, True), (text, True))])])
    assert row(rows, "run", "a", "rag")["answer"] == text
    assert row(as_csv(tmp_path / "answers.csv"), "run", "a", "rag")["answer"] == f"'{text}"


def test_a_carriage_return_in_a_text_ends_no_row(tmp_path: Path) -> None:
    out = tmp_path / "answers.csv"
    export_answers([run("run", [free("a", ("one\rtwo", True), ("one\rtwo", True))])], out)
    assert b',"one\rtwo",' in out.read_bytes()


def test_hostile_texts_are_written(tmp_path: Path) -> None:
    question = Question(id=HOSTILE, question=HOSTILE, options=(HOSTILE, "no"), gold=0)
    answers(tmp_path, [run("run", [choice("a", 0, 1, question=question)])])


def test_a_cell_of_a_table_of_figures_is_a_row_of_the_csv(tmp_path: Path) -> None:
    out = tmp_path / "figures.csv"
    count = export_figures(runs()[:1], out)
    rows = as_csv(out)
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


def test_tables_are_whole_in_latex(tmp_path: Path) -> None:
    out = tmp_path / "figures.tex"
    count = export_figures(runs(), out)
    text = out.read_text()
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == count
    assert r"run\_one: Accuracy" in text
    for table in text.split(r"\toprule")[1:]:
        rows = [line for line in table.partition(r"\bottomrule")[0].splitlines() if "&" in line]
        assert len({row.count("&") - row.count(r"\&") for row in rows}) == 1
    if shutil.which("pdflatex"):
        document = "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\\input{figures}"
        (tmp_path / "main.tex").write_text(document + "\\end{document}")
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "main"]
        assert subprocess.run(command, cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("start", ["[Errno 111] refused", "*refused*"])
def test_no_cell_of_latex_is_taken_for_an_argument_of_the_row_before(
    start: str, tmp_path: Path
) -> None:
    failed = choice("a", 1, 0)
    methods = {**failed.methods, "rag": MethodResult(answer=None, error=start)}
    out = tmp_path / "figures.tex"
    export_figures([run("one", [failed.model_copy(update={"methods": methods})])], out)
    text = out.read_text()
    assert "refused" in text
    assert not any(line.lstrip().startswith(("[", "*")) for line in text.splitlines())


@pytest.mark.parametrize(
    ("out", "told"),
    [
        ("answers.xlsx", r"answers\.xlsx: .*\.csv or \.jsonl"),
        ("absent/answers.csv", r"absent/answers\.csv: cannot be written"),
    ],
)
def test_a_file_that_cannot_be_written_is_named(tmp_path: Path, out: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        export_answers(runs(), tmp_path / out)
    with pytest.raises(InputError, match=r"\.csv or \.tex"):
        export_figures(runs(), tmp_path / "figures.pdf")
