"""Parquet in and out, through pyarrow."""

import json
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from conflictscore.errors import ConfigurationError, InputError, install_hint
from conflictscore.scoring_files.engine import Outcome
from conflictscore.scoring_files.file_run import open_source
from conflictscore.scoring_files.parquet import ParquetRows
from conflictscore.scoring_files.parquet import write_parquet as write_parquet_file
from conflictscore.scoring_files.rows import Columns
from tests.scoring_files.files import answer_row, lines, outcomes, score, write_lines

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def write_parquet(path: Path, rows: list[dict[str, Any]], group: int = 5) -> Path:
    parquet.write_table(arrow.Table.from_pylist(rows), path, row_group_size=group)
    return path


def typed_rows(number: int, further: Sequence[dict[str, str]] = ()) -> list[dict[str, Any]]:
    typed = {"at": NOON, "cost": Decimal("1.20"), "raw": b"\x00\xff"}
    rows = [{**answer_row(n, 1), **typed, "x": n / 2} for n in range(number)]
    return [{**row, "documents": [*row["documents"], *further]} for row in rows]


def test_the_columns_of_a_parquet_file_keep_their_types_and_get_one_more(tmp_path: Path) -> None:
    almanac = {"text": "Keepers came each night.", "title": "Almanac", "url": "https://a.test"}
    source = write_parquet(tmp_path / "in.parquet", typed_rows(12, [almanac]))

    summary = score(source, tmp_path / "out.parquet")

    read, written = (parquet.read_table(tmp_path / f"{n}.parquet") for n in ("in", "out"))
    assert (summary.rows, summary.scored, summary.failed) == (12, 12, 0)
    assert written.drop(["conflictscore"]).equals(read)
    added = written.column("conflictscore").to_pylist()
    assert [row["row"] for row in added] == list(range(1, 13))
    for row in added:
        report = json.loads(row["report"])
        assert (row["error"], row["notes"]) == (None, [])
        assert all(row[name] == report[name] for name in ("cs_c", "cs_r", "coverage"))
        assert len(report["claims"]) == 2


def test_a_row_with_one_document_is_scored_and_noted_as_such(tmp_path: Path) -> None:
    source = write_parquet(tmp_path / "in.parquet", typed_rows(2))

    summary = score(source, tmp_path / "out.parquet")

    assert (summary.scored, summary.failed) == (2, 0)
    for row in parquet.read_table(tmp_path / "out.parquet").column("conflictscore").to_pylist():
        labels = [
            pair["label"]
            for claim in json.loads(row["report"])["claims"]
            for pair in claim["labels"]
        ]
        against = labels.count("CONTRADICTS") / len(labels)
        assert (row["error"], row["cs_c"], row["cs_r"], row["coverage"]) == (None, 0, against, 1)
        [note] = row["notes"]
        assert "one document alone" in note


def test_parquet_and_json_lines_come_to_the_same(tmp_path: Path) -> None:
    rows = [answer_row(n, 1) for n in range(12)]
    score(write_lines(tmp_path / "a.jsonl", rows), tmp_path / "a_out.jsonl")
    source = write_parquet(tmp_path / "b.parquet", rows)
    for suffix in ("jsonl", "parquet"):
        score(source, tmp_path / f"b_out.{suffix}")

    assert lines(tmp_path / "a_out.jsonl") == lines(tmp_path / "b_out.jsonl")
    added = parquet.read_table(tmp_path / "b_out.parquet").column("conflictscore").to_pylist()
    reports = [json.loads(row["report"]) for row in added]
    assert reports == [row["report"] for row in outcomes(tmp_path / "a_out.jsonl")]


def test_what_json_does_not_have_is_carried_in_its_place(tmp_path: Path) -> None:
    rows = typed_rows(2)
    rows[1]["x"] = float("nan")
    source = write_parquet(tmp_path / "in.parquet", rows)

    score(source, tmp_path / "out.jsonl")

    first, second = lines(tmp_path / "out.jsonl")
    carried = {"at": "2026-01-02T12:00:00+00:00", "cost": "1.20", "raw": "AP8="}
    assert first.items() >= carried.items()
    assert (first["x"], second["x"]) == (0.0, None)


def test_only_the_row_groups_with_wanted_rows_are_read(tmp_path: Path) -> None:
    source = write_parquet(tmp_path / "in.parquet", [answer_row(n, 1) for n in range(17)])
    rows = ParquetRows(source, Columns())

    assert rows.total == 17
    assert [r.number for r in rows.rows(lambda number: number in (6, 17))] == [6, 17]
    assert [r.fields["id"] for r in rows.rows(lambda number: number > 10)] == [
        f"q{n}" for n in range(10, 17)
    ]


def test_a_row_that_fails_has_its_error_in_the_parquet_file(tmp_path: Path) -> None:
    rows = [answer_row(0, 1), answer_row(1, 1) | {"answer": " "}]
    source, out = write_parquet(tmp_path / "in.parquet", rows), tmp_path / "out.parquet"

    assert score(source, out).failed == 1

    first, second = parquet.read_table(out).column("conflictscore").to_pylist()
    assert (first["error"], second["error"]) == (None, "field answer: empty")
    assert second["report"] is None


def test_half_a_character_of_a_judge_does_not_cost_the_file(tmp_path: Path) -> None:
    source = ParquetRows(write_parquet(tmp_path / "in.parquet", [answer_row(0, 1)]), Columns())
    report = {"cs_c": 0.0, "cs_r": 0.0, "coverage": 1.0, "claims": [{"text": "\ud83d was lit"}]}
    outcome = Outcome(row=1, error=None, report=report, notes=["\ud83d"])

    with (tmp_path / "out.parquet").open("wb") as file:
        write_parquet_file(source, iter([outcome]), file)

    [written] = parquet.read_table(tmp_path / "out.parquet").column("conflictscore").to_pylist()
    assert json.loads(written["report"]) == report
    assert written["notes"] == ["?"]


def test_only_a_parquet_input_has_a_parquet_output(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.jsonl", [answer_row(0)])

    with pytest.raises(InputError, match="only a Parquet input"):
        score(source, tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet.run").exists()


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"answer": ["x"]}, "has no field documents"),
        ({"documents": [["x"]]}, "has no field answer"),
        (
            {"answer": ["x"], "documents": [["x"]], "conflictscore": [1]},
            "already has a column conflictscore",
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
        open_source(tmp_path / "in.parquet")
    assert score(source, tmp_path / "out.jsonl").failed == 0
