"""What a search says to its operator does not reach the callers of a service."""

import logging
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document as Retrieved

from conflictscore.errors import NoDocumentsError
from conflictscore.retrieval.corpus import CorpusRetriever
from conflictscore.retrieval.discreet import DiscreetRetriever, discreet, without_folders
from conflictscore.retrieval.recording import RecordedRetriever, record_questions
from conflictscore.retrieval.search_notes import collecting, note
from tests.middleware.service.serving import QUESTION, serving
from tests.retrieval.pages.finding import Found
from tests.retrieval.recording.searching import PARAMETERS
from tests.world import World

PRIVATE = "When will Ida Reeve be arrested?"
LAMP = Retrieved(page_content="The lamp was lit in 1871.")


class Noting(Found):
    """A search with a note about a file."""

    notes: tuple[str, ...] = ("/srv/secret/board.pdf: pages without text: 3",)


@pytest.fixture
async def recorded(tmp_path: Path) -> RecordedRetriever:
    """A recording, made beside other files and with another person's question."""
    out = tmp_path / "secret.jsonl"
    search: Any = Noting(documents=[LAMP])
    wanted = (QUESTION, PRIVATE)
    await record_questions(wanted, search, out, search="searxng", parameters=PARAMETERS)
    return RecordedRetriever.from_file(out)


async def test_notes_for_the_operator_are_logged_once(
    recorded: RecordedRetriever, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    retriever = DiscreetRetriever(retriever=recorded)
    for _ in range(2):
        with collecting() as notes:
            assert retriever.invoke(QUESTION) == await retriever.ainvoke(QUESTION)
        assert sum("log of this service" in text for text in notes) == 1
        assert not any("board.pdf" in text or "secret" in text for text in notes)
    assert caplog.text.count("board.pdf") == 1


async def test_a_missing_question_names_neither_the_file_nor_other_questions(
    recorded: RecordedRetriever,
) -> None:
    retriever = DiscreetRetriever(retriever=recorded)
    with pytest.raises(NoDocumentsError) as caught:
        retriever.invoke("When was Ida Reeve arrested?")
    with pytest.raises(NoDocumentsError) as caught_later:
        await retriever.ainvoke("When was Ida Reeve arrested?")
    assert {str(caught.value), str(caught_later.value)} == {"no documents found"}


def test_notes_of_opening_are_counted_for_callers_and_other_notes_pass(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Searching(Noting):
        def search(self, query: str, k: int) -> list[Retrieved]:
            note("2 of 3 pages could not be read")
            return super().search(query, k)

    retriever = DiscreetRetriever(retriever=Searching(documents=[LAMP]))
    with collecting() as notes:
        retriever.invoke(QUESTION)
    assert notes == ["2 of 3 pages could not be read"]
    assert "board.pdf" in caplog.text
    assert not any("board.pdf" in text for text in retriever.notes)
    assert len(retriever.notes) == 1
    assert discreet(None) is None


async def test_no_reply_of_a_service_holds_a_recordings_notes(recorded: RecordedRetriever) -> None:
    with serving(World(), retriever=recorded) as served:
        first, second = served.ask(), served.ask("When was Ida Reeve arrested?")
        shown = "".join([first.text, second.text, str(served.run(first)), str(served.run(second))])
    assert "log of this service" in first.text
    assert not any(word in shown for word in ("board.pdf", "secret", PRIVATE))


def test_a_note_is_logged_even_if_many_others_were(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conflictscore.retrieval.discreet._MOST_LOGGED", 3)
    retriever = DiscreetRetriever(retriever=Found(documents=[LAMP]))
    for number in range(5):
        retriever._log_once(f"note {number}")
    assert [record.message for record in caplog.records] == [f"note {n}" for n in range(5)]


def test_no_reply_of_a_service_holds_the_folders_of_its_documents(tmp_path: Path) -> None:
    for folder, name in (("log", "day.md"), ("gazette", "day.md"), ("board", "minutes.md")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(f"The lamp was lit in 1871, says the {folder}.")
    corpus = CorpusRetriever.from_paths([tmp_path])
    with serving(World(), retriever=corpus) as served:
        reply = served.ask()
        run = served.run(reply)
    shown = f"{reply.text} {run}"
    addresses = {document["url"] for document in run["documents"]}
    assert addresses == {"gazette/day.md", "log/day.md", "minutes.md"}
    assert str(tmp_path) not in shown
    assert corpus.documents[0].url.startswith(str(tmp_path)), "the operator still sees the path"


async def test_a_search_of_ones_own_shows_no_folders_either() -> None:
    paths = ["/srv/a/x.md", "file:///srv/b%20c/x.md", "C:\\papers\\y.md", "docs/z.md"]
    addresses = [*paths, "https://site.test/x.md"]
    documents = [
        Retrieved(page_content=f"Text {number}", metadata={"source": address})
        for number, address in enumerate(addresses)
    ]
    shown = await DiscreetRetriever(retriever=Found(documents=documents)).ainvoke(QUESTION)
    expected = ["a/x.md", "b c/x.md", "y.md", *addresses[3:]]
    assert [document.metadata["source"] for document in shown] == expected
    assert [document.metadata["source"] for document in documents] == addresses


@pytest.mark.parametrize("field", ["link", "path", "title", "file_directory"])
async def test_no_field_shows_folders(field: str) -> None:
    fields = {field: "/srv/customers/x.md", "site": "a/b of /srv", "rank": 1}
    documents = [Retrieved(page_content="The lamp was lit.", metadata=fields)]
    [shown] = await DiscreetRetriever(retriever=Found(documents=documents)).ainvoke(QUESTION)
    assert shown.metadata == {**fields, field: "x.md"}


def test_paths_that_end_alike_are_told_apart() -> None:
    deep = "/".join("abcdefghijklmnopqrstuvwxyz")
    names = without_folders([f"/1/{deep}", f"/2/{deep}", "/3/z"])
    assert len({*names.values()}) == 3
