"""A synchronous caller's thread: it waits for the loop, and runs work that belongs in it."""

import gc
import threading
import weakref
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

from conflictscore.graph.binding import in_callers_thread, run_for_sync_caller
from conflictscore.graph.self_correction import chain
from conflictscore.loop.state import RagState, RunRuntime, ScorerInput, documents_of
from conflictscore.records import Document
from tests.scoring_files.instant_judge import instant_context

whose = ContextVar("whose", default="nobody's")


def test_the_waiting_thread_does_what_is_asked_of_it_in_its_own_context() -> None:
    async def work() -> tuple[int, str]:
        assert threading.get_ident() != caller
        whose.set("the loop's")
        return await in_callers_thread(lambda: (threading.get_ident(), whose.get()))

    caller = threading.get_ident()
    whose.set("the caller's")
    assert run_for_sync_caller(work()) == (caller, "the caller's")


def test_ctrl_c_there_ends_the_caller_and_the_work_that_it_waited_for() -> None:
    ended = threading.Event()

    def interrupted() -> None:
        raise KeyboardInterrupt

    async def work() -> None:
        try:
            await in_callers_thread(interrupted)
        finally:
            ended.set()

    with pytest.raises(KeyboardInterrupt):
        run_for_sync_caller(work())
    assert ended.wait(timeout=60)


def test_a_function_called_there_may_itself_wait_for_a_loop() -> None:
    async def inner() -> str:
        return await in_callers_thread(lambda: "done")

    async def outer() -> str:
        return await in_callers_thread(lambda: run_for_sync_caller(inner()))

    assert run_for_sync_caller(outer()) == "done"


@pytest.mark.parametrize("fails", [False, True])
async def test_the_steps_of_a_run_share_its_records_until_it_ends(
    fails: bool, tmp_path: Path
) -> None:
    seen: list[Document] = []

    async def receive(state: RagState, _: RunRuntime) -> dict[str, Any]:
        return {"run_id": "r", "documents": [{"number": 1, "text": state["answer"]}]}

    async def label(state: RagState, _: RunRuntime) -> dict[str, Any]:
        seen.extend(documents_of(state))
        return {}

    async def score(state: RagState, _: RunRuntime) -> dict[str, Any]:
        seen.extend(documents_of(state))
        return {"documents": [{"number": 1, "text": "Changed."}]}

    async def record(state: RagState, _: RunRuntime) -> dict[str, Any]:
        seen.extend(documents_of(state))
        if fails:
            raise ValueError("it fails")
        return {}

    steps = (receive, label, score, record)
    builder, _ = chain(steps, instant_context(tmp_path / "cache.sqlite"), ScorerInput)
    graph = builder.compile()
    if fails:
        with pytest.raises(ValueError, match="it fails"):
            await graph.ainvoke({"answer": "It was lit."})
    else:
        await graph.ainvoke({"answer": "It was lit."})
    first, second, third = seen
    assert first is second
    assert third.text == "Changed."
    held = [weakref.ref(first), weakref.ref(third)]
    del first, second, third
    seen.clear()
    gc.collect()
    assert [one() for one in held] == [None, None]
