"""A line of the file: what goes in comes out, and damage is refused."""

import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document

from conflictscore.errors import InputError
from conflictscore.retrieval.documents import to_documents
from conflictscore.retrieval.recording.format import (
    Recording,
    decoded,
    encoded,
    recorded_result,
    result_document,
)

PAGE = Document(
    page_content="The whole page: lit in 1871.",
    metadata={
        "rank": 1,
        "provider": "serper",
        "source": "https://a.example/",
        "title": "Lamp",
        "snippet": "lit in 1871",
        "date": "2024-01-01",
        "text_from": "page",
        "score": 1.5,
        "fetched_at": "2026-11-21T09:30:00+00:00",
    },
)


def recording(*found: Document, question: str = "When?") -> Recording:
    return Recording(
        question=question,
        search="serper",
        parameters={"top_k": 10, "read_pages": True, "docs": ["a.md"]},
        recorded_at="2026-11-21T09:30:00+00:00",
        notes=("a note",),
        results=tuple(map(recorded_result, found)),
    )


def test_a_line_says_everything_in_fields_of_its_own() -> None:
    line = json.loads(encoded(recording(PAGE)))

    assert {name: line[name] for name in ("format", "question", "search", "notes")} == {
        "format": 1,
        "question": "When?",
        "search": "serper",
        "notes": ["a note"],
    }
    assert line["parameters"] == {"top_k": 10, "read_pages": True, "docs": ["a.md"]}
    assert line["recorded_at"] == "2026-11-21T09:30:00+00:00"
    assert line["results"] == [
        {
            "rank": 1,
            "provider": "serper",
            "url": "https://a.example/",
            "title": "Lamp",
            "snippet": "lit in 1871",
            "date": "2024-01-01",
            "text": PAGE.page_content,
            "text_from": "page",
            "fetched_at": "2026-11-21T09:30:00+00:00",
            "page_error": None,
            "metadata": {"score": 1.5},
        }
    ]


def test_the_file_is_utf8_that_people_can_read() -> None:
    assert '"question": "Où? 空は"'.encode() in encoded(recording(PAGE, question="Où? 空は"))


def test_a_line_that_another_program_wrote_anew_is_the_same_recording() -> None:
    line = json.dumps(json.loads(encoded(recording(PAGE, question="Où?"))), sort_keys=True)

    assert "\\u00f9" in line
    assert decoded(line.encode() + b"\r\n", "here") == recording(PAGE, question="Où?")


def test_a_line_of_an_earlier_version_is_read_with_its_hashes_left_aside() -> None:
    line = json.loads(encoded(recording(PAGE)))
    for part in (line, *line["results"]):
        part["sha256"] = "0" * 64
    line["adopted"] = "2026-11-21T09:30:00+00:00"

    assert encoded(decoded(json.dumps(line).encode(), "here")) == encoded(recording(PAGE))


NAMES = ["rank", "provider", "source", "url", "link", "title", "snippet", "date", "text_from"]
NAMES += ["page_error", "fetched_at"]
VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just([1])
METADATA = st.dictionaries(st.sampled_from(NAMES) | st.text(), VALUES)
TEXTS = st.text(st.characters(codec="utf-8") | st.characters(categories=["Cs"]))
FOUND = st.lists(st.builds(Document, page_content=TEXTS, metadata=METADATA), max_size=4)


@settings(suppress_health_check=[HealthCheck.too_slow])  # on a busy machine
@given(found=FOUND)
@example(found=[Document(page_content="x\ud83d", metadata={"\udc00": "\ud83d\udc00"})])
@example(found=[Document(page_content="x", metadata={"rank": True})])
def test_whatever_a_search_returns_gives_the_same_documents_again(found: list[Document]) -> None:
    line = encoded(recording(*found))
    again = [result_document(result) for result in decoded(line, "here").results]

    assert line.count(b"\n") == 1
    assert to_documents(again) == to_documents(found)


@settings(suppress_health_check=[HealthCheck.too_slow])  # on a busy machine
@given(found=FOUND)
def test_documents_without_what_json_cannot_hold_come_back_to_the_letter(
    found: list[Document],
) -> None:
    plain = [result_document(recorded_result(document)) for document in found]

    line = decoded(encoded(recording(*plain)), "here")

    assert [result_document(result) for result in line.results] == plain


CHANGES: dict[str, tuple[str, str, str]] = {
    "missing": ('"notes": ["a note"], ', "", "notes: "),
    "number": ('"rank": 1', '"rank": "1"', "results.0.rank: "),
    "no rank": ('"rank": 1', '"rank": 0', "results.0.rank: "),
    "infinity": ("1.5", "1e999", "results.0.metadata.score"),
    "not a number": ('"top_k": 10', '"top_k": NaN', "parameters.top_k"),
    "old format": ('"format": 1', '"format": 0', "format: "),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_damaged_line_is_refused_by_file_line_and_field(change: str) -> None:
    before, after, words = CHANGES[change]
    line = encoded(recording(PAGE)).decode()
    assert before in line

    with pytest.raises(InputError, match=rf"^FILE, line 3, field {re.escape(words)}") as caught:
        decoded(line.replace(before, after, 1).encode(), "FILE, line 3")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"format": 1, "questi', "not JSON; each line holds one recorded question"),
        (b"[" * 100_000, "not JSON"),
        (b'{"format": 1, "question": "\xff"}', "not JSON"),
        (b'"format"', "not a recorded question"),
        (b'{"text": "a document"}', "not a recorded question"),
        (b'{"format": 1, "question": "\\ud800"}', "Invalid JSON"),
    ],
)
def test_a_line_of_something_else_is_named(line: bytes, words: str) -> None:
    with pytest.raises(InputError, match=rf"^FILE, line 3: {words}"):
        decoded(line, "FILE, line 3")


def test_a_newer_format_says_what_to_do() -> None:
    line: dict[str, Any] = json.loads(encoded(recording(PAGE))) | {"format": 2, "novelty": []}

    with pytest.raises(InputError, match=r"field format: format 2 .* up to 1; upgrade it"):
        decoded(json.dumps(line).encode(), "FILE, line 3")
