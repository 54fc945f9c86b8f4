"""What is read of JSON lines, and what is said of a row that cannot be scored."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from conflictscore.errors import InputError
from conflictscore.nodes.retrieve import given_documents
from conflictscore.scoring_files.rows import Columns, Row, Source, task_of

GOOD: dict[str, Any] = {"answer": "It was lit in 1871.", "documents": ["It was."]}


def every(path: Path) -> list[Row]:
    return list(Source(path).rows())


def fault(fields: dict[str, Any]) -> str:
    with pytest.raises(InputError) as raised:
        task_of(Row(1, fields), Columns())
    return str(raised.value)


def test_rows_are_counted_and_numbered_without_empty_lines(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\n\n \t\r\n{"a": "\xe2\x80\xa8"}\r\n{"a": 3}')

    source = Source(path)

    assert source.total == 3
    assert source.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert every(path) == [Row(1, {"a": 1}), Row(2, {"a": "\u2028"}), Row(3, {"a": 3})]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"[1]\n", "is not an object"),
        (b"null\n", "is not an object"),
        (b'{"a": \n', "is not JSON (Expecting value)"),
        (b'{"a": NaN}\n', "is not JSON (NaN is no JSON number)"),
        (b'{"a": 1e999}\n', "is not JSON (1e999 is no JSON number)"),
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

    task = task_of(Row(1, {**GOOD, "documents": documents, "id": 7}), Columns())

    assert task["answer"] == GOOD["answer"]
    one, two, three = given_documents(task)
    assert [one.text, two.text, three.text] == ["One.", "Two.", "Three."]
    assert (two.title, two.url, two.metadata) == ("Log", "https://log.test", {"score": 0.3})
    assert (three.title, three.url, three.metadata) == ("", "", {})


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"answer": None}, "has no field answer"),
        ({"answer": " "}, "field answer: it is not a text, or empty"),
        ({"answer": 3}, "field answer: it is not a text, or empty"),
        ({"documents": None}, "has no field documents"),
        ({"documents": []}, "field documents: it is not a list, or empty"),
        ({"documents": "One."}, "field documents: it is not a list, or empty"),
        ({"documents": {"text": "One."}}, "field documents: it is not a list, or empty"),
        ({"documents": ["One.", " \n"]}, "document 2, field text: it is empty"),
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
