"""The first answer revised in place where documents dispute it: with the loop's guard, and without.

Unlike the paper's second look it begins with claims that nothing supports and two documents
contradict too, or one in ``revised-alone``, and it hedges what the evidence cannot settle.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from conflictscore.benchmarks.harness.methods.asker import Asker, graph_input
from conflictscore.benchmarks.harness.methods.method import Asked, BenchmarkMethod
from conflictscore.benchmarks.harness.records import MethodResult
from conflictscore.graph.self_correction import SelfCorrectionGraph, build_self_correction_graph
from conflictscore.records import Disputed, Method

if TYPE_CHECKING:
    from conflictscore.benchmarks.harness.results import Recorded

__all__ = ["REVISED_ALONE", "REVISED_RAG", "UNGUARDED"]

_DISPUTED: tuple[Disputed, ...] = ("conflict", "refuted")


def _graph(disputed: tuple[Disputed, ...], guard: bool, asker: Asker) -> SelfCorrectionGraph:
    context = asker.context
    return build_self_correction_graph(
        replace(
            context,
            method=Method.REGENERATED_RAG,
            max_rounds=max(1, context.max_rounds),
            regeneration="revise",
            disputed=disputed,
            unsettled="hedge",
            guard=guard,
        )
    )


async def _ask(
    graph: Callable[[Asker], SelfCorrectionGraph], asker: Asker, asked: Asked
) -> dict[str, Any]:
    given = graph_input(asked.question, asked.documents)
    first = asked.answered.answer.text
    state = await asker.run(graph, {**given, "draft_answer": first})
    return {"answer": state["draft"], "notes": state["notes"], "changes": state["changes"]}


def _revised(
    name: str, *, guard: bool = True, disputed: tuple[Disputed, ...] = _DISPUTED
) -> BenchmarkMethod:
    return BenchmarkMethod(
        name=name,
        ask=partial(_ask, partial(_graph, disputed, guard)),
        answer=_its_own,
        forms=("free-form",),
        templates=(
            *("decompose_places", "decompose_passage", "revise", "revise_claim"),
            *("revise_replace", "revise_hedge", "revise_remove", "revise_keep"),
            *("evidence_source", "evidence_source_reason"),
        ),
        looks_again=True,
        own_loop=True,
    )


def _its_own(method: BenchmarkMethod, recorded: "Recorded") -> MethodResult | None:
    return recorded.answer_of(method.step)


REVISED_RAG = _revised("revised-rag")

REVISED_ALONE = _revised("revised-alone", disputed=(*_DISPUTED, "contradicted"))

UNGUARDED = _revised("unguarded", guard=False)
