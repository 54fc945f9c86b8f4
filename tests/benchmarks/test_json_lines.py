"""Files of items as JSON lines: each once, and what makes none is counted by its reason."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from conflictscore.benchmarks.json_lines import read_items
from conflictscore.errors import InputError
from tests.benchmarks.truthfulqa.files import write_jsonl


class Item(NamedTuple):
    id: str


def made(record: Any, where: str) -> Item | str:
    return Item(record) if record != "none" else "it is none"


def test_items_come_in_order_and_the_others_are_counted(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "i.jsonl", ["b", "none", "a", "none"])
    assert read_items(file, made) == ((Item("b"), Item("a")), {"it is none": 2})


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (["a", "none", "a"], "row 3, field question: the same as in row 1"),
        (["none"], r"there is nothing in it to use \(it is none\)"),
        ([], "there is nothing in it to use"),
    ],
)
def test_an_id_stands_once_and_some_item_stands_there(
    tmp_path: Path, rows: list[str], told: str
) -> None:
    with pytest.raises(InputError, match=rf"i\.jsonl.*{told}"):
        read_items(write_jsonl(tmp_path / "i.jsonl", rows), made)
