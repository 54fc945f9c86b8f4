"""Builds three graphs: the self-correcting loop, an answering graph and a scoring graph."""

from collections.abc import Sequence
from functools import cache
from typing import Any, Literal

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from conflictscore.graph.binding import Binding, Node
from conflictscore.loop.inputs import whole_input
from conflictscore.loop.state import (
    RagInput,
    RagState,
    RunContext,
    ScorerInput,
    attempts_of,
    changes_in,
    draft_of,
    searches_of,
)
from conflictscore.loop.turns import history_of
from conflictscore.nodes.begin import begin
from conflictscore.nodes.contextualize import contextualize
from conflictscore.nodes.correct import correct
from conflictscore.nodes.decide import decide
from conflictscore.nodes.decompose import decompose
from conflictscore.nodes.generate import generate
from conflictscore.nodes.guard import guard
from conflictscore.nodes.justify import justify
from conflictscore.nodes.label import label
from conflictscore.nodes.look_further import look_further
from conflictscore.nodes.receive import receive
from conflictscore.nodes.record import record
from conflictscore.nodes.retrieve import retrieve
from conflictscore.nodes.score import score

SelfCorrectionGraph = CompiledStateGraph[RagState, None, RagInput, RagState]
AnsweringGraph = CompiledStateGraph[RagState, None, RagInput, RagState]
ScoringGraph = CompiledStateGraph[RagState, None, ScorerInput, RagState]

_STEPS = 10 + 11 * 20
"""LangGraph's step limit: 20 rounds, the largest ``max_rounds``, of 11 steps, including further
searches, plus the steps before and after the loop. ``decide`` ends the loop; this limit only guards
against bugs in that node."""


def build_self_correction_graph(
    context: RunContext | None,
    *,
    checkpointer: BaseCheckpointSaver[str] | Literal[False] | None = None,
) -> SelfCorrectionGraph:
    """Build the loop.

    ```
    begin → retrieve → generate → decompose → label → score → [guard →] decide ─┬→ record
                                      ▲         ▲                               ├→ justify → record
                                      │         └──────── look_further ◄────────┤
                                      └──────────────── correct ◄───────────────┘
    ```

    A follow-up question goes through ``contextualize`` first. If an answer has no text, the run
    goes to ``record``. If a correction fails, the run goes to ``justify`` or ``record``. If there
    is no ``context``, each run needs its own from
    :func:`~conflictscore.graph.binding.running_with`. ``checkpointer`` is a LangGraph checkpointer.
    If ``checkpointer`` is False, the graph stores nothing in the checkpoints of a surrounding
    graph.
    """
    graph = StateGraph[RagState, None, RagInput, RagState](RagState, input_schema=RagInput)
    bound = Binding(graph, context)
    answering = (begin, contextualize, retrieve, generate, decompose, label, score)
    revising = (guard, decide, look_further, correct)
    for node in (*answering, *revising, justify, record):
        graph.add_node(node.__name__, bound.node(node))
    for before, path, after in (
        ("begin", _route_after_begin, ["contextualize", "retrieve"]),
        ("generate", _route_after_generate, ["decompose", "record"]),
        ("score", _route_after_score, ["guard", "decide"]),
        ("decide", _next_step, ["look_further", "correct", "justify", "record"]),
        ("look_further", _route_after_look_further, ["label", "decide"]),
        ("correct", _next_step, ["decompose", "justify", "record"]),
    ):
        graph.add_conditional_edges(before, bound.route(path), after)
    graph.add_edge(START, "begin")
    graph.add_edge("contextualize", "retrieve")
    graph.add_edge("retrieve", "generate")
    graph.add_edge("decompose", "label")
    graph.add_edge("label", "score")
    graph.add_edge("guard", "decide")
    graph.add_edge("justify", "record")
    graph.add_edge("record", END)
    loop = graph.compile(checkpointer=checkpointer, name="self_correcting_rag")
    bound.fill_input(loop, whole_input)
    return loop.with_config(recursion_limit=_STEPS)


@cache
def shared_graph() -> SelfCorrectionGraph:
    """Return the loop, which is built once, for callers that give each run its own context.

    The graph stores nothing in the checkpoints of a surrounding graph.
    """
    return build_self_correction_graph(None, checkpointer=False)


def _route_after_begin(state: RagState, _: RunContext) -> str:
    # later steps see only the question, so it must make sense without its conversation
    return "contextualize" if history_of(state.get("history")) else "retrieve"


def _route_after_generate(state: RagState, _: RunContext) -> str:
    return "decompose" if draft_of(state).text.strip() else "record"


def _route_after_score(state: RagState, context: RunContext) -> str:
    looked_further = state.get("decision") == "look_further"  # the answer itself is unchanged
    changes = changes_in(state, attempts_of(state)[-1].round)
    return "guard" if context.settings.guard and changes and not looked_further else "decide"


def _next_step(state: RagState, _: RunContext) -> str:
    return state["decision"]


def _route_after_look_further(state: RagState, _: RunContext) -> str:
    last = attempts_of(state)[-1].round
    has_new_documents = any(search.found for search in searches_of(state) if search.round == last)
    return "label" if has_new_documents else "decide"


def build_answering_graph(context: RunContext) -> AnsweringGraph:
    """Build ``retrieve → generate``; its last state has ``draft`` (an Answer) and ``documents``."""
    graph, _ = chain((retrieve, generate), context, RagInput)
    return graph.compile(name="answering_rag")


def build_scoring_graph(
    context: RunContext, *, checkpointer: BaseCheckpointSaver[str] | None = None
) -> ScoringGraph:
    """Build ``receive → decompose → label → score → record``; it does not search or answer."""
    graph, bound = chain((receive, decompose, label, score, record), context, ScorerInput)
    scorer = graph.compile(checkpointer=checkpointer, name="conflict_scorer")
    # on a thread, an input without an answer must not score the earlier answer again
    bound.fill_input(scorer, lambda run_input, _: {"answer": "", **run_input})
    return scorer


def chain(
    nodes: Sequence[Node], context: RunContext, start: type
) -> tuple[StateGraph[RagState, None, Any, RagState], Binding]:
    """Make a graph that runs nodes in sequence with one context; return it with its binding."""
    graph = StateGraph[RagState, None, Any, RagState](RagState, input_schema=start)
    bound = Binding(graph, context)
    graph.add_sequence([(node.__name__, bound.node(node)) for node in nodes])
    graph.add_edge(START, nodes[0].__name__)
    graph.add_edge(nodes[-1].__name__, END)
    return graph, bound
