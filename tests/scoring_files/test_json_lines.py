"""What is read of JSON lines, and what is said of a row that cannot be scored."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from conflictscore.errors import InputError
from conflictscore.scoring_files.rows import Columns, JsonLines, Row, task_of

GOOD: dict[str, Any] = {"answer": "It was lit in 1871.", "documents": ["It was."]}


def every(path: Path) -> list[Row]:
    return list(JsonLines(path, Columns()).rows(lambda number: True))


def fault(fields: dict[str, Any]) -> str:
    with pytest.raises(InputError) as raised:
        task_of(Row(1, fields))
    return str(raised.value)


def test_rows_are_counted_and_numbered_without_empty_lines(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\n\n \t\r\n{"a": "\xe2\x80\xa8"}\r\n{"a": 3}')

    source = JsonLines(path, Columns())

    assert source.total == 3
    assert source.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert every(path) == [Row(1, {"a": 1}), Row(2, {"a": "\u2028"}), Row(3, {"a": 3})]
    assert [row.number for row in source.rows(lambda number: number != 2)] == [1, 3]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"[1]\n", "is not an object"),
        (b"null\n", "is not an object"),
        (b'{"a": \n', "is not JSON (Expecting value)"),
        (b'{"a": NaN}\n', "is not JSON (NaN is no JSON value)"),
        (b'{"a": 1e999}\n', "is not JSON (a number is out of range)"),
        (b'{"a": "\xff"}\n', "is not UTF-8"),
        (b"[" * 100_000 + b"\n", "is not JSON"),
        (b'{"a": "half', "is not JSON (Unterminated string starting at); the file ends within"),
    ],
)
def test_a_row_that_is_no_object_has_a_fault_and_the_others_do_not(
    tmp_path: Path, line: bytes, reason: str
) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(b'{"a": 1}\n' + line)

    first, second = every(path)

    assert first == Row(1, {"a": 1})
    assert second.fields == {}
    assert second.fault is not None
    assert second.fault.startswith(reason)


def test_documents_are_texts_or_objects_of_which_text_title_and_url_are_taken() -> None:
    documents = [
        "One.",
        {"content": "Two.", "title": "Log", "url": "https://log.test", "score": 0.3, "id": None},
        {"text": "Three.", "title": None, "url": "", "metadata": None},
        None,
        {"text": None},
    ]

    task = task_of(Row(1, {**GOOD, "documents": documents, "id": 7}))

    assert task["answer"] == GOOD["answer"]
    assert task["documents"] == [
        {"text": "One."},
        {"text": "Two.", "title": "Log", "url": "https://log.test", "metadata": {"score": 0.3}},
        {"text": "Three."},
    ]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"answer": None}, "has no field answer"),
        ({"answer": ""}, "field answer: empty"),
        ({"answer": 3}, "field answer: a number, and not a text"),
        ({"answer": "\ud83d"}, "field answer: holds half of a surrogate pair"),
        ({"documents": None}, "has no field documents"),
        ({"documents": []}, "field documents: empty"),
        ({"documents": "One."}, "field documents: a text, and not a list"),
        ({"documents": {"text": "One."}}, "field documents: an object, and not a list"),
        ({"documents": ["One.", " \n"]}, "document 2: empty"),
        ({"documents": [["One."]]}, "document 1: list, not a text, a mapping"),
        ({"documents": [{"title": "Log"}]}, "document 1, field text: it is missing"),
        ({"documents": [{"text": True}]}, "document 1, field text: bool, not a text"),
        ({"documents": [{"text": "One.", "url": True}]}, "document 1, field url: bool"),
        ({"documents": [None, {"text": None}]}, "document 1, field text: it is null"),
        ({"conflictscore": {}}, "already has a field conflictscore"),
    ],
)
def test_what_cannot_be_scored_is_named_by_its_field(fields: dict[str, Any], reason: str) -> None:
    assert fault(GOOD | fields).startswith(reason)
