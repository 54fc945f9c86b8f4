from pathlib import Path
from typing import NamedTuple

import pytest

from conflictscore.benchmarks.json_lines import Cleaned, PublishedRow, Text, read_items, read_json
from conflictscore.errors import InputError
from tests.benchmarks.truthfulqa.files import write_jsonl


class Item(NamedTuple):
    id: str


class Kept(PublishedRow):
    question: Text
    note: Cleaned | None = None


def made(row: Kept, where: str) -> Item | str:
    return Item(row.question) if row.question != "none" else "it is none"


def test_items_come_in_order_and_the_others_are_counted(tmp_path: Path) -> None:
    rows = [{"question": question} for question in (" b\x00", "none", "a", "none")]
    file = write_jsonl(tmp_path / "i.jsonl", [*rows, {"question": "c", "more": 1, "note": " "}])
    found = read_items(file, Kept, made)
    assert found == ((Item("b"), Item("a"), Item("c")), {"it is none": 2})


def test_blank_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    file = tmp_path / "i.jsonl"
    file.write_text('{"question": "a"}\n\n{"question": "b"}\n \n')
    assert read_items(file, Kept, made).items == (Item("a"), Item("b"))
    file.write_text('\n{"question": 7}\n')
    with pytest.raises(InputError, match="row 2, field question"):
        read_items(file, Kept, made)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([{"question": "a"}] * 2, "row 2, field question: the same as in row 1"),
        ([{"question": "none"}], r"no row can be used \(it is none\)"),
        ([], "no row can be used"),
        (
            [{"question": "a"}, {"question": " "}],
            "row 2, field question: a non-empty string is needed",
        ),
        ([{"question": 7}], "row 1, field question: Input should be a valid string"),
        ([{"question": "a", "note": 7}], "row 1, field note: Input should be a valid string"),
        ([{}], "row 1, field question: Field required"),
        ([["a"]], "row 1: Input should be a valid dictionary"),
    ],
)
def test_a_row_that_cannot_be_used_is_named_with_its_field(
    tmp_path: Path, rows: list[object], told: str
) -> None:
    with pytest.raises(InputError, match=rf"i\.jsonl.*{told}"):
        read_items(write_jsonl(tmp_path / "i.jsonl", rows), Kept, made)


@pytest.mark.parametrize(
    ("content", "told"),
    [("{half\n", "not JSON"), ("{}", "a JSON list is needed"), (None, "cannot be read")],
)
def test_a_file_that_is_no_list_is_refused(tmp_path: Path, content: str | None, told: str) -> None:
    path = tmp_path / "i.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match=rf"i\.json: {told}"):
        list(read_json(path))
    if told != "a JSON list is needed":
        with pytest.raises(InputError, match=rf"i\.json.*: {told}"):
            read_items(path, Kept, made)
