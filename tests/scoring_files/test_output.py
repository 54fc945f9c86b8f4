"""The output as Parquet: the unchanged columns of the input, and the outcome as a struct."""

import datetime
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import parquet

from conflictscore.cli import main
from conflictscore.errors import ConfigurationError, InputError
from conflictscore.scoring_files.input_rows import Source
from conflictscore.scoring_files.output import read_outcomes, write_output
from conflictscore.scoring_files.row_scoring import Outcome
from conflictscore.storage.record_file import json_line
from tests.fakes.openai_server import OpenAIServer
from tests.scoring_files.files import answer_row, outcomes, score, write_lines
from tests.world import DISAGREEING, World


def parquet_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Rows whose other columns have types unknown to JSON."""
    day = datetime.datetime(2026, 11, 29, tzinfo=datetime.UTC)
    columns = {
        "answer": [row["answer"] for row in rows],
        "documents": [[str(document) for document in row["documents"]] for row in rows],
        "when": pa.array([day] * len(rows), pa.timestamp("us", "UTC")),
        "small": pa.array(range(len(rows)), pa.int8()),
        "raw": pa.array([b"\xff"] * len(rows), pa.binary()),
    }
    parquet.write_table(pa.table(columns), path, row_group_size=2)
    return path


def test_columns_keep_their_types_and_the_outcome_is_the_one_of_json_lines(tmp_path: Path) -> None:
    rows = [answer_row(number) for number in range(5)]
    rows[2]["answer"] = ""
    source = parquet_rows(tmp_path / "in.parquet", rows)
    for name in ("out.parquet", "out.jsonl"):
        score(source, tmp_path / name)

    before, after = parquet.read_table(source), parquet.read_table(tmp_path / "out.parquet")
    assert after.drop_columns("conflictscore").equals(before)
    as_lines = outcomes(tmp_path / "out.jsonl")
    assert list(read_outcomes(tmp_path / "out.parquet")) == as_lines
    assert list(read_outcomes(tmp_path / "out.jsonl")) == as_lines
    cells = after["conflictscore"].to_pylist()
    assert [cell["cs_r"] for cell in cells] == [
        outcome["report"] and outcome["report"]["cs_r"] for outcome in as_lines
    ]
    assert [cell["error"] is None for cell in cells] == [True, True, False, True, True]
    assert json.loads(cells[0]["report"]) == as_lines[0]["report"]


def test_a_gate_reads_parquet_and_the_same_command_pays_for_nothing_twice(tmp_path: Path) -> None:
    rows = [
        {"answer": f"The lamp was lit in {year}.", "documents": DISAGREEING}
        for year in (1871, 1874)
    ]
    source = parquet_rows(tmp_path / "in.parquet", rows)
    arguments = ["score-file", str(source), "--out", str(tmp_path / "out.parquet")]
    with OpenAIServer(World()) as server:
        model = ["--model", "scripted", "--base-url", server.base_url, "--labeler", "json"]
        first = CliRunner().invoke(main, [*arguments, *model, "--fail-over", "0.2"])
        asked = len(server.requests)
        second = CliRunner().invoke(main, [*arguments, *model, "--fail-over", "0.2"])
    assert (first.exit_code, second.exit_code) == (1, 1)
    assert "2 of 2 rows fail" in first.stderr
    assert len(server.requests) == asked


@pytest.mark.parametrize(
    ("name", "why"), [("out.parquet", "needs a .parquet input"), ("o.csv", "end")]
)
def test_another_output_is_refused_before_anything_is_scored(
    tmp_path: Path, name: str, why: str
) -> None:
    source = write_lines(tmp_path / "in.jsonl", [answer_row(1)])
    with pytest.raises(InputError, match=why):
        score(source, tmp_path / name)
    assert not list(tmp_path.glob("*.run"))


def test_workers_belong_to_ray_alone(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.jsonl", [answer_row(1)])
    more = ["--out", str(tmp_path / "out.jsonl"), "--model", "openai:x", "--workers", "2"]
    result = CliRunner().invoke(
        main, ["score-file", str(source), *more], env={"OPENAI_API_KEY": "sk-none"}
    )
    assert result.exit_code == 2
    assert "--workers needs --engine ray" in result.stderr


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (["--out", "out.csv"], "must end in .jsonl or .parquet"),
        (["--out", "out.jsonl", "--workers", "2"], "--workers needs --engine ray"),
    ],
)
def test_what_cannot_be_written_is_refused_before_a_model_is_opened(
    tmp_path: Path, more: list[str], why: str
) -> None:
    source = write_lines(tmp_path / "in.jsonl", [answer_row(1)])
    result = CliRunner().invoke(
        main, ["score-file", str(source), "--model", "local:none.gguf", *more]
    )
    assert (result.exit_code, why in result.stderr) == (2, True)


def test_two_columns_of_one_name_are_refused_since_one_would_be_lost(tmp_path: Path) -> None:
    columns = [pa.array(["a"]), pa.array([["d"]]), pa.array([1]), pa.array([2])]
    names = ["answer", "documents", "mine", "mine"]
    parquet.write_table(pa.Table.from_arrays(columns, names=names), tmp_path / "in.parquet")

    with pytest.raises(InputError, match="duplicate column"):
        score(tmp_path / "in.parquet", tmp_path / "out.parquet")


def test_lines_hold_the_fields_of_a_row_and_its_outcome_in_this_order(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": 1, "é": ["\u2028", 0.1, None]},
        {},
        {"conflictscore": 7, "id": 2},
    ]
    texts = [*map(json.dumps, rows), "[1]"]
    (tmp_path / "in.jsonl").write_text("\n \n".join(texts))
    source, out = Source(tmp_path / "in.jsonl"), tmp_path / "out.jsonl"

    write_output(source, map(line_of, range(1, 5)), out)

    whole = [{**row, "conflictscore": outcome_of(n)} for n, row in enumerate([*rows, {}], 1)]
    assert out.read_bytes() == b"".join(json_line(row, escape=False) for row in whole)
    assert source.total == 4


def outcome_of(row: int) -> Outcome:
    return Outcome(row=row, error="it failed: \u201c\ud83d", report=None, notes=[])


def line_of(row: int) -> bytes:
    return json_line(outcome_of(row), escape=False)


def test_an_output_that_cannot_be_written_is_named_even_if_nothing_can_be_removed(
    tmp_path: Path,
) -> None:
    source = Source(write_lines(tmp_path / "in.jsonl", [answer_row(1)]))
    out = tmp_path / "in.jsonl" / "out.jsonl"  # in a file, not in a folder

    with pytest.raises(ConfigurationError, match="cannot be written"):
        write_output(source, iter([line_of(1)]), out)


def test_a_users_file_named_part_is_not_lost(tmp_path: Path) -> None:
    (tmp_path / "out.jsonl.part").write_text("mine")
    score(write_lines(tmp_path / "in.jsonl", [answer_row(1)]), tmp_path / "out.jsonl")

    assert (tmp_path / "out.jsonl.part").read_text() == "mine"


@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize("name", ["in.parquet", "in.jsonl"])
def test_outcomes_that_do_not_fit_the_rows_are_never_written(
    tmp_path: Path, name: str, number: int
) -> None:
    make = parquet_rows if name.endswith("parquet") else write_lines
    source = Source(make(tmp_path / name, [answer_row(row) for row in (1, 2)]))
    out = tmp_path / f"out{source.path.suffix}"

    with pytest.raises(ValueError, match=r"longer|shorter|fewer|more"):
        write_output(source, iter([line_of(row + 1) for row in range(number)]), out)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("damage", ["removed", "cut"])
def test_an_input_that_can_no_longer_be_read_is_named_and_not_the_output(
    tmp_path: Path, damage: str
) -> None:
    source = Source(parquet_rows(tmp_path / "in.parquet", [answer_row(1), answer_row(2)]))
    whole = source.path.read_bytes()
    if damage == "removed":
        source.path.unlink()
    else:  # the footer stands, but the pages before it are gone
        length = int.from_bytes(whole[-8:-4], "little") + 8
        source.path.write_bytes(b"PAR1" + whole[-length:])

    with pytest.raises(InputError) as refused:
        write_output(source, iter([line_of(1), line_of(2)]), tmp_path / "out.parquet")
    assert str(refused.value).startswith(f"{source.path}: cannot be read")
