"""The answering strategies of "DRAGged into Conflicts" (section 5.1), all with inline citations."""

from enum import StrEnum
from typing import Any

from langgraph.graph.state import CompiledStateGraph
from typing_extensions import TypedDict

from conflictscore.errors import InputError
from conflictscore.graph.chains import chain
from conflictscore.nodes.cite import cite, classify_and_cite, take_type
from conflictscore.nodes.classify import classify
from conflictscore.nodes.retrieve import retrieve
from conflictscore.nodes.state import RagState, RunContext

__all__ = ["OracleInput", "Strategy", "StrategyGraph", "StrategyInput", "build_strategy_graph"]


class Strategy(StrEnum):
    """How an answer comes about where documents may disagree."""

    RAG = "rag"
    """Answer from the documents, with no word about conflicts (*vanilla* there)."""
    PIPELINE = "pipeline"
    """Predict the conflict type, then answer with it in the prompt."""
    TAXONOMY_AWARE = "taxonomy-aware"
    """Predict the type and answer in one call, with all types in the prompt."""
    ORACLE = "oracle"
    """Answer with the true type in the prompt: an upper bound for the others."""


class StrategyInput(TypedDict, total=False):
    """What a strategy starts from; the answer is in free form."""

    question: str
    documents: list[dict[str, Any]]
    """As in ``RagInput``; with them nothing is retrieved."""


class OracleInput(StrategyInput, total=False):
    """What ``oracle`` starts from."""

    conflict_type: str
    """The true type, a ConflictType."""


StrategyGraph = CompiledStateGraph[RagState, RunContext, Any, RagState]

_NODES = {
    Strategy.RAG: (retrieve, cite),
    Strategy.PIPELINE: (retrieve, classify, cite),
    Strategy.TAXONOMY_AWARE: (retrieve, classify_and_cite),
    Strategy.ORACLE: (take_type, retrieve, cite),
}


def build_strategy_graph(context: RunContext, strategy: Strategy | str) -> StrategyGraph:
    """Build ``retrieve → [classify →] answer``.

    Invoke it with ``{"question": …}``, with ``"documents"`` in place of retrieval, and for
    ``oracle`` with ``"conflict_type"``, which the other strategies never see. The final state has
    ``draft``, an Answer whose text cites documents as ``[2]``; ``cited``, the numbers of those that
    exist; ``conflict_type``, absent for ``rag``, with ``conflict_type_reason``; ``documents``,
    ``notes`` and ``usage``. Where ``pipeline`` can have no type, ``conflict_type`` is None,
    ``classification_error`` and a note say why, and the answer is that of ``rag``.

    Args:
        context: The collaborators, see :func:`conflictscore.graph.create.run_context`; only
            generator, prompts and retriever are used.
        strategy: A Strategy or its name.

    Raises:
        InputError: There is no such strategy.
    """
    try:
        nodes = _NODES[Strategy(strategy)]
    except ValueError:
        raise InputError(f"unknown strategy {strategy!r}; one of {', '.join(Strategy)}") from None
    graph = chain(nodes, context, OracleInput if take_type in nodes else StrategyInput)
    return graph.compile(name=f"{Strategy(strategy).value}_strategy".replace("-", "_"))
