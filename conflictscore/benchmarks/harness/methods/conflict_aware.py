"""The strategies of "DRAGged into Conflicts" (section 5.1), all with inline citations."""

from functools import partial
from typing import Any

from conflictscore.benchmarks.harness.methods.asker import Asker, plain
from conflictscore.benchmarks.harness.methods.method import Asked, BenchmarkMethod
from conflictscore.errors import InputError
from conflictscore.graph.strategies import Strategy, StrategyGraph, build_strategy_graph
from conflictscore.nodes.behaviour import BEHAVIOURS, CLASSIFYING

__all__ = ["ORACLE", "PIPELINE", "TAXONOMY_AWARE"]


def _graph(asker: Asker, strategy: Strategy) -> StrategyGraph:
    return build_strategy_graph(asker.context, strategy)


_GRAPHS = {strategy: partial(_graph, strategy=strategy) for strategy in Strategy}


async def _by(strategy: Strategy, asker: Asker, asked: Asked) -> dict[str, Any]:
    given = {"question": asked.question.question, "documents": plain(asked.documents)}
    if strategy is Strategy.ORACLE:
        if asked.question.conflict_type is None:
            raise InputError("oracle needs the conflict type that people told, and there is none")
        given["conflict_type"] = asked.question.conflict_type.value
    state = await asker.run(_GRAPHS[strategy], given)
    return {
        "answer": state["draft"],
        "notes": state["notes"],
        "conflict_type": state["conflict_type"],
        "classification_error": state.get("classification_error"),
        "cited": state["cited"],
    }


PIPELINE = BenchmarkMethod(
    name="pipeline",
    ask=partial(_by, Strategy.PIPELINE),
    forms=("free-form",),
    templates=(*CLASSIFYING, "cited_typed", "cited_rag"),
    tells_type=True,
)

TAXONOMY_AWARE = BenchmarkMethod(
    name="taxonomy-aware",
    ask=partial(_by, Strategy.TAXONOMY_AWARE),
    forms=("free-form",),
    templates=("conflict_types", *BEHAVIOURS, "cited_taxonomy_aware"),
    tells_type=True,
)

ORACLE = BenchmarkMethod(
    name="oracle",
    ask=partial(_by, Strategy.ORACLE),
    forms=("free-form",),
    templates=(*BEHAVIOURS, "cited_typed"),
    caveat="oracle is told the type of the conflict that people gave: an upper bound, and nothing"
    " that can be used where nobody knows it.",
)
