"""The answers of runs as a table."""

import csv
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from conflictscore.benchmarks.harness.records import Question
from conflictscore.benchmarks.harness.report.exports import export_table
from conflictscore.errors import InputError
from conflictscore.records import Usage
from tests.benchmarks.harness.report.lamps import HOSTILE, choice, free, graded, run


@cache
def runs() -> list[Any]:
    return [
        run("run one", [choice("a", 1, 0), choice("b", 0, 1, refused=True), choice("c", 0, None)]),
        run("run two", [free("a", ("It was 1871.", False), ("It was 1874.", None))]),
    ]


def as_csv(out: Path) -> list[dict[str, str]]:
    with out.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def as_lines(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.read_text("utf-8").splitlines()]


def row(rows: list[Any], of: str, name: str, method: str) -> Any:
    (found,) = [r for r in rows if (r["run"], r["id"], r["method"]) == (of, name, method)]
    return found


def test_there_is_a_row_for_each_question_and_method_of_each_run(tmp_path: Path) -> None:
    out = tmp_path / "answers.jsonl"
    assert export_table(runs(), out) == 3 * 6 + 2
    rows = as_lines(out)
    assert len({(r["run"], r["id"], r["method"]) for r in rows}) == 20

    corrected = row(rows, "run one", "a", "regenerated-rag")
    assert corrected["question"] == "When was the lamp of a lit?"
    assert corrected["options"] == ["It was lit in 1874.", "It was lit in 1871."]
    assert (corrected["gold"], corrected["option"], corrected["accuracy"]) == (0, 0, True)
    assert (corrected["flipped"], corrected["kind"]) == (True, "correction")
    assert (corrected["cs_c"], corrected["cs_r"], corrected["coverage"]) == (0, 0, 1)
    assert (corrected["step"], corrected["calls"], corrected["seconds"]) == ("loop", 5, 2.5)

    refused = row(rows, "run one", "b", "guarded-rag")
    assert (refused["flipped"], refused["kind"]) == (False, None)
    assert (refused["guard_accepted"], refused["guard_note"]) == (False, "no better evidence")
    assert row(rows, "run one", "b", "regenerated-rag")["kind"] == "harm"
    assert row(rows, "run one", "a", "placebo")["donor"] == "another lamp"
    assert row(rows, "run one", "a", "rag")["donor"] is None


def test_what_is_not_known_stays_unknown(tmp_path: Path) -> None:
    out = tmp_path / "answers.jsonl"
    export_table(runs(), out)
    failed = row(as_lines(out), "run one", "c", "regenerated-rag")
    assert failed["error"] == "the model did not answer (503)"
    assert [failed[name] for name in ("answer", "accuracy", "flipped", "kind", "cs_c")] == [
        None
    ] * 5
    unjudged = row(as_lines(out), "run two", "a", "regenerated-rag")
    assert (unjudged["truthful"], unjudged["kind"]) == (None, "unjudged")
    assert unjudged["truthful_error"] == "the judge's reply could not be read"
    assert (unjudged["calls"], unjudged["seconds"]) == (None, None)


def test_all_formats_hold_the_same(tmp_path: Path) -> None:
    for suffix in (".csv", ".jsonl"):
        export_table(runs(), tmp_path / f"answers{suffix}")
    lines = as_lines(tmp_path / "answers.jsonl")

    def cell(value: Any) -> str:
        if isinstance(value, list):
            return json.dumps(value)
        return "" if value is None else str(value)

    assert as_csv(tmp_path / "answers.csv") == [
        {name: cell(value) for name, value in line.items()} for line in lines
    ]


def test_a_grade_is_a_number_and_a_method_stands_with_its_step_and_the_type_that_it_told(
    tmp_path: Path,
) -> None:
    used = Usage(calls=3, input_tokens=500, cache_read_tokens=384, output_tokens=40)
    spent = {"typed-rag": {"model-a": used}}
    results = [graded("a", 0.5, 1.0, usage=spent), graded("b", None, 0.25, told=None)]
    for suffix in (".csv", ".jsonl"):
        assert export_table([run("graded", results)], tmp_path / f"answers{suffix}") == 8
    rows = as_lines(tmp_path / "answers.jsonl")
    assert "accuracy" not in rows[0]
    typed = row(rows, "graded", "a", "typed-rag")
    assert (typed["recall"], typed["recall_explanation"], typed["kind"]) == (
        1.0,
        "1 of 2",
        "correction",
    )
    assert (typed["step"], typed["calls"]) == ("typed-rag", 3)
    assert (typed["input_tokens"], typed["cache_read_tokens"]) == (500, 384)
    assert (typed["conflict_type"], typed["predicted_type"]) == ("outdated", "outdated")
    assert row(rows, "graded", "a", "pipeline")["predicted_type"] == "misinformation"
    assert row(rows, "graded", "a", "rag")["predicted_type"] is None
    assert row(rows, "graded", "b", "typed-rag")["predicted_type"] is None
    assert row(rows, "graded", "b", "rag")["recall"] is None
    assert row(as_csv(tmp_path / "answers.csv"), "graded", "a", "rag")["recall"] == "0.5"


@pytest.mark.parametrize("start", [*"=+-@\t\r\n\uff1d\uff0d", "\u200b="])
def test_no_spreadsheet_takes_a_text_for_a_formula(tmp_path: Path, start: str) -> None:
    text = f'{start}HYPERLINK("http://evil.test";"click, here")'
    out = tmp_path / "answers.csv"
    export_table([run("run", [free("a", (text, True), (text, True))])], out)
    assert row(as_csv(out), "run", "a", "rag")["answer"] == f"'{text}"
    out = tmp_path / "answers.jsonl"
    export_table([run("run", [free("a", (text, True), (text, True))])], out)
    assert row(as_lines(out), "run", "a", "rag")["answer"] == text


def test_a_carriage_return_in_a_text_ends_no_row(tmp_path: Path) -> None:
    out = tmp_path / "answers.csv"
    export_table([run("run", [free("a", ("one\rtwo", True), ("one\rtwo", True))])], out)
    assert b',"one\rtwo",' in out.read_bytes()


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_hostile_texts_are_written(tmp_path: Path, suffix: str) -> None:
    question = Question(id=HOSTILE, question=HOSTILE, options=(HOSTILE, "no"), gold=0)
    out = tmp_path / f"answers{suffix}"
    assert export_table([run(HOSTILE, [choice("a", 0, 1, question=question)])], out) == 6


def test_another_ending_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"answers\.xlsx: .*\.csv, \.jsonl"):
        export_table(runs(), tmp_path / "answers.xlsx")


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    out = tmp_path / "absent" / "answers.csv"
    with pytest.raises(InputError, match=r"absent/answers\.csv: cannot be written"):
        export_table(runs(), out)
