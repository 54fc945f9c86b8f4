"""The methods based on the loop, the paper's control method, and the ``revised-rag`` method."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from conflictscore.benchmarks.harness.guarding import guard_of
from conflictscore.benchmarks.harness.methods.asker import Asker, graph_input
from conflictscore.benchmarks.harness.methods.method import Asked, BenchmarkMethod
from conflictscore.graph.self_correction import SelfCorrectionGraph, build_self_correction_graph
from conflictscore.loop.state import RunContext
from conflictscore.records import Attempt, Method, Usage


async def _loop(asker: Asker, request: Asked) -> dict[str, Any]:
    """Run the loop: answer, score the answer and, if a claim is disputed, answer again."""
    question, documents = request.question, request.documents
    with asker.usage() as first_usage:
        first = await asker.answer_from(question, documents)
    # The usage up to the last permitted answer; empty if the loop ended before that answer. What
    # is used after that answer is the cost of checking it.
    at_last: list[Mapping[str, Usage]] = []
    with asker.usage() as usage_by_model:

        def answered(number: int) -> None:
            if number == asker.context.settings.max_rounds:
                at_last.append(dict(usage_by_model))

        start = {**graph_input(question, documents), "draft_answer": first["answer"]["text"]}
        state = await asker.run(_graph, start, answered)
    first_attempt, *later = state["attempts"]
    if "probabilities" in first["answer"]:  # the loop received only the answer's text
        first_attempt = {**first_attempt, "answer": first["answer"]}
    guard = guard_of(
        Attempt.model_validate(first_attempt),
        Attempt.model_validate((later or [first_attempt])[-1]),
    )
    return {
        "attempts": [first_attempt, *later],
        "guard": None if guard is None else guard.to_json(),
        "changes": state["changes"],
        "reason": state["reason"],
        "notes": [*first["notes"], *state["notes"]],
        "regeneration_error": state.get("regeneration_error"),
        "first_usage": {name: usage.to_json() for name, usage in first_usage.items()},
        "check_usage": {
            name: (usage - before.get(name, Usage())).to_json()
            for before in at_last
            for name, usage in usage_by_model.items()
        },
    }


def _graph(context: RunContext) -> SelfCorrectionGraph:
    return build_self_correction_graph(replace(context, method=Method.REGENERATED_RAG))


RAG = BenchmarkMethod(name="rag", ask=_loop)

REGENERATED_RAG = BenchmarkMethod(name="regenerated-rag", ask=_loop, looks_again=True)

GUARDED_RAG = BenchmarkMethod(name="guarded-rag", ask=_loop, looks_again=True)


async def _told_to_watch(asker: Asker, request: Asked) -> dict[str, Any]:
    """Give a single answer, using a prompt that warns of conflicts (the paper's Tables 12, 15)."""
    return await asker.answer_from(request.question, request.documents, Method.CONTROL_RAG)


CONTROL_RAG = BenchmarkMethod(name="control-rag", ask=_told_to_watch)


def _revising(context: RunContext) -> SelfCorrectionGraph:
    """Build the loop that corrects passages in place, hedges open questions and has a guard."""
    settings = context.settings.replace(
        # the run's settings have 0 rounds if no other method looks again (``Setup.open``)
        max_rounds=max(1, context.settings.max_rounds),
        regeneration="revise",
        disputed=("conflict", "refuted"),
        unsettled="hedge",
        guard=True,
    )
    own = replace(context, method=Method.REGENERATED_RAG, settings=settings, check_last=True)
    return build_self_correction_graph(own)


async def _revise(asker: Asker, request: Asked) -> dict[str, Any]:
    """Correct the disputed passages of the loop's first answer."""
    if request.first is None:
        raise ValueError("revised-rag needs the loop's first answer, but the loop has not run")
    start = graph_input(request.question, request.documents)
    state = await asker.run(_revising, {**start, "draft_answer": request.first.answer.text})
    return {"answer": state["draft"], "notes": state["notes"], "changes": state["changes"]}


REVISED_RAG = BenchmarkMethod(
    name="revised-rag", ask=_revise, forms=("free-form",), looks_again=True
)
