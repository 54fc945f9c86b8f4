"""Parquet, through pyarrow."""

import re
import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from conflictscore.errors import ConfigurationError, InputError, install_hint
from conflictscore.scoring_files.rows import Source
from tests.scoring_files.files import answer_row, lines, outcomes, score, write_lines

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def write_parquet(path: Path, rows: list[dict[str, Any]]) -> Path:
    parquet.write_table(arrow.Table.from_pylist(rows), path, row_group_size=5)
    return path


def test_parquet_and_json_lines_come_to_the_same(tmp_path: Path) -> None:
    rows = [answer_row(n) for n in range(12)]
    rows = [{**row, "documents": [{"text": "Two."}, row["documents"][0]]} for row in rows]
    padded = write_parquet(tmp_path / "b.parquet", rows)  # Arrow fills absent fields with null
    score(write_lines(tmp_path / "a.jsonl", rows), tmp_path / "a_out.jsonl")

    summary = score(padded, tmp_path / "b_out.jsonl")

    assert (summary.rows, summary.failed) == (12, 0)
    assert outcomes(tmp_path / "a_out.jsonl") == outcomes(tmp_path / "b_out.jsonl")


def test_what_json_does_not_have_is_carried_in_its_place_and_bytes_are_text_or_refused(
    tmp_path: Path,
) -> None:
    typed = {"at": NOON, "cost": Decimal("1.20"), "raw": b"\x00\xff"}
    rows = [{**answer_row(n, 1), **typed, "x": n / 2, "answer": b"Lit."} for n in range(2)]
    rows[1] |= {"x": float("nan"), "answer": b"\xff"}

    score(write_parquet(tmp_path / "in.parquet", rows), tmp_path / "out.jsonl")

    first, second = lines(tmp_path / "out.jsonl")
    carried = {"at": "2026-01-02T12:00:00+00:00", "cost": "1.20", "raw": {"hex": "00ff"}}
    assert first.items() >= carried.items()
    assert (first["x"], second["x"]) == (0.0, None)
    assert first["conflictscore"]["report"]["claims"][0]["text"] == "Lit."
    assert second["conflictscore"]["error"] == "field answer: it is not a text, or empty"


def test_a_parquet_file_that_cannot_be_scored_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_parquet(tmp_path / "in.parquet", [{"answer": "x"}])
    with pytest.raises(InputError, match=r"in\.parquet: has no field documents; it has answer"):
        Source(path)
    path.write_text("not at all")
    with pytest.raises(InputError, match=r"in\.parquet: cannot be read as Parquet") as raised:
        Source(path)
    assert "\n" not in str(raised.value)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigurationError, match=re.escape(install_hint("bench"))):
        Source(path)
