"""Correcting an answer that somebody else gives: the loop, with every doing asked for.

The answers come from an agent or from a function, synchronous or not. So the loop is a generator
that does nothing itself: it yields what is to be done and is sent what came of it, and a driver for
each face does it. All that is done to an answer between two calls of its giver is done by the nodes
of the graph, so that their rules hold here as well.
"""

import time
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, cast

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from conflictscore.errors import ContextWindowError, ProviderError
from conflictscore.graph.binding import bind
from conflictscore.nodes.classify import classify
from conflictscore.nodes.contextualize import contextualize
from conflictscore.nodes.decide import decide, unexplained
from conflictscore.nodes.decompose import decompose
from conflictscore.nodes.evidence import conflict_details
from conflictscore.nodes.justify import justify
from conflictscore.nodes.label import label
from conflictscore.nodes.record import record
from conflictscore.nodes.retrieve import retrieve
from conflictscore.nodes.score import score
from conflictscore.nodes.state import (
    RagState,
    RunContext,
    RunRuntime,
    attempts_of,
    conflict_type_of,
    documents_of,
    run_of,
    timed,
)
from conflictscore.prompts import PromptSet, material
from conflictscore.records import Answer, ClaimEvidence, ConflictType, Document, Run

__all__ = [
    "AnswerAgain",
    "AnswerFirst",
    "Given",
    "NodeSteps",
    "Steps",
    "correction",
    "drive",
    "drive_async",
]

_Node = Callable[[RagState, RunRuntime], Awaitable[dict[str, Any]]]
_Chain = CompiledStateGraph[RagState, RunContext, RagState, RagState]

_NODES: Mapping[str, _Node] = {
    "contextualize": contextualize,
    "retrieve": retrieve,
    "decompose": decompose,
    "label": label,
    "score": score,
    "decide": decide,
    "classify": classify,
    "justify": justify,
    "record": record,
}
_LOOK = ("decompose", "label", "score", "decide")


@dataclass(frozen=True)
class NodeSteps:
    """Run these nodes of the graph, one after the other; comes to the state that they end in."""

    names: tuple[str, ...]
    state: RagState

    def run(self, context: RunContext) -> RagState:
        """Run them for a synchronous caller."""
        return cast("RagState", self._chain(context).invoke(self.state, context=context))

    async def run_async(self, context: RunContext) -> RagState:
        """Run them in the event loop of the caller."""
        return cast("RagState", await self._chain(context).ainvoke(self.state, context=context))

    def _chain(self, context: RunContext) -> _Chain:
        """The nodes as a graph, which leaves nothing in the checkpoints of a graph around it."""
        graph = StateGraph(RagState, context_schema=RunContext)
        for name in self.names:
            graph.add_node(name, bind(_NODES[name], context))
        for before, after in zip([START, *self.names], [*self.names, END], strict=True):
            graph.add_edge(before, after)
        return graph.compile(checkpointer=False, name="conflict_check")


@dataclass(frozen=True)
class AnswerFirst:
    """Answer the question; comes to the answer, as :class:`Given`."""

    question: str
    documents: tuple[Document, ...]


@dataclass(frozen=True)
class AnswerAgain:
    """Answer again with a claim's two sides in view; comes to the answer, as :class:`Given`."""

    question: str
    documents: tuple[Document, ...]
    before: Answer
    claim: ClaimEvidence
    """The claim to reconsider, with its labels."""
    conflict_type: ConflictType | None = None
    """How the documents relate, where the answer is to do what that asks for."""

    def prompt(self, prompts: PromptSet) -> str:
        """The request to somebody who has the documents already; it tells no type."""
        return prompts.render(
            "reconsider",
            question=material(self.question),
            answer=material(self.before.text),
            claim=material(self.claim.claim.text),
            evidence=conflict_details(self.claim, self.documents, prompts),
        )


class Given(NamedTuple):
    """An answer, as whoever answers gave it."""

    text: str
    notes: tuple[str, ...] = ()
    """What the reader of the run should know of how it was come by."""
    seconds: float = 0.0
    """The time that it took before it was asked for here."""


Step = NodeSteps | AnswerFirst | AnswerAgain
Steps = Generator[Step, Any, Run]
_Turns = list[dict[str, str]]


def correction(
    question: str,
    documents: Iterable[Mapping[str, Any]] = (),
    history: Iterable[Mapping[str, str]] = (),
) -> Steps:
    """The loop over an answer of somebody else.

    Args:
        question: What is asked.
        documents: The documents to answer from (``text``, and as known ``title``, ``url``),
            numbered from 1 in their order; where there are none, the run's retriever is asked.
        history: The conversation that the question goes on from (``role``, ``content``); for the
            retriever, and to tell the type of a conflict, the question is made to stand alone.

    Returns:
        What is to be done, step by step, for :func:`drive` or :func:`drive_async`. An answer that
        cannot be had a second time (:class:`ProviderError`, :class:`ContextWindowError`, or an
        empty text) leaves the earlier one, with a note. Any other error ends the loop.
    """
    # as they are: `retrieve` refuses what is no mapping, with one clear line
    brought = cast("list[dict[str, Any]]", list(documents))
    start: RagState = {"question": question, "documents": brought}
    finding: tuple[str, ...] = ("retrieve",)
    turns = [dict(turn) for turn in history]
    if not start["documents"] and turns:
        start, finding = {**start, "history": turns}, ("contextualize", "retrieve")
    state: RagState = yield NodeSteps(finding, start)
    question, found = state["question"], documents_of(state)
    given: Given = yield AnswerFirst(question, found)
    if not given.text.strip():
        return run_of(state).unchecked(given.text, "the answer is empty, and has no score")
    state = yield NodeSteps(_LOOK, _drafted(state, given, "generate"))
    while state["decision"] == "regenerate":
        if state["regeneration"] == "typed" and "conflict_type" not in state:
            state = yield from _classified(state, turns)
        before, claim = _to_reconsider(state)
        failure: str | None = None
        try:
            given = yield AnswerAgain(question, found, before, claim, conflict_type_of(state))
            if not given.text.strip():
                failure = "the new answer was empty"
        except (ProviderError, ContextWindowError) as error:
            failure = str(error)
        if failure is None:
            state = yield NodeSteps(_LOOK, _drafted(state, given, "regenerate", claim))
        else:
            state = _standing(state, failure)
    ending = ("justify", "record") if state["decision"] == "justify" else ("record",)
    state = yield NodeSteps(ending, state)
    return run_of(state)


def _classified(state: RagState, turns: _Turns) -> Generator[Step, Any, RagState]:
    """The state with the type of the conflict, which is told of a question that stands alone."""
    if turns and "history" not in state:
        spent_so_far: RagState = {"usage": state["usage"], "timings": state["timings"]}
        asked: RagState = {"question": state["question"], "history": turns, **spent_so_far}
        alone: RagState = yield NodeSteps(("contextualize",), asked)
        state = {
            **state,
            "question": alone["question"],
            "notes": [*state["notes"], *alone["notes"]],
            "usage": alone["usage"],
            "timings": alone["timings"],
        }
    classified: RagState = yield NodeSteps(("classify",), state)
    return classified


def drive(
    steps: Steps, context: RunContext, answer: Callable[[AnswerFirst | AnswerAgain], Given]
) -> Run:
    """Do step after step, in the thread of the caller.

    Args:
        steps: What :func:`correction` gave.
        context: What the nodes work with.
        answer: Gives the answers.
    """
    advance: Callable[[], Step] = partial(next, steps)
    while True:
        try:
            step = advance()
        except StopIteration as finished:
            return cast("Run", finished.value)
        try:
            if isinstance(step, NodeSteps):
                came: Any = step.run(context)
            else:
                started = time.perf_counter()
                came = _timed(answer(step), started)
        except Exception as error:  # noqa: BLE001 - the steps know which errors end them
            advance = partial(steps.throw, error)
        else:
            advance = partial(steps.send, came)


async def drive_async(
    steps: Steps,
    context: RunContext,
    answer: Callable[[AnswerFirst | AnswerAgain], Awaitable[Given]],
) -> Run:
    """:func:`drive` for an asynchronous caller."""
    advance: Callable[[], Step] = partial(next, steps)
    while True:
        try:
            step = advance()
        except StopIteration as finished:
            return cast("Run", finished.value)
        try:
            if isinstance(step, NodeSteps):
                came: Any = await step.run_async(context)
            else:
                started = time.perf_counter()
                came = _timed(await answer(step), started)
        except Exception as error:  # noqa: BLE001 - the steps know which errors end them
            advance = partial(steps.throw, error)
        else:
            advance = partial(steps.send, came)


def _timed(given: Given, started: float) -> Given:
    return given._replace(seconds=given.seconds + time.perf_counter() - started)


def _drafted(
    state: RagState, given: Given, node: str, reconsidered: ClaimEvidence | None = None
) -> RagState:
    """The state with an answer in the place of the one of the graph's node of this name."""
    return {
        **state,
        "draft": Answer(text=given.text).to_json(),
        "reconsidered": reconsidered.to_json() if reconsidered else None,
        "notes": [*state["notes"], *given.notes],
        "timings": timed(state, node, given.seconds),
    }


def _to_reconsider(state: RagState) -> tuple[Answer, ClaimEvidence]:
    last = attempts_of(state)[-1]
    if last.report is None or last.report.reconsider is None:
        raise ValueError("an answer is to be given again without a conflicting claim")
    return last.answer, last.report.evidence(last.report.reconsider)


def _standing(state: RagState, failure: str) -> RagState:
    note = f"the earlier answer stands, because it could not be regenerated: {failure}"
    return {
        **state,
        "decision": "justify" if unexplained(attempts_of(state)) else "record",
        "reason": note,
        "notes": [*state["notes"], note],
    }
