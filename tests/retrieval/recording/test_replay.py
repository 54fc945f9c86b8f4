"""What was recorded is found again without a network, just as it was."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document as Retrieved
from langchain_core.retrievers import BaseRetriever

from conflictscore.errors import InputError, NoDocumentsError
from conflictscore.records import Document
from conflictscore.retrieval.base import TopKRetriever
from conflictscore.retrieval.documents import to_documents
from conflictscore.retrieval.opening import open_search
from conflictscore.retrieval.recording.file import RecordingIndex
from conflictscore.retrieval.recording.recorder import record_questions
from conflictscore.retrieval.recording.replay import RecordedRetriever
from conflictscore.retrieval.search_notes import collecting
from tests.fakes.search_server import SearchServer, searxng
from tests.retrieval.recording.searching import PARAMETERS, questions, searching


async def record(
    wanted: Sequence[str], retriever: BaseRetriever, out: Path, **parameters: Any
) -> None:
    given = {**PARAMETERS, **parameters}
    await record_questions(wanted, retriever, out, search="searxng", parameters=given)


def change(path: Path, how: Callable[[bytes], bytes]) -> None:
    path.write_bytes(how(path.read_bytes()))


class Listed(TopKRetriever):
    """Finds what it is given."""

    found: tuple[Retrieved, ...]

    def search(self, query: str, k: int) -> list[Retrieved]:
        return list(self.found[:k])


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


PAGES = (
    page(1, text_from="page", page_truncated=True),
    page(2, text_from="snippet", page_error="HTTP 404"),
    page(3, text_from="page", score=0.5),
)


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
        documents: tuple[Document, ...] = to_documents(found)
        assert documents == to_documents(live[question])
        assert len(documents) == 3


@pytest.mark.parametrize("found", [PAGES, ()])
async def test_what_pages_gave_is_found_again(out: Path, found: tuple[Retrieved, ...]) -> None:
    await record(["A?"], Listed(found=found), out, read_pages=True)

    assert RecordedRetriever.from_file(out).invoke("A?") == list(found)


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
    await record(["A?"], Listed(found=PAGES), out, top_k=3)
    replay = RecordedRetriever.from_file(out, k=2)

    with collecting() as notes:
        assert replay.invoke("A?") == list(PAGES[:2])
        assert replay.invoke("A?", k=3) == list(PAGES)
    assert notes == []
    with collecting() as notes:
        assert replay.invoke("A?", k=4) == list(PAGES)
    assert notes == [
        f"{out}: the first 3 results were recorded for this question, and 4 are asked for"
    ]


async def test_a_question_that_was_not_recorded_is_an_error_that_names_the_nearest(
    out: Path,
) -> None:
    await record(["When was the lamp lit?", "Why?"], Listed(found=PAGES), out)
    replay = RecordedRetriever.from_file(out)

    with pytest.raises(NoDocumentsError) as caught:
        await replay.ainvoke("WHEN was it lit?")
    assert str(caught.value) == (
        f"{out}: there is no recording for the question 'WHEN was it lit?';"
        " questions recorded: 2; the nearest one is 'When was the lamp lit?'"
    )
    with pytest.raises(NoDocumentsError, match=r"questions recorded: 2$"):
        replay.invoke("Something quite different")


async def test_it_says_what_is_recorded_and_what_is_missing(out: Path) -> None:
    await record(["A?", "B?"], Listed(found=PAGES), out)
    replay = RecordedRetriever.from_file(out)

    assert sorted(replay.questions()) == ["A?", "B?"]
    assert replay.missing(["C?", " A? ", "D?", "C?"]) == ("C?", "D?")


async def test_a_recording_that_was_stopped_can_be_used_with_a_note(out: Path) -> None:
    await record(["A?"], Listed(found=PAGES), out)
    assert RecordedRetriever.from_file(out).notes == ()
    change(out, lambda content: content + content[:50])

    replay = RecordedRetriever.from_file(out)

    assert replay.notes == (
        f"{out}: left out half a line at its end; was the recording interrupted?",
    )
    assert replay.questions() == ("A?",)
    with pytest.raises(NoDocumentsError, match="half a line at its end"):
        replay.invoke("Something quite different")


@pytest.mark.parametrize("content", [b"", b"\n", b'{"format": 1'])
def test_a_recording_without_a_question_is_refused(out: Path, content: bytes) -> None:
    out.write_bytes(content)
    with pytest.raises(InputError, match=r"r\.jsonl: nothing is recorded in it"):
        RecordedRetriever.from_file(out)


async def test_many_threads_may_ask_at_once(out: Path) -> None:
    class Echo(TopKRetriever):
        def search(self, query: str, k: int) -> list[Retrieved]:
            return [Retrieved(page_content=f"on {query}")]

    wanted = questions(40)
    await record(wanted, Echo(), out)
    replay = RecordedRetriever.from_file(out)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(replay.invoke, wanted * 5))

    assert [text for [text] in found] == [
        Retrieved(page_content=f"on {question}") for question in wanted * 5
    ]


async def test_a_search_after_it_answers_what_was_not_recorded(out: Path) -> None:
    await record(["A?"], Listed(found=PAGES), out)
    handler = searxng([{"url": "https://new.example/", "title": "", "content": "new"}])
    with SearchServer(handler) as server:
        chain = open_search(f"recorded:{out},searxng:{server.endpoint}", top_k=1)

        assert chain.invoke("A?") == [PAGES[0]]
        assert not server.requests
        assert [document.page_content for document in chain.invoke("B?")] == ["new"]


async def test_a_recording_keeps_what_a_recording_found(out: Path, tmp_path: Path) -> None:
    await record(["A?", "B?"], Listed(found=PAGES), out)
    part = tmp_path / "part.jsonl"

    await record(["B?"], RecordedRetriever.from_file(out), part)

    copied, original = (RecordingIndex.of(file).get("B?") for file in (part, out))
    assert copied
    assert original
    assert copied.results == original.results
