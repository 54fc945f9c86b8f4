"""Parquet in and out, through pyarrow."""

import json
import re
import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from conflictscore.errors import ConfigurationError, InputError, install_hint
from conflictscore.scoring_files.parquet import ParquetOutput, ParquetRows
from conflictscore.scoring_files.rows import Columns
from conflictscore.scoring_files.scoring import open_source
from tests.scoring_files.files import answer_row, lines, outcomes, score, write_lines

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def write_parquet(path: Path, rows: list[dict[str, Any]], group: int = 5) -> Path:
    parquet.write_table(arrow.Table.from_pylist(rows), path, row_group_size=group)
    return path


def typed_rows(number: int) -> list[dict[str, Any]]:
    return [
        {**answer_row(n, 1), "at": NOON, "cost": Decimal("1.20"), "raw": b"\x00\xff", "x": n / 2}
        for n in range(number)
    ]


def test_the_columns_of_a_parquet_file_keep_their_types_and_get_one_more(tmp_path: Path) -> None:
    source = write_parquet(tmp_path / "in.parquet", typed_rows(12))

    summary = score(source, tmp_path / "out.parquet")

    read, written = (parquet.read_table(tmp_path / f"{n}.parquet") for n in ("in", "out"))
    assert (summary.rows, summary.scored, summary.failed) == (12, 12, 0)
    assert written.drop(["conflictscore"]).equals(read)
    added = written.column("conflictscore").to_pylist()
    assert [row["row"] for row in added] == list(range(1, 13))
    for row in added:
        report = json.loads(row["report"])
        assert (row["error"], row["notes"]) == (None, [])
        assert (row["cs_c"], row["cs_r"], row["coverage"]) == (
            report["cs_c"],
            report["cs_r"],
            report["coverage"],
        )
        assert len(report["claims"]) == 2


def test_parquet_and_json_lines_come_to_the_same(tmp_path: Path) -> None:
    rows = [answer_row(n, 1) for n in range(12)]
    sources = (
        write_lines(tmp_path / "a.jsonl", rows),
        write_parquet(tmp_path / "b.parquet", rows),
    )
    for number, source in enumerate(sources):
        for suffix in ("jsonl", "parquet"):
            score(source, tmp_path / f"out{number}.{suffix}")

    assert lines(tmp_path / "out0.jsonl") == lines(tmp_path / "out1.jsonl")
    first, second = (parquet.read_table(tmp_path / f"out{n}.parquet") for n in (0, 1))
    assert first.to_pylist() == second.to_pylist()
    reports = [json.loads(row["conflictscore"]["report"]) for row in first.to_pylist()]
    assert reports == [row["report"] for row in outcomes(tmp_path / "out0.jsonl")]


def test_what_json_does_not_have_is_carried_in_its_place(tmp_path: Path) -> None:
    rows = typed_rows(2)
    rows[1]["x"] = float("nan")
    source = write_parquet(tmp_path / "in.parquet", rows)

    score(source, tmp_path / "out.jsonl")

    first, second = lines(tmp_path / "out.jsonl")
    assert (first["at"], first["cost"], first["raw"]) == (
        "2026-01-02T12:00:00+00:00",
        "1.20",
        "AP8=",
    )
    assert (first["x"], second["x"]) == (0.0, None)


def test_only_the_row_groups_with_wanted_rows_are_read(tmp_path: Path) -> None:
    source = write_parquet(tmp_path / "in.parquet", [answer_row(n, 1) for n in range(17)])
    rows = ParquetRows(source, Columns())

    assert rows.total == 17
    assert [r.number for r in rows.rows(lambda number: number in (6, 17))] == [6, 17]
    assert [r.fields["id"] for r in rows.rows(lambda number: number > 10)] == [
        f"q{n}" for n in range(10, 17)
    ]


def test_rows_that_fail_stand_in_the_parquet_file_and_can_be_scored_again(tmp_path: Path) -> None:
    rows: list[Any] = [answer_row(0, 1), "[1]", answer_row(2, 1) | {"answer": " "}]
    source = write_lines(tmp_path / "in.jsonl", rows)
    out = tmp_path / "out.parquet"

    for retry_failed in (False, True):
        assert score(source, out, retry_failed=retry_failed).failed == 2
        written = parquet.read_table(out).to_pylist()
        assert [row["id"] for row in written] == ["q0", None, "q2"]
        assert [row["conflictscore"]["error"] for row in written] == [
            None,
            "is not an object",
            "field answer: empty",
        ]
        assert written[1]["conflictscore"]["report"] is None


def test_half_a_character_of_a_judge_does_not_cost_the_file(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.jsonl", [answer_row(0, 1), answer_row(1, 1)])
    score(source, tmp_path / "rows.jsonl")
    broken = (tmp_path / "rows.jsonl").read_text().replace("The lamp number 1", "\\ud83d")
    (tmp_path / "rows.jsonl").write_text(broken)

    ParquetOutput(open_source(source)).write(tmp_path / "rows.jsonl", tmp_path / "out.parquet")

    written = parquet.read_table(tmp_path / "out.parquet").column("conflictscore").to_pylist()
    claims = json.loads(written[1]["report"])["claims"]
    assert claims[0]["text"].startswith("\ud83d was lit")


def test_an_input_without_any_field_still_becomes_parquet(tmp_path: Path) -> None:
    score(write_lines(tmp_path / "in.jsonl", ["{}", "[]"]), tmp_path / "out.parquet")

    written = parquet.read_table(tmp_path / "out.parquet")
    assert written.column_names == ["conflictscore"]
    assert written.num_rows == 2


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([1, "one"], "field mine: "),
        ([2**70, 1], "field mine: "),
        (["\ud83d", "x"], "field mine: "),
        ([{}, {}], "cannot be carried into Parquet"),
        ([2**60] * 1024 + [0.5], "field mine: "),
    ],
)
def test_a_field_without_one_type_is_refused_before_anything_is_scored(
    tmp_path: Path, values: list[Any], reason: str
) -> None:
    rows = [answer_row(n, 1) | {"mine": value} for n, value in enumerate(values)]
    source = write_lines(tmp_path / "in.jsonl", rows)

    with pytest.raises(InputError, match=reason) as raised:
        score(source, tmp_path / "out.parquet")

    assert str(raised.value).endswith("; write --out FILE.jsonl")
    assert not (tmp_path / "out.parquet.run").exists()


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"answer": ["x"]}, "has no field documents"),
        ({"documents": [["x"]]}, "has no field answer"),
        (
            {"answer": ["x"], "documents": [["x"]], "conflictscore": [1]},
            "has a column conflictscore already",
        ),
    ],
)
def test_a_parquet_file_that_cannot_be_scored_is_refused(
    tmp_path: Path, columns: dict[str, Any], reason: str
) -> None:
    parquet.write_table(arrow.table(columns), tmp_path / "in.parquet")

    with pytest.raises(InputError, match=reason):
        open_source(tmp_path / "in.parquet")


def test_a_file_that_is_no_parquet_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "in.parquet").write_text("not at all")

    with pytest.raises(InputError, match=r"in\.parquet: cannot be read as Parquet") as raised:
        open_source(tmp_path / "in.parquet")
    assert "\n" not in str(raised.value)


def test_without_pyarrow_parquet_is_refused_and_json_lines_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_lines(tmp_path / "in.jsonl", [answer_row(0)])
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(ConfigurationError, match=re.escape(install_hint("bench"))):
        score(source, tmp_path / "out.parquet")
    assert score(source, tmp_path / "out.jsonl").failed == 0
