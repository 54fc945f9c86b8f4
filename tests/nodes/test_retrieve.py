"""The documents that a run finds or gets, and input that it refuses before paying for anything."""

from typing import Any

import pytest
from langchain_core.documents import Document as Retrieved
from langchain_core.retrievers import BaseRetriever
from pydantic import Field

from conflictscore.errors import NoDocumentsError
from conflictscore.loop.inputs import given_answer
from conflictscore.loop.searching import find_documents
from conflictscore.nodes.retrieve import retrieve
from conflictscore.retrieval.search_notes import note
from tests.nodes.steps import running, setting

LAMP = "The lamp was lit in 1871, says the keeper's log of that year, and burned all night long."


class Shelf(BaseRetriever):
    """Finds the same each time, with a note of its own and one left during the search."""

    texts: list[str] = Field(default_factory=list)
    notes: tuple[str, ...] = ("the index is old",)
    queries: list[str] = Field(default_factory=list)

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Retrieved]:
        self.queries.append(query)
        note("one page could not be read")
        note("two were empty")
        return [
            Retrieved(text, metadata={"title": f"T{n}", "url": f"https://{n}.test/"})
            for n, text in enumerate(self.texts, start=1)
        ]


async def test_found_documents_are_numbered_marked_and_reported_with_notes() -> None:
    shelf, events = Shelf(texts=[LAMP, "The tower is white.", f"{LAMP} "]), list[Any]()

    update = await retrieve(
        {"question": " When was it lit? ", "notes": ["the first note"]},
        running(setting(retriever=shelf, run_id="run-7"), events),
    )

    assert shelf.queries == ["When was it lit?"]
    assert [(d["number"], d["duplicate_of"]) for d in update.pop("documents")] == [
        (1, None),
        (2, None),
        (3, 1),
    ]
    assert update == {
        "question": "When was it lit?",
        "asked": "When was it lit?",
        "options": [],
        "run_id": "run-7",
        "method": "regenerated-rag",
        "notes": [
            "the first note",
            "the index is old",
            "one page could not be read",
            "two were empty",
        ],
        "changes": [],
    }
    assert events == [
        {
            "event": "documents",
            "documents": [
                {"number": n, "title": f"T{n}", "url": f"https://{n}.test/"} for n in (1, 2, 3)
            ],
        }
    ]


async def test_what_is_given_is_not_searched_for() -> None:
    shelf = Shelf(texts=[LAMP])
    asked: Any = {
        "question": "When was it lit?",
        "asked": "When?",
        "options": [" In 1871. ", "In 1874."],
        "documents": [LAMP, "The tower is white."],
    }

    update = await retrieve(asked, running(setting(retriever=shelf)))

    assert (shelf.queries, update["notes"]) == ([], [])
    assert (update["asked"], update["options"]) == ("When?", ["In 1871.", "In 1874."])
    assert [d["text"] for d in update["documents"]] == asked["documents"]
    assert len(update["run_id"]) == 32


async def test_a_search_that_finds_nothing_says_what_it_noted_on_the_way() -> None:
    with pytest.raises(NoDocumentsError) as found_nothing:
        await find_documents(Shelf(), "When?")

    assert str(found_nothing.value) == (
        "no documents found for: When? (one page could not be read; two were empty)"
    )

    class Silent(BaseRetriever):
        def _get_relevant_documents(self, query: str, **_: Any) -> list[Retrieved]:
            return []

    with pytest.raises(NoDocumentsError, match=r"^no documents found for: When\?$"):
        await find_documents(Silent(), "When?")


def test_the_answer_that_is_given_along_is_free_or_one_of_the_options() -> None:
    options = ["In 1871.", "In 1874."]

    assert given_answer({}, options) is None
    free = given_answer({"draft_answer": " In 1873. "}, [])
    assert free is not None
    assert (free.text, free.option) == ("In 1873.", None)
    for number, option in enumerate(options):
        chosen = given_answer({"draft_answer": option.upper()}, options)
        assert chosen is not None
        assert (chosen.text, chosen.option) == (option, number)
