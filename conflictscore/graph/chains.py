"""Graphs without a loop: an answer without scores, and the scores of an answer."""

from collections.abc import Sequence
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from conflictscore.graph.binding import Binding, Node
from conflictscore.nodes.decompose import decompose
from conflictscore.nodes.generate import generate
from conflictscore.nodes.label import label
from conflictscore.nodes.receive import receive
from conflictscore.nodes.record import record
from conflictscore.nodes.retrieve import retrieve
from conflictscore.nodes.score import score
from conflictscore.nodes.state import RagInput, RagState, RunContext, ScorerInput

__all__ = [
    "AnsweringGraph",
    "ScoringGraph",
    "build_answering_graph",
    "build_scoring_graph",
    "chain",
]

AnsweringGraph = CompiledStateGraph[RagState, None, RagInput, RagState]
ScoringGraph = CompiledStateGraph[RagState, None, ScorerInput, RagState]


def build_answering_graph(context: RunContext) -> AnsweringGraph:
    """Build ``retrieve → generate``, which ends with ``draft``, an Answer, and ``documents``."""
    return chain((retrieve, generate), context, RagInput).compile(name="answering_rag")


def build_scoring_graph(
    context: RunContext, *, checkpointer: BaseCheckpointSaver[str] | None = None
) -> ScoringGraph:
    """Build ``receive → decompose → label → score → record``, which makes and finds nothing."""
    graph = chain((receive, decompose, label, score, record), context, ScorerInput)
    return graph.compile(checkpointer=checkpointer, name="conflict_scorer")


def chain(
    nodes: Sequence[Node], context: RunContext, start: type
) -> StateGraph[RagState, None, Any, RagState]:
    """A graph whose nodes run one after the other, and which closes over the collaborators."""
    graph = StateGraph[RagState, None, Any, RagState](RagState, input_schema=start)
    bound = Binding(graph, context)
    before = START
    for node in nodes:
        graph.add_node(node.__name__, bound.node(node))
        graph.add_edge(before, node.__name__)
        before = node.__name__
    graph.add_edge(before, END)
    return graph
