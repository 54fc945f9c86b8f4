"""Rows are scored without LangGraph, with the same outcome and the same events for tracers."""

import asyncio
from pathlib import Path

from langchain_core.tracers.context import collect_runs

from conflictscore.graph.self_correction import build_scoring_graph
from conflictscore.loop.state import RagState
from conflictscore.nodes.record import run_of
from conflictscore.records import Run
from conflictscore.scoring_files.engine import score_answer
from tests.scoring_files.files import answer_row, score, write_lines
from tests.scoring_files.instant_judge import instant_context


def _without_what_differs(run: Run) -> Run:
    """Return the run without its id and times, which differ between any two runs."""
    return run.model_copy(update={"run_id": None, "timings": sorted(run.timings)})


def test_a_row_has_the_same_record_as_a_run_of_the_scoring_graph(tmp_path: Path) -> None:
    task: RagState = {
        "answer": "The lamp was lit in 1871. Its tower is white. Nobody saw the Alpha burn.",
        "documents": [
            {"text": "The lamp was lit in 1871.", "title": "Ledger", "url": "https://a.example/1"},
            {"text": "The lamp was lit in 1871.", "metadata": {"date": "1901"}},
            "The tower is red, and was never white. " + "The keepers wrote. " * 30,
        ],
    }

    async def in_both_ways() -> tuple[Run, Run]:
        graph = build_scoring_graph(instant_context(tmp_path / "graph.sqlite"))
        by_graph = await graph.ainvoke(task)
        directly = await score_answer(instant_context(tmp_path / "row.sqlite"), task)
        assert not isinstance(directly, str)
        return run_of(by_graph), run_of(directly)

    by_graph, directly = map(_without_what_differs, asyncio.run(in_both_ways()))
    assert directly == by_graph
    assert directly.report is not None
    assert len(directly.report.claims) == 3
    assert directly.usage.calls == 1 + 3 * 3


def test_a_tracer_sees_each_call_of_a_file(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", [answer_row(number, 1) for number in range(3)])
    with collect_runs() as tracer:
        score(
            tmp_path / "in.jsonl",
            tmp_path / "out.jsonl",
            context=instant_context(tmp_path / "cache.sqlite"),
        )
    assert [run.run_type for run in tracer.traced_runs] == ["llm"] * 3
    assert all(run.parent_run_id is None and run.outputs for run in tracer.traced_runs)
