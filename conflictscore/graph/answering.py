"""The answering graph: one answer from documents, with no score; what the loop is compared with."""

from langgraph.graph.state import CompiledStateGraph

from conflictscore.graph.binding import chain
from conflictscore.nodes.generate import generate
from conflictscore.nodes.retrieve import retrieve
from conflictscore.nodes.state import RagInput, RagState, RunContext

__all__ = ["AnsweringGraph", "build_answering_graph"]

AnsweringGraph = CompiledStateGraph[RagState, RunContext, RagInput, RagState]


def build_answering_graph(context: RunContext) -> AnsweringGraph:
    """Build ``retrieve → generate``; the final state has ``draft``, an Answer, and ``documents``.

    Args:
        context: The collaborators; its method decides between ``rag`` and ``control-rag``.
    """
    return chain((retrieve, generate), context, RagInput).compile(name="answering_rag")
