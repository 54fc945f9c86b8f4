"""The methods around the loop: its own three, its controls, and other ways to look again."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from conflictscore.benchmarks.harness.conflict_types import CLASSIFYING, typed_fields
from conflictscore.benchmarks.harness.methods.asker import Asker, graph_input
from conflictscore.benchmarks.harness.methods.conflict_aware import tell_type
from conflictscore.benchmarks.harness.methods.method import Asked, BenchmarkMethod
from conflictscore.benchmarks.harness.records import MethodResult
from conflictscore.graph.self_correction import (
    AnsweringGraph,
    SelfCorrectionGraph,
    build_answering_graph,
    build_self_correction_graph,
)
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.answerer import Reconsideration
from conflictscore.records import (
    ClaimEvidence,
    Document,
    EvidenceLabel,
    Ground,
    Label,
    Method,
    Usage,
)

if TYPE_CHECKING:
    from conflictscore.benchmarks.harness.results import Recorded


async def _loop(asker: Asker, asked: Asked) -> dict[str, Any]:
    """The first answer, its score and, where a claim has evidence on both sides, the next."""
    question, documents = asked.question, asked.documents
    with asker.usage() as first_usage:
        first = await asker.answer_first(question, documents)
    at_last: list[Mapping[str, Usage]] = []
    with asker.usage() as spent:

        def answered(number: int) -> None:
            if number == asker.context.settings.max_rounds:
                at_last.append(dict(spent))

        given = {**graph_input(question, documents), "draft_answer": first["answer"]["text"]}
        state = await asker.run(_graph, given, answered)
    begun, *later = state["attempts"]
    if "probabilities" in first["answer"]:  # the loop was given the text alone
        begun = {**begun, "answer": first["answer"]}
    return {
        "attempts": [begun, *later],
        "changes": state["changes"],
        "reason": state["reason"],
        "notes": [*first["notes"], *state["notes"]],
        "regeneration_error": state.get("regeneration_error"),
        "first_usage": {name: usage.to_json() for name, usage in first_usage.items()},
        "check_usage": {
            name: (usage - before.get(name, Usage())).to_json()
            for before in at_last
            for name, usage in spent.items()
        },
    }


def _graph(asker: Asker) -> SelfCorrectionGraph:
    context = replace(asker.context, method=Method.REGENERATED_RAG, check_last=asker.checked)
    return build_self_correction_graph(context)


def _guarded(_: BenchmarkMethod, recorded: "Recorded") -> MethodResult | None:
    """The last answer where the loop's guard accepts it, otherwise the first."""
    if recorded.last is None or recorded.last.answer is None:
        return recorded.last
    return recorded.last if recorded.guard and recorded.guard.accepted else recorded.first


RAG = BenchmarkMethod(name="rag", ask=_loop, answer=lambda _, recorded: recorded.first)

REGENERATED_RAG = BenchmarkMethod(
    name="regenerated-rag",
    ask=_loop,
    answer=lambda _, recorded: recorded.last,
    looks_again=True,
)

GUARDED_RAG = BenchmarkMethod(name="guarded-rag", ask=_loop, answer=_guarded, looks_again=True)


async def _told_to_watch(asker: Asker, asked: Asked) -> dict[str, Any]:
    """One answer, told to watch for conflicts (Tables 12 and 15)."""
    return await asker.answer(_control, asked.question, asked.documents)


async def _second_sample(asker: Asker, asked: Asked) -> dict[str, Any]:
    """The first answer's prompt, asked once more."""
    return await asker.answer_first(asked.question, asked.documents, resampled=True)


def _control(asker: Asker) -> AnsweringGraph:
    return build_answering_graph(replace(asker.context, method=Method.CONTROL_RAG))


CONTROL_RAG = BenchmarkMethod(name="control-rag", ask=_told_to_watch)

RESAMPLE = BenchmarkMethod(
    name="resample",
    ask=_second_sample,
    before_loop=True,
    control=True,
    caveat="resample is the first prompt once more, at its own temperature: a method that does no"
    " better shows nothing of its own.",
)


async def _placebo(asker: Asker, asked: Asked) -> dict[str, Any]:
    first, claim = asked.answered.answer, asked.disputed
    if claim is None:
        return {"answer": first.to_json(), "donor": None, "notes": []}
    donor, donated = await asked.another()
    meter = UsageMeter()
    reconsideration = Reconsideration(
        asked.question.question,
        asked.question.options,
        first,
        _without_snippets(claim),
        asked.documents,
        evidence_from=_renumbered(donated, [d.number for d in asked.documents]),
    )
    context = asker.context
    answer, notes = await reconsideration.ask(context.generator, context.prompts, meter)
    return {"answer": answer.to_json(), "donor": donor.id, "notes": notes}


def _without_snippets(claim: ClaimEvidence) -> ClaimEvidence:
    labels = tuple(
        EvidenceLabel(claim=pair.claim, document=pair.document, label=pair.label)
        for pair in claim.labels
        if pair.label is not Label.UNLABELLED
    )
    return ClaimEvidence(claim=claim.claim, labels=labels)


def _renumbered(documents: Sequence[Document], numbers: Sequence[int]) -> list[Document]:
    """A document for every number, from the first again where there are too few."""
    return [
        documents[index % len(documents)].model_copy(update={"number": number})
        for index, number in enumerate(numbers)
    ]


PLACEBO = BenchmarkMethod(
    name="placebo",
    ask=_placebo,
    looks_again=True,
    control=True,
    caveat="placebo shows another question's evidence: a method that does no better shows nothing"
    " of its own.",
)


async def _typed(asker: Asker, asked: Asked) -> dict[str, Any]:
    question, first, claim = asked.question, asked.answered.answer, asked.disputed
    if claim is None:
        return {"answer": first.to_json(), "conflict_type": None, "notes": []}
    meter = UsageMeter()
    told = await tell_type(asker, asked, meter)
    reconsideration = Reconsideration(
        question.question,
        question.options,
        first,
        claim,
        asked.documents,
        variant="_typed" if told.kind else "",
        fields=typed_fields(told.kind, asker.context.prompts),
    )
    context = asker.context
    answer, notes = await reconsideration.ask(context.generator, context.prompts, meter)
    return {
        "answer": answer.to_json(),
        "notes": [*told.notes, *notes],
        "conflict_type": told.kind.value if told.kind else None,
        "classification_error": told.error,
    }


TYPED_RAG = BenchmarkMethod(
    name="typed-rag",
    ask=_typed,
    templates=(*CLASSIFYING, "{form}_regenerate_typed"),
    looks_again=True,
    tells_type=True,
)


def _revising(asker: Asker) -> SelfCorrectionGraph:
    context = asker.context
    return build_self_correction_graph(
        replace(
            context,
            method=Method.REGENERATED_RAG,
            settings=context.settings.replace(
                max_rounds=max(1, context.settings.max_rounds),
                regeneration="revise",
                disputed=("conflict", "refuted"),
                unsettled="hedge",
                guard=True,
            ),
        )
    )


async def _revise(asker: Asker, asked: Asked) -> dict[str, Any]:
    given = graph_input(asked.question, asked.documents)
    first = asked.answered.answer.text
    state = await asker.run(_revising, {**given, "draft_answer": first})
    return {"answer": state["draft"], "notes": state["notes"], "changes": state["changes"]}


def _its_own(method: BenchmarkMethod, recorded: "Recorded") -> MethodResult | None:
    return recorded.answer_of(method.step)


REVISED_RAG = BenchmarkMethod(
    name="revised-rag",
    ask=_revise,
    answer=_its_own,
    forms=("free-form",),
    templates=(
        *("decompose_places", "decompose_passage", "decompose_short"),
        *("ask_document", "claim_question", "put_in", "put_in_correction", "weigh"),
        *(f"ground_{ground}" for ground in Ground),
        *("evidence_source", "evidence_source_reason"),
    ),
    looks_again=True,
    own_loop=True,
)
