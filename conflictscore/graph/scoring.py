"""The scoring graph: ConflictScore for an answer and documents that exist already."""

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph

from conflictscore.graph.binding import chain
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
    graph = chain((receive, decompose, label, score, record), context, ScorerInput)
    return graph.compile(checkpointer=checkpointer, name="conflict_scorer")
