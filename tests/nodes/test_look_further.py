"""What is searched for once more, and how the new documents are used."""

import time
from typing import Any

from langchain_core.documents import Document as Retrieved
from langchain_core.retrievers import BaseRetriever
from pydantic import Field

from conflictscore.nodes.look_further import look_further
from conflictscore.threads import _deadline
from tests.nodes.steps import PROMPTS, Says, attempt, claim_with, running, scored, setting

LAMP = claim_with("+-", "The lamp was lit in 1871.")
KNOWN = [
    {"number": 1, "text": "Lit in 1871.", "title": "Gazette", "url": "https://a.test/"},
    {"number": 2, "text": "Lit in 1874.", "url": "notes.txt"},
]


class Shelf(BaseRetriever):
    """Finds these documents for any query, and remembers its time limit."""

    found: list[Retrieved] = Field(default_factory=list)
    left: list[float] = Field(default_factory=list)

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Retrieved]:
        known = _deadline.get()
        self.left.append(known[0] - time.monotonic() if known else 0)
        return self.found


async def looked(shelf: Shelf, timings: Any = None, **settings: Any) -> dict[str, Any]:
    """The update of a run after a further search."""
    known: dict[str, Any] = {"look_further": "disputed", "retriever": shelf, **settings}
    state: Any = {
        "question": "When was it lit?",
        "documents": KNOWN,
        "attempts": [attempt(scored(LAMP)).to_json()],
        "timings": timings or {},
        "notes": [],
    }
    return await look_further(
        state, running(setting(generator=Says("FOR: lamp"), prompts=PROMPTS, **known))
    )


async def test_one_page_is_one_witness_whatever_part_of_it_is_found() -> None:
    found = [
        Retrieved("Another part of it.", metadata={"url": "https://a.test/"}),
        Retrieved("Another file of that name.", metadata={"url": "notes.txt"}),
        Retrieved("A passage of a file.", metadata={"url": "notes.txt", "passage": 3}),
        Retrieved("Lit in 1874.", metadata={"url": "https://copy.test/"}),
    ]

    update = await looked(Shelf(found=found))

    [search] = update["searches"]
    assert (search["known"], search["found"]) == ([1, 2], [3, 4])
    assert [d["url"] for d in update["documents"][2:]] == ["notes.txt", "https://copy.test/"]


async def test_half_of_the_time_that_a_second_answer_leaves_goes_into_the_searches() -> None:
    shelf = Shelf()
    for budget in (None, 4000):
        await looked(shelf, {"generate": 1000.0}, budget_seconds=budget)

    without, with_budget = shelf.left
    assert without == 0
    assert 900 < with_budget <= 1000, "of 4000 seconds 1000 are gone, and 1000 are kept back"
