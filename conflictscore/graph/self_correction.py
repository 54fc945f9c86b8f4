"""The self-correction graph: retrieve, generate, score, and look again where sources disagree."""

from typing import Literal

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from conflictscore.graph.binding import bind, route
from conflictscore.nodes.contextualize import contextualize
from conflictscore.nodes.decide import decide
from conflictscore.nodes.decompose import decompose
from conflictscore.nodes.generate import generate
from conflictscore.nodes.guard import guard
from conflictscore.nodes.justify import justify
from conflictscore.nodes.label import label
from conflictscore.nodes.look_further import look_further
from conflictscore.nodes.record import record
from conflictscore.nodes.regenerate import regenerate
from conflictscore.nodes.retrieve import retrieve
from conflictscore.nodes.revise import revise
from conflictscore.nodes.score import score
from conflictscore.nodes.state import (
    RagInput,
    RagState,
    RunContext,
    attempts_of,
    draft_of,
    searches_of,
)

__all__ = ["SelfCorrectionGraph", "build_self_correction_graph"]

SelfCorrectionGraph = CompiledStateGraph[RagState, RunContext, RagInput, RagState]

_STEPS = 10 + 11 * 20
"""Room for 20 rounds; `decide` ends the loop, this only catches a fault in it."""


def build_self_correction_graph(
    context: RunContext, *, checkpointer: BaseCheckpointSaver[str] | Literal[False] | None = None
) -> SelfCorrectionGraph:
    """Build the loop.

    ```
    retrieve → generate → decompose → label → score → [guard →] decide ─┬→ record
                              ▲         ▲                               ├→ justify → record
                              │         └──────── look_further ◄────────┤
                              └────────── regenerate or revise ◄────────┘
    ```

    A follow-up question passes through ``contextualize`` first, unless the caller answers and
    brings documents. An answer without text goes straight to ``record``. A regeneration that
    fails continues with ``justify`` or ``record``. ``revise`` takes the place of ``regenerate``
    where answers in free form are revised in place. With a guard, what it or ``regenerate``
    changed passes through ``guard`` once it is scored. Where the run looks further,
    ``look_further`` asks the retriever for what is in doubt before the answer is given again,
    and what it finds is labelled and scored; if it finds nothing, ``decide`` goes on.

    Args:
        context: The collaborators of a run that brings none of its own.
        checkpointer: Any LangGraph checkpointer; the state is plain JSON. False keeps the graph out
            of the checkpoints of a graph around it.
    """
    graph = StateGraph[RagState, RunContext, RagInput, RagState](RagState, input_schema=RagInput)
    answering = (contextualize, retrieve, generate, decompose, label, score)
    revising = (guard, decide, look_further, regenerate, revise)
    for node in (*answering, *revising, justify, record):
        graph.add_node(node.__name__, bind(node, context))
    for before, path, after in (
        (START, _begin, ["contextualize", "retrieve"]),
        ("generate", _with_an_answer, ["decompose", "record"]),
        ("score", _scored, ["guard", "decide"]),
        (
            "decide",
            _decided,
            ["look_further", "regenerate", "revise", "justify", "record"],
        ),
        ("look_further", _looked_further, ["label", "decide"]),
        ("regenerate", _with_another_answer, ["decompose", "justify", "record"]),
        ("revise", _with_another_answer, ["decompose", "justify", "record"]),
    ):
        graph.add_conditional_edges(before, route(path, context), after)
    graph.add_edge("contextualize", "retrieve")
    graph.add_edge("retrieve", "generate")
    graph.add_edge("decompose", "label")
    graph.add_edge("label", "score")
    graph.add_edge("guard", "decide")
    graph.add_edge("justify", "record")
    graph.add_edge("record", END)
    compiled = graph.compile(checkpointer=checkpointer, name="self_correcting_rag")
    return compiled.with_config(recursion_limit=_STEPS)


def _begin(state: RagState, context: RunContext) -> str:
    if not state.get("history"):
        return "retrieve"
    # a caller who answers knows the conversation; only a search needs the question rewritten
    return "retrieve" if context.answerer and state.get("documents") else "contextualize"


def _with_an_answer(state: RagState, _: RunContext) -> str:
    return "decompose" if draft_of(state).text.strip() else "record"


def _scored(state: RagState, context: RunContext) -> str:
    looked_further = state.get("decision") == "look_further"  # nothing in the answer is new
    return "guard" if context.guard and state["revisions"] and not looked_further else "decide"


def _decided(state: RagState, context: RunContext) -> str:
    if state["decision"] == "regenerate" and context.regeneration == "revise":
        return "regenerate" if state["options"] else "revise"
    return state["decision"]


def _looked_further(state: RagState, _: RunContext) -> str:
    last = attempts_of(state)[-1].round
    found = any(search.found for search in searches_of(state) if search.round == last)
    return "label" if found else "decide"


def _with_another_answer(state: RagState, _: RunContext) -> str:
    """A new answer is scored; without one, the run of the earlier answer is concluded."""
    return "decompose" if state["decision"] == "regenerate" else state["decision"]
