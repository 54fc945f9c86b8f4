"""A file of rows that one command adds to, and goes on with after any death."""

import json
from pathlib import Path
from typing import Any

import pytest

from conflictscore.benchmarks.conflict_detection.detect import ResumableRows
from conflictscore.errors import InputError
from conflictscore.records import Record

SETUP: dict[str, Any] = {"numbers": 1, "maker": ["a", None]}


class Number(Record):
    """A row."""

    value: int
    name: str = ""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "rows.jsonl"


def write(file: Path, *values: int) -> bytes:
    with ResumableRows.open(file, Number, SETUP) as rows:
        for value in values:
            rows.append(Number(value=value))
    return file.read_bytes()


def read(file: Path) -> tuple[list[int], bool]:
    with ResumableRows.open(file, Number, SETUP) as rows:
        return [row.value for row in rows.rows], rows.cut


def test_rows_come_back_in_order_and_more_are_added(file: Path) -> None:
    write(file, 1, 2)
    write(file, 3)
    assert read(file) == ([1, 2, 3], False)
    assert json.loads(file.read_text().splitlines()[0]) == SETUP


def test_a_row_is_in_the_file_when_append_returns(file: Path) -> None:
    with ResumableRows.open(file, Number, SETUP) as rows:
        rows.append(Number(value=7, name="unlit \ud800 é"))
        assert file.read_bytes().endswith(b'{"value": 7, "name": "unlit \\ufffd \\u00e9"}\n')
        assert [row.value for row in rows.rows] == [7]


def test_wherever_a_kill_cuts_the_file_whole_rows_stay(file: Path) -> None:
    whole = write(file, 1, 2)
    header = whole.index(b"\n") + 1
    for size in range(len(whole)):
        file.write_bytes(whole[:size])
        values, cut = read(file)
        kept = whole[:size].count(b"\n") - 1
        assert values == [1, 2][: max(kept, 0)]
        assert cut is (size > 0 and whole[size - 1 : size] != b"\n")
        assert file.read_bytes() == whole[: max(whole.rfind(b"\n", 0, size) + 1, header)]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"notes of mine", "row 1: not a file of this command"),
        (b"notes\n", "row 1: not a file of this command"),
        (b"[]\n", "row 1: not a file of this command"),
        (b"{}\n", "row 1: not a file of this command"),
        (b'{"numbers": 2}\n', "row 1, field numbers: its rows were made with 2, and now it is 1"),
        (b'{"numbers": 1}\n', "row 1, field maker"),
    ],
)
def test_a_file_of_something_else_is_refused_and_left_as_it_is(
    file: Path, content: bytes, told: str
) -> None:
    file.parent.mkdir()
    file.write_bytes(content)
    with pytest.raises(InputError, match=told):
        read(file)
    assert file.read_bytes() == content


@pytest.mark.parametrize("row", [b"\n", b"x\n", b'{"value": "x"}\n', b'{"value": 1, "odd": 2}\n'])
def test_a_damaged_row_is_named(file: Path, row: bytes) -> None:
    whole = write(file, 1)
    file.write_bytes(whole + row + whole.splitlines(keepends=True)[1])
    with pytest.raises(InputError, match=r"row 3: damaged .* delete this row"):
        read(file)
