"""Runs that are stopped, and go on from a real SQLite checkpoint."""

from pathlib import Path

import pytest
from langchain_core.documents import Document as Retrieved
from langchain_core.runnables import RunnableConfig
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from conflictscore import create_self_correcting_rag
from conflictscore.errors import ConflictScoreError
from conflictscore.nodes.state import RagInput
from conflictscore.storage.cache import ContentCache
from tests.fakes.openai_server import Fault
from tests.world import DISAGREEING, PAPER, World, paper_loop

QUESTION: RagInput = {"question": "When was the lamp lit?", "documents": DISAGREEING}
THREAD: RunnableConfig = {"configurable": {"thread_id": "one"}}


async def test_a_run_that_failed_goes_on_where_it_was(
    model: ChatOpenAI, world: World, tmp_path: Path
) -> None:
    world.broken["generate"] = Fault(status=503)
    documents = [Retrieved(d["text"], metadata={"title": d["title"]}) for d in DISAGREEING]
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "runs.sqlite")) as saver:
        graph = paper_loop(model, checkpointer=saver)
        with pytest.raises(ConflictScoreError, match="503"):
            await graph.ainvoke({**QUESTION, "documents": documents}, THREAD)
        run_id = (await graph.aget_state(THREAD)).values["run_id"]
        world.broken.clear()

        state = await graph.ainvoke(None, THREAD)

    assert state["run_id"] == run_id
    assert state["answer"] == "It was lit in 1874."


async def test_a_verdict_on_a_cut_document_is_not_taken_for_one_on_the_whole(
    model: ChatOpenAI, tmp_path: Path
) -> None:
    cache = ContentCache(tmp_path / "verdicts.sqlite")
    long = {"text": "A long walk along the shore. " * 2000 + "The lamp was lit in 1880."}
    question: RagInput = {"question": "When?", "documents": [long]}
    for window, label in ((4096, "IRRELEVANT"), (100_000, "CONTRADICTS")):
        graph = create_self_correcting_rag(model, cache=cache, **PAPER, context_window=window)
        state = await graph.ainvoke(question)
        assert state["report"]["claims"][0]["labels"][0]["label"] == label
