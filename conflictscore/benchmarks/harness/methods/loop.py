"""The loop's first answer and what it makes of it: three methods that share one step."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from conflictscore.benchmarks.harness.methods.asker import Asker, graph_input
from conflictscore.benchmarks.harness.methods.method import Asked, BenchmarkMethod
from conflictscore.benchmarks.harness.records import MethodResult
from conflictscore.graph.self_correction import SelfCorrectionGraph, build_self_correction_graph
from conflictscore.records import Method

if TYPE_CHECKING:
    from conflictscore.benchmarks.harness.results import Recorded

__all__ = ["GUARDED_RAG", "RAG", "REGENERATED_RAG"]

_CONTROLS = ("placebo", "resample")


async def _loop(asker: Asker, asked: Asked) -> dict[str, Any]:
    """The first answer, its score and, where a claim has evidence on both sides, the next."""
    question, documents = asked.question, asked.documents
    with asker.first_usage() as first_usage:
        first = await asker.answer_first(question, documents)
    state = await asker.run(
        _graph, {**graph_input(question, documents), "draft_answer": first["answer"]["text"]}
    )
    return {
        "attempts": state["attempts"],
        "changes": state["changes"],
        "reason": state["reason"],
        "notes": [*first["notes"], *state["notes"]],
        "regeneration_error": state.get("regeneration_error"),
        "first_usage": {name: usage.to_json() for name, usage in first_usage.items()},
    }


def _graph(asker: Asker) -> SelfCorrectionGraph:
    return build_self_correction_graph(replace(asker.context, method=Method.REGENERATED_RAG))


def _guarded(_: BenchmarkMethod, recorded: "Recorded") -> MethodResult | None:
    """The last answer where the loop's guard accepts it, otherwise the first."""
    if recorded.last is None or recorded.last.answer is None:
        return recorded.last
    return recorded.last if recorded.guard and recorded.guard.accepted else recorded.first


RAG = BenchmarkMethod(name="rag", ask=_loop, answer=lambda _, recorded: recorded.first)

REGENERATED_RAG = BenchmarkMethod(
    name="regenerated-rag",
    ask=_loop,
    answer=lambda _, recorded: recorded.last,
    looks_again=True,
    controls=_CONTROLS,
)

GUARDED_RAG = BenchmarkMethod(
    name="guarded-rag", ask=_loop, answer=_guarded, looks_again=True, controls=_CONTROLS
)
