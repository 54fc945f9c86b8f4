"""What is searched for once more, and what becomes of that which is found."""

import time
from typing import Any

from langchain_core.documents import Document as Retrieved
from langchain_core.retrievers import BaseRetriever
from pydantic import Field

from conflictscore.nodes.look_further import look_further
from conflictscore.retrieval.search_notes import note
from conflictscore.threads import _deadline
from tests.nodes.steps import PROMPTS, Says, attempt, claim_with, running, scored, setting

LAMP = claim_with("+-", "The lamp was lit in 1871.")
KNOWN = [
    {"number": 1, "text": "Lit in 1871.", "title": "Gazette", "url": "https://a.test/"},
    {"number": 2, "text": "Lit in 1874.", "url": "notes.txt"},
]


class Shelf(BaseRetriever):
    """Finds what stands under a query; an error is raised."""

    found: dict[str, Any] = Field(default_factory=dict)

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Retrieved]:
        note(f"searched for {query}")
        known = self.found.get(query, [])
        if isinstance(known, Exception):
            raise known
        return [
            Retrieved(text, metadata={"url": url, "title": title} | more)
            for text, url, title, more in known
        ]


def page(text: str, url: str = "", title: str = "", **more: Any) -> tuple[Any, ...]:
    return text, url, title, more


async def looked(
    found: dict[str, Any] | None, *replies: str | Exception, claims: Any = (LAMP,), **known: Any
) -> tuple[dict[str, Any], list[Any], Says]:
    """What a further search adds to a run, what it tells, and what the model was asked."""
    model, events = Says(*replies), list[Any]()
    searching = None if found is None else Shelf(found=found)
    settings: dict[str, Any] = {"retriever": searching, **known.pop("settings", {})}
    context = setting(generator=model, prompts=PROMPTS, look_further="disputed", **settings)
    state: Any = {
        "question": "When was it lit?",
        "documents": KNOWN,
        "attempts": [attempt(scored(*claims)).to_json()],
        "notes": ["the first note"],
        "usage": {"calls": 2},
        **known,
    }
    return await look_further(state, running(context, events)), events, model


async def test_one_page_is_one_witness_whatever_part_of_it_is_found() -> None:
    update, _, _ = await looked(
        {
            "lamp": [
                page("Another part of it.", "https://a.test/"),
                page("Another file of that name.", "notes.txt"),
                page("A passage of a file.", "notes.txt", passage=3),
                page("Lit in 1874.", "https://copy.test/"),
            ]
        },
        "FOR: lamp",
    )

    [search] = update["searches"]
    assert (search["known"], search["found"]) == ([1, 2], [3, 4])
    assert [d["url"] for d in update["documents"][2:]] == ["notes.txt", "https://copy.test/"]


async def test_half_of_the_time_that_a_second_answer_leaves_goes_into_the_searches() -> None:
    left: list[float] = []

    class Timed(Shelf):
        def _get_relevant_documents(self, query: str, **_: Any) -> list[Retrieved]:
            known = _deadline.get()
            left.append(known[0] - time.monotonic() if known else 0)
            return []

    shelf: dict[str, Any] = {"retriever": Timed()}
    took: dict[str, Any] = {"timings": {"generate": 1000.0}}
    for budget in (None, 4000):
        settings = {**shelf, "budget_seconds": budget}
        await looked({}, "FOR: lamp", settings=settings, **took)

    without, with_budget = left
    assert without == 0
    assert 900 < with_budget <= 1000, "of 4000 seconds 1000 are gone, and 1000 are kept back"
