import asyncio
import logging
import threading
from contextvars import copy_context

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda

from conflictscore.retrieval.search_notes import collecting, note


class NotingRetriever(BaseRetriever):
    """A retriever with only a synchronous method, which LangChain awaits in its own executor."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        note(f"searched for {query}")
        return []


def test_notes_keep_their_order_and_each_appears_once() -> None:
    with collecting() as notes:
        for text in ("second best", "a page is gone", "second best"):
            note(text)
    assert notes == ["second best", "a page is gone"]


def test_without_a_collector_a_note_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with collecting() as notes:
        pass
    with caplog.at_level(logging.INFO, "conflictscore"):
        note("50 % of nothing")
    assert notes == []
    assert [record.getMessage() for record in caplog.records] == ["50 % of nothing"]


def test_a_collector_inside_another_one_keeps_its_notes_for_itself() -> None:
    with collecting() as outer:
        note("before")
        with collecting() as inner:
            note("inside")
        note("after")
    assert (outer, inner) == (["before", "after"], ["inside"])


async def test_a_retriever_in_langchains_executor_reaches_the_collector() -> None:
    def search(query: str) -> list[Document]:
        return NotingRetriever().invoke(query)

    with collecting() as notes:
        await NotingRetriever().ainvoke("one")
        await RunnableLambda(search).ainvoke("two")
        await NotingRetriever().abatch(["three"])
        NotingRetriever().batch(["four", "four"])
    assert notes == [f"searched for {name}" for name in ("one", "two", "three", "four")]


async def test_threads_and_tasks_reach_the_collector_of_whoever_started_them() -> None:
    with collecting() as notes:
        await asyncio.to_thread(note, "to_thread")
        await asyncio.create_task(asyncio.to_thread(note, "task"))
        thread = threading.Thread(target=copy_context().run, args=(note, "thread"), daemon=True)
        thread.start()
        thread.join()
    assert notes == ["to_thread", "task", "thread"]
