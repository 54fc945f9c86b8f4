import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document as Retrieved
from langchain_core.retrievers import BaseRetriever

from conflictscore.errors import InputError, NoDocumentsError
from conflictscore.retrieval.documents import to_documents
from conflictscore.retrieval.recording import RecordedRetriever, record_questions
from conflictscore.retrieval.search_notes import collecting
from tests.fakes.search_server import searxng
from tests.retrieval.pages.finding import Found
from tests.retrieval.recording.searching import PARAMETERS, questions, searching


async def record(
    wanted: Sequence[str], retriever: BaseRetriever, out: Path, **parameters: Any
) -> None:
    given = {**PARAMETERS, **parameters}
    await record_questions(wanted, retriever, out, search="searxng", parameters=given)


def page(rank: int, **more: Any) -> Retrieved:
    common = {
        "rank": rank,
        "provider": "serper",
        "source": f"https://lamp.example/{rank}",
        "title": "Lamp",
        "date": "2024-01-01",
        "snippet": "a snippet",
        "fetched_at": "2026-11-21T09:30:00+00:00",
    }
    return Retrieved(page_content=f"The whole page {rank}.\r\n" * 50, metadata={**common, **more})


PAGES = [
    page(1, text_from="page", page_truncated=True),
    page(2, text_from="snippet", page_error="HTTP 404"),
    page(3, text_from="page", score=0.5),
]


async def test_a_replay_finds_the_documents_that_the_search_found(out: Path) -> None:
    live: dict[str, list[Retrieved]] = {}
    with searching() as (_, retriever):
        await record(questions(5), retriever, out)
        for question in questions(5):
            live[question] = await retriever.ainvoke(question)

    replay = RecordedRetriever.from_file(out)  # and the server is gone

    for question in questions(5):
        found = await replay.ainvoke(question)
        assert found == live[question]
        assert replay.invoke(question) == found
        assert len(to_documents(found)) == 3


@pytest.mark.parametrize("found", [PAGES, []])
async def test_what_pages_gave_is_found_again(out: Path, found: list[Retrieved]) -> None:
    await record(["A?"], Found(documents=found), out, read_pages=True)

    assert RecordedRetriever.from_file(out).invoke("A?") == found


async def test_notes_of_the_search_are_left_again(out: Path) -> None:
    handler = searxng([{"url": "https://a.example/", "title": "", "content": "text"}])
    silent = searxng([{"url": "u", "title": "", "content": "t"}], silent=[("bing", "timeout")])
    for number, speaking in enumerate((silent, handler)):
        with searching(speaking) as (_, retriever), collecting() as live:
            await record([f"{number}?"], retriever, out)
            await retriever.ainvoke(f"{number}?")
        with collecting() as again:
            RecordedRetriever.from_file(out, k=3).invoke(f"{number}?")
        assert again == live
        assert len(again) == 1 - number


async def test_fewer_documents_can_be_asked_for_and_more_leave_a_note(out: Path) -> None:
    await record(["A?"], Found(documents=PAGES), out, top_k=3)
    replay = RecordedRetriever.from_file(out, k=2)

    with collecting() as notes:
        assert replay.invoke("A?") == PAGES[:2]
        assert replay.invoke("A?", k=3) == PAGES
    assert notes == []
    with collecting() as notes:
        assert replay.invoke("A?", k=4) == PAGES
    assert notes == ["3 results were requested when recording, and 4 are requested now"]


async def test_a_question_that_was_not_recorded_is_an_error_that_names_the_nearest(
    out: Path,
) -> None:
    await record(["When was the lamp lit?", "Why?"], Found(documents=PAGES), out)
    replay = RecordedRetriever.from_file(out)

    with pytest.raises(NoDocumentsError) as caught:
        await replay.ainvoke("When was lamp lit?")
    for words in ("'When was lamp lit?'; questions recorded: 2", "is 'When was the lamp lit?'"):
        assert words in str(caught.value)
    with pytest.raises(NoDocumentsError, match=r"questions recorded: 2$"):
        replay.invoke("Something quite different")


def test_a_recording_that_was_stopped_can_be_used(out: Path) -> None:
    asyncio.run(record(["A?"], Found(documents=PAGES), out))
    content = out.read_bytes()
    out.write_bytes(content + content[:50])

    replay = RecordedRetriever.from_file(out)

    assert replay.invoke("A?") == PAGES
    assert replay.missing(["C?", " A? ", "D?", "C?"]) == ("C?", "D?")


@pytest.mark.parametrize("content", [b"", b"\n", b'{"format": 1'])
def test_a_recording_without_a_question_is_refused(out: Path, content: bytes) -> None:
    out.write_bytes(content)
    with pytest.raises(InputError, match=r"r\.jsonl: the recording is empty"):
        RecordedRetriever.from_file(out)


def test_a_line_says_everything_in_fields_of_its_own(out: Path) -> None:
    asyncio.run(record(["Où? 空は"], Found(documents=PAGES[2:]), out))

    assert '"question": "Où? 空は"'.encode() in out.read_bytes()
    line = json.loads(out.read_text("utf-8"))
    result = line.pop("results")[0]
    del line["recorded_at"]
    question = {"question": "Où? 空は", "search": "searxng", "parameters": PARAMETERS}
    assert line == {"format": 1, **question, "notes": []}
    assert result == {
        "rank": 3,
        "provider": "serper",
        "url": "https://lamp.example/3",
        "title": "Lamp",
        "snippet": "a snippet",
        "date": "2024-01-01",
        "text": PAGES[2].page_content,
        "text_from": "page",
        "fetched_at": "2026-11-21T09:30:00+00:00",
        "page_error": None,
        "metadata": {"score": 0.5},
    }


def test_a_line_of_an_earlier_version_is_read_with_its_hashes_left_aside(out: Path) -> None:
    asyncio.run(record(["Où?"], Found(documents=PAGES), out))
    line = json.loads(out.read_text("utf-8"))
    for part in (line, *line["results"]):
        part["sha256"] = "0" * 64
    out.write_text(json.dumps(line | {"adopted": "2026"}, sort_keys=True) + "\r\n")

    assert RecordedRetriever.from_file(out).invoke(" Ou\u0300?\n") == PAGES


def test_of_several_lines_with_a_question_the_last_one_counts(out: Path) -> None:
    asyncio.run(record(["A?"], Found(documents=PAGES), out))
    first = out.read_bytes()
    out.unlink()
    asyncio.run(record([" A?"], Found(documents=[]), out))
    out.write_bytes(first + out.read_bytes())

    assert RecordedRetriever.from_file(out).invoke("A?") == []


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (b'"notes": [], ', b"", ", field notes: "),
        (b'"rank": 1', b'"rank": "1"', ", field results.0.rank: "),
        (b'"rank": 1', b'"rank": 0', ", field results.0.rank: "),
        (b"0.5", b"1e999", ", field results.2.metadata.score"),
        (b'"top_k": 3', b'"top_k": NaN', ", field parameters.top_k"),
        (b'"format": 1', b'"format": 0', ", field format: "),
        (b'"format": 1', b'"format": 2', ", field format: 2 was written by a newer .*; upgrade"),
        (b'{"format": 1,', b'{"format": 1, "questi', ": not a recorded question"),
        (b'{"format": 1,', b"[" * 100_000, ": not a recorded question"),
        (b"Lamp", b"\xff", ": not a recorded question"),
    ],
)
def test_a_damaged_line_is_refused_by_file_line_and_field(
    out: Path, before: bytes, after: bytes, words: str
) -> None:
    asyncio.run(record(["A?", "B?"], Found(documents=PAGES), out))
    first, second = out.read_bytes().splitlines(keepends=True)
    assert before in second
    out.write_bytes(first + second.replace(before, after, 1))

    with pytest.raises(InputError, match=rf"r\.jsonl, line 2{words}") as caught:
        RecordedRetriever.from_file(out)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_named(out: Path) -> None:
    with pytest.raises(InputError, match=r"r\.jsonl: cannot be read \(No such file"):
        RecordedRetriever.from_file(out)


NAMES = ["rank", "provider", "source", "url", "link", "title", "snippet", "date", "text_from"]
NAMES += ["page_error", "fetched_at"]
VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just([1])
METADATA = st.dictionaries(st.sampled_from(NAMES) | st.text(), VALUES)
TEXTS = st.text(st.characters(codec="utf-8") | st.characters(categories=["Cs"]))
FOUND = st.lists(st.builds(Retrieved, page_content=TEXTS, metadata=METADATA), max_size=4)


@settings(suppress_health_check=list(HealthCheck))  # on a busy machine
@given(found=FOUND)
@example(found=[Retrieved(page_content="x\ud83d", metadata={"\udc00": "\ud83d\udc00"})])
@example(found=[Retrieved(page_content="x", metadata={"rank": True})])
def test_whatever_a_search_returns_gives_the_same_documents_again(
    tmp_path_factory: pytest.TempPathFactory, found: list[Retrieved]
) -> None:
    out = tmp_path_factory.mktemp("any") / "r.jsonl"
    asyncio.run(record(["A?"], Found(documents=found), out))
    assert len(out.read_bytes().splitlines()) == 1
    again = RecordedRetriever.from_file(out).invoke("A?")
    assert to_documents(again) == to_documents(found)
