"""The scoring graph: ConflictScore for an answer and documents that exist already."""

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from conflictscore.graph.binding import bind
from conflictscore.nodes.decompose import decompose
from conflictscore.nodes.label import label
from conflictscore.nodes.receive import receive
from conflictscore.nodes.record import record
from conflictscore.nodes.score import score
from conflictscore.nodes.state import RagState, RunContext, ScorerInput

__all__ = ["ScoringGraph", "build_scoring_graph"]

ScoringGraph = CompiledStateGraph[RagState, RunContext, ScorerInput, RagState]


def build_scoring_graph(
    context: RunContext, *, checkpointer: BaseCheckpointSaver[str] | None = None
) -> ScoringGraph:
    """Build ``receive → decompose → label → score → record``.

    Args:
        context: The collaborators; neither generator nor retriever is called.
        checkpointer: Any LangGraph checkpointer; the state is plain JSON.
    """
    graph = StateGraph(RagState, context_schema=RunContext, input_schema=ScorerInput)
    names = []
    for node in (receive, decompose, label, score, record):
        graph.add_node(node.__name__, bind(node, context))
        names.append(node.__name__)
    for before, after in zip([START, *names], [*names, END], strict=True):
        graph.add_edge(before, after)
    return graph.compile(checkpointer=checkpointer, name="conflict_scorer")
